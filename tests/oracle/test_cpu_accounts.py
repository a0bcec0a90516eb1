# SPDX-License-Identifier: MIT
"""CPU time is that of the programs' own account, and adds up to what the kernel counted: see accounts.py."""

import functools

import pytest

import accounts

pytestmark = pytest.mark.usefixtures("by_default")


@pytest.fixture(scope="session")
def measured(tmp_path_factory):
    """measured(case, python): its recording beside its account, which all tests of both share."""
    path = tmp_path_factory.mktemp("accounts") / "a.pyreel"
    roots = {python.root for python in accounts.oracle.environment.pythons() if python.root}
    with accounts.programs_folder(roots) as folder:
        yield functools.lru_cache(maxsize=None)(lambda case, python: accounts.measure(case, python, folder, path))


def assert_right(rows):
    wrong = [str(row) for row in rows if not row.right]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("case", accounts.CASES, ids=str)
def test_functions_have_their_share(python, case, measured):
    assert_right(accounts.shares(case, [measured(case, python)]))


@pytest.mark.parametrize("case", accounts.CASES, ids=str)
def test_totals_are_what_the_kernel_counted(python, case, measured):
    assert_right(accounts.totals(measured(case, python)))
