# SPDX-License-Identifier: MIT
"""Tasks in looks that are not proved to be one moment, and the time that tasks have."""

import pytest

import environment
from recording import attach, whole
from task_truth import judge, weighed

NAMED = 10_000 * environment.SOAK  # stacks with tasks in them, of each kind


@pytest.mark.parametrize("which", ["running", "all"])
def test_no_task_is_shown_over_the_frames_of_another(python, program, start, tmp_path, which):
    marked, path = 0, tmp_path / "named.pyreel"
    for _ in range(8 * environment.SOAK):
        target = start(*python.command, program("async_named"))
        attach(target, path, "--force", "--async", which, "-r", "100k", seconds=1, prefix=python.prefix)
        target.close()
        told, (more, wrong) = whole(path), judge(path)
        assert not wrong, wrong
        assert told["failed"] < 0.25 * told["samples"], told  # by a slow build; tests/oracle/run-async has the limit
        marked += more
        if marked >= NAMED:
            break
    assert marked >= 1000  # a slow machine or build


def test_tasks_have_the_time_that_they_used(python, program, record_until, tmp_path):
    """A recorder that is late gives all CPU time until then to the task that runs."""
    path = tmp_path / "lives.pyreel"
    done = record_until(path, lambda found: found["samples"] >= 10_000, "--async", "all", "--", *python.command,
                        program("async_lives"), prefix=python.prefix)
    said, cpu = done.said, weighed(path, "--weight", "cpu")
    assert 0.6e6 * said["busy"] < cpu["busy"] < 1.4e6 * said["busy"], (cpu, said)
    assert 0.3e6 * said["often"] < cpu["often"] < 1.7e6 * said["often"], (cpu, said)  # may sleep before it is asked
    assert cpu["sleeper"] + cpu["waiter"] < 0.1e6, cpu  # as they begin
    assert cpu[None] >= 0.5e6 * said["thread"], (cpu, said)  # of the executor, and of the loop itself
    assert sum(cpu.values()) >= 0.7e6 * said["process"], (cpu, said)

    # Tasks that wait are not on a processor.
    everything, running = weighed(path), weighed(path, "--no-idle")
    assert everything["sleeper"] >= 0.9 * everything["busy"] > 0
    assert running["sleeper"] + running["waiter"] <= 0.1 * everything["sleeper"]  # as they begin
    assert running["often"] < 0.9 * everything["often"]
    assert running["busy"] > 0.1 * running.total()
