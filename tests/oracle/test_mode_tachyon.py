# SPDX-License-Identifier: MIT
"""What recordings tell of threads agrees with what Tachyon tells of the same program, which both watch in turn."""

import pytest

import environment
import modes
import oracle
import tachyon

SECONDS = 1.5
CASES = ["does_all", "shares_lock", "collects"]


@pytest.fixture
def run(request, tmp_path):
    python = environment.python_of("3.15")
    with oracle.programs_folder({python.root} - {""}, modes.PROGRAMS) as folder, \
         modes.running(python, request.param, folder, tmp_path, tachyon.command(python)) as run:
        yield run


def told(recorded, python):
    """As tachyon.watch() gives it."""
    return {(share.thread, share.mode.removeprefix("told ")): share for share in recorded.told(python)}


@pytest.mark.parametrize("run", CASES, indirect=True)
def test_statuses_agree(run):
    recorded = run.record("wall", SECONDS)
    ours, (theirs, main) = told(recorded, run.python), tachyon.watch(run, "wall", SECONDS)
    assert ours.keys() == theirs.keys()
    assert not (wrong := [(share, theirs[key]) for key, share in ours.items() if tachyon.apart(share, theirs[key]) > 0]), wrong
    assert main == {row["tid"] for row in recorded.threads if row["main"]} == {run.target.pid}


@pytest.mark.parametrize("mode", modes.MODES[1:])
@pytest.mark.parametrize("run", ["does_all"], indirect=True)
def test_modes_keep_as_much(run, mode):
    ours = {(share.thread, mode): share for share in run.record(mode, SECONDS).kept()}
    theirs, _ = tachyon.watch(run, mode, SECONDS)
    assert ours.keys() <= theirs.keys()
    assert not (wrong := [(share, theirs[key]) for key, share in ours.items() if tachyon.apart(share, theirs[key]) > 0]), wrong
