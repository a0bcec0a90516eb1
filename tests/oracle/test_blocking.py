# SPDX-License-Identifier: MIT
"""--blocking: how much of what happens is seen, which is a matter of chance, and of free processors."""

import pytest

from environment import as_root
from recording import attach, collapsed, run_record, whole


def looks_in(function, lines):
    return sum(int(line.rpartition(" ")[2]) for line in lines.splitlines() if f";{function} (" in line)


@pytest.mark.pythons("oldest and newest")
def test_a_thread_that_is_stopped_in_its_sleep_has_slept(python, start, program, tmp_path):
    path = tmp_path / "a.pyreel"
    prefix = as_root() if python.root else ()
    attach(start(*prefix, *python.command, program("naps")), path, "--blocking", "-r", 50, seconds=2, prefix=prefix)
    looks, on_processor = ({name: looks_in(name, collapsed(path, *mode)) for name in ("nap", "burn")}
                           for mode in ((), ("--mode", "cpu")))
    assert looks["nap"] > 20 and looks["burn"] > 5, looks
    assert on_processor["nap"] < 0.5 * looks["nap"], (on_processor, looks)
    assert on_processor["burn"] > 0.5 * looks["burn"], (on_processor, looks)


def test_threads_that_come_and_go(python3, program, tmp_path):
    path = tmp_path / "a.pyreel"
    ended = run_record("--blocking", "-r", "2k", "-o", path, "--", python3, program("churn"), "1.5")
    assert ended.code == 0, ended
    figures = whole(path)
    assert figures["failed"] <= 0.005 * figures["samples"] + 1, figures["failures"]
    assert len(figures["threads"]) > 0.2 * int(ended.text)


@pytest.mark.parametrize("rate", ["1k", "20k"])
def test_a_program_with_threads_that_becomes_another(python3, program, tmp_path, rate):
    path = tmp_path / "a.pyreel"
    ended = run_record("--blocking", "-r", rate, "-o", path, "--", python3, program("restarts"), "20")
    assert ended.code == 5, ended
    assert len(whole(path)["processes"]) > 5
