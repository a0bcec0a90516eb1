# SPDX-License-Identifier: MIT
"""Processes that were forked: what is known of their parent is known of them, and no more than that is shown."""

import pytest

from recording import whole

CHILDREN = 4


@pytest.mark.pythons("oldest and newest")
def test_a_forked_process_has_its_own_threads(python3, program, start_recorder, tmp_path):
    """Right after the fork, a process has the states of its parent's threads. They are no threads of the process."""
    path = tmp_path / "kin.pyreel"
    recorder = start_recorder("-f", "-o", path, "--", python3, program("kin"), CHILDREN)
    recorder.wait_for_samples(path)
    recorder.tell(b"\n")
    recorder.wait_for_output()
    children = {int(recorder.read_line()) for _ in range(CHILDREN)}
    recorder.wait_for(path, lambda found: children <= {thread["tid"] for thread in found["threads"] if thread["samples"] > 0},
                      "all children")
    ended = recorder.wait()
    assert ended.code == 0, ended
    found = whole(path)
    assert len(children) == CHILDREN
    for child in children:
        threads = [thread for thread in found["threads"] if thread["pid"] == child]
        main = [thread for thread in threads if thread["main"]]
        assert len(main) == 1 and main[0]["tid"] == child and main[0]["samples"] > 0, threads
        assert {thread["name"] for thread in threads if not thread["main"]} <= {"sleeper"}, threads
