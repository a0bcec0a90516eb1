# SPDX-License-Identifier: MIT
"""Threads have the names that the module threading has for them: whole, and under each Python."""

import re
import signal

import pytest

import pprof_check
from environment import as_root
from recording import attach, collapsed, convert, info, run_record, succeed, wait_until, whole

BEFORE = re.compile(r"Thread-\d+ \(wait\)")
AFTER = "renamed while it is recorded"
NAMES = {"worker number 7 of a class of its own", "slotted, and with a long name", "später 中 🐍 ist der Name",
         "named by kernel", "one that has a dict of its own", "downloads from the mirror_0", "downloads from the mirror_1"}


def names_of(path):
    return [thread["name"] for thread in whole(path)["threads"]]


def known_yet(path):
    """The names in a recording that grows."""
    return [thread["name"] for thread in info(path)["threads"]] if path.exists() and path.stat().st_size else []


@pytest.mark.short
@pytest.mark.pythons("each build")
@pytest.mark.sanitized("names of threads")
def test_threads_have_the_names_that_python_gives_them(python, program, start, start_recorder, tmp_path):
    path = tmp_path / "names.pyreel"
    prefix = as_root() if python.root else ()
    target = start(*prefix, *python.command, program("thread_names"))
    recorder = start_recorder("-p", target.pid, "-o", path, prefix=prefix)
    wait_until(lambda: any(map(BEFORE.fullmatch, known_yet(path))), "the name before is known")
    succeed(*prefix, "kill", "-USR1", target.pid)
    wait_until(lambda: AFTER in known_yet(path), "the name after is known")
    recorder.signal(signal.SIGINT)
    assert recorder.wait().code == 0
    names = names_of(path)
    assert len(names) == len(set(names)) == 10
    assert {*NAMES, AFTER, "MainThread"} <= set(names)
    (foreign,) = set(names) - {*NAMES, AFTER, "MainThread"}
    assert re.fullmatch(r"Dummy-\d+", foreign)

    roots = {line.partition(";")[0] for line in collapsed(path).splitlines()}
    assert {re.sub(r" \(\d+\)$", "", root) for root in roots} == set(names)
    out = tmp_path / "out.pb.gz"
    assert convert("pprof", path, "-o", out).code == 0
    labels = [pprof_check.label_values(profile, sample) for profile in [pprof_check.load(out)] for sample in profile["sample"]]
    assert {label["thread"] for label in labels} == set(names)


def test_a_name_is_known_before_it_changes(python, program, start, tmp_path):
    prefix = as_root() if python.root else ()
    target = start(*prefix, *python.command, program("thread_names"))
    attach(target, tmp_path / "a.pyreel", prefix=prefix)
    names = [thread["name"] for thread in info(tmp_path / "a.pyreel")["threads"]]
    assert sum(bool(BEFORE.fullmatch(name)) for name in names) == 1


def test_short_threads_have_names(python, program, tmp_path):
    """Each lives for a few milliseconds only: its name is there in one of its first ticks."""
    path = tmp_path / "short.pyreel"
    code = ("import threading, time\n"
            "for number in range(60):\n"
            "    thread = threading.Thread(target=time.sleep, args=(0.02,), name=f'one of many short threads {number}')\n"
            "    thread.start(); thread.join()")
    prefix = as_root() if python.root else ()
    assert run_record("-o", path, "--", *python.command, "-c", code, prefix=prefix).code == 0
    names = [name for name in names_of(path) if name != "MainThread"]
    named = [name for name in names if name.startswith("one of many short threads ")]
    assert len(named) == len(set(named)) >= 0.2 * len(names) > 0, names  # the recorder may be late on a busy machine
