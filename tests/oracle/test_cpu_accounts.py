# SPDX-License-Identifier: MIT
"""CPU time is that of the programs' own account: see accounts.py."""

import pytest

import accounts

pytestmark = pytest.mark.usefixtures("by_default")


@pytest.fixture(scope="session")
def measured(tmp_path_factory):
    """measured(case, python): its recording beside its account."""
    path = tmp_path_factory.mktemp("accounts") / "a.pyreel"
    roots = {python.root for python in accounts.oracle.environment.pythons() if python.root}
    with accounts.programs_folder(roots) as folder:
        yield lambda case, python: accounts.measure(case, python, folder, path)


def assert_right(rows):
    wrong = [str(row) for row in rows if not row.right]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("case", accounts.CASES, ids=str)
def test_functions_have_their_share(python, case, measured):
    assert_right(accounts.shares(case, [measured(case, python)]))
