# SPDX-License-Identifier: MIT
"""What recordings tell of threads is true: each mode keeps as much as the program itself says, and what belongs to it."""

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
