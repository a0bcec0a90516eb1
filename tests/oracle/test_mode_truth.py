# SPDX-License-Identifier: MIT
"""What recordings tell of threads is true: each mode keeps as much as the program itself says, and what belongs to it."""

import contextlib

import pytest

import modes
import oracle

SECONDS = 1.0
PYTHONS = oracle.pythons()


@pytest.fixture(scope="module")
def folder():
    with oracle.programs_folder({python.root for python in PYTHONS if python.root}, modes.PROGRAMS) as folder:
        yield folder


@pytest.mark.parametrize("python", PYTHONS, ids=lambda python: python.name)
@pytest.mark.parametrize("name", modes.NAMES)
def test_modes_keep_what_truly_was(python, name, folder, tmp_path):
    with modes.running(python, name, folder, tmp_path) as run:
        shares = [share for mode in modes.MODES for share in run.record(mode, SECONDS).shares(python)]
    assert len(shares) >= 4
    assert not (wrong := [share for share in shares if share.broken]), wrong


def test_a_thread_that_waits_for_a_processor_counts_as_on_one(folder, tmp_path):
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(modes.hog())
        run = stack.enter_context(modes.running(PYTHONS[0], "shares_lock", folder, tmp_path))
        shares = list(run.record("cpu", 3 * SECONDS).shares(run.python))
    assert not (wrong := [share for share in shares if share.broken]), wrong
