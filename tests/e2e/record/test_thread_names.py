# SPDX-License-Identifier: MIT
"""Threads have the names that the module threading has for them: whole, and under each Python."""

import re
import signal

import pytest

import pprof_check
from recording import attach, collapsed, convert, info, so_far, succeed, whole

BEFORE = re.compile(r"Thread-\d+ \(wait\)")
AFTER = "renamed while it is recorded"
NAMES = {"worker number 7 of a class of its own", "slotted, and with a long name", "später 中 🐍 ist der Name",
         "named by kernel", "one that has a dict of its own", "downloads from the mirror_0", "downloads from the mirror_1"}


def names_of(path):
    return [thread["name"] for thread in whole(path)["threads"]]


def is_named(name):
    """Whether there is a thread of a name, a regular expression."""
    return lambda found: any(re.fullmatch(name, thread["name"]) for thread in found["threads"])


@pytest.mark.short
@pytest.mark.pythons("each build")
@pytest.mark.sanitized("names of threads")
def test_threads_have_the_names_that_python_gives_them(python, program, start, start_recorder, tmp_path):
    path = tmp_path / "names.pyreel"
    target = start(*python.prefix, *python.command, program("thread_names"))
    recorder = start_recorder("-p", target.pid, "-o", path, prefix=python.prefix)
    recorder.wait_for(path, is_named(BEFORE), "the name before is known")
    succeed(*python.prefix, "kill", "-USR1", target.pid)
    recorder.wait_for(path, is_named(AFTER), "the name after is known")
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
    target = start(*python.prefix, *python.command, program("thread_names"))
    attach(target, tmp_path / "a.pyreel", prefix=python.prefix)
    names = [thread["name"] for thread in info(tmp_path / "a.pyreel")["threads"]]
    assert sum(bool(BEFORE.fullmatch(name)) for name in names) == 1


def test_short_threads_have_names(python, record_until, tmp_path):
    """Each lives for a few milliseconds only: its name is there in one of its first ticks. A recorder that is late misses it."""
    path = tmp_path / "short.pyreel"
    code = ("import itertools, select, threading, time\n"
            "for number in itertools.count():\n"
            "    thread = threading.Thread(target=time.sleep, args=(0.02,), name=f'one of many short threads {number}')\n"
            "    thread.start(); thread.join()\n"
            "    if select.select([0], [], [], 0)[0]: break")
    record_until(path, is_named(r"one of many short threads \d+"), "--", *python.command, "-c", code, prefix=python.prefix)
    named = [name for name in names_of(path) if name.startswith("one of many short threads ")]
    assert len(named) == len(set(named)) > 0


# As a server does: it renames itself, in the kernel too, and its threads take that name over.
TITLED = """
import ctypes, os, select, threading
def wait():
    threading.Event().wait()
def begin(name=None):
    threading.Thread(target=wait, daemon=True, name=name).start()
begin()
ctypes.CDLL(None).prctl(15, b"master: serves", 0, 0, 0)  # PR_SET_NAME
begin()
begin("the last one of all")
print("ready", os.getpid(), flush=True)
while not select.select([0], [], [], 0)[0]: sum(range(1000))
"""


def check_titled(path):
    names = names_of(path)
    assert sum(bool(BEFORE.fullmatch(name)) for name in names) == 2 and len(names) == 4, names


@pytest.mark.pythons("each build")
def test_a_title_is_no_name_of_the_threads_that_take_it_over(python, record_until, tmp_path):
    path = tmp_path / "titled.pyreel"
    record_until(path, is_named("the last one of all"), "--", *python.command, "-c", TITLED, prefix=python.prefix)
    check_titled(path)


@pytest.mark.pythons("each build")
def test_nor_is_the_name_from_before_a_title(python, start, tmp_path):
    path = tmp_path / "titled.pyreel"
    target = start(*python.prefix, *python.command, "-c", TITLED)
    attach(target, path, until=is_named("the last one of all"), prefix=python.prefix)
    check_titled(path)


# ---- threads that were chosen by their names ----

@pytest.mark.short
@pytest.mark.pythons("each build")
def test_only_threads_of_these_names_are_recorded(python, start, start_recorder, program, tmp_path):
    """Those that sleep, too, and one that gets such a name later. Of the others there is nothing but the CPU time of the process."""
    path = tmp_path / "a.pyreel"
    target = start(*python.command, program("named_threads"))
    recorder = start_recorder("-p", target.pid, "-t", "worker-*, nobody", "-o", path, prefix=python.prefix)

    def names(found):
        return {thread["name"]: thread["samples"] for thread in found["threads"] if thread["samples"]}

    recorder.wait_for(path, lambda found: found["samples"] > 200 and len(names(found)) == 2, "two threads")
    assert set(names(so_far(path))) == {"worker-1", "worker-2"}
    target.tell(b"\n")
    recorder.wait_for(path, lambda found: "worker-late" in names(found), "the third")
    recorder.signal(signal.SIGINT)
    assert recorder.wait().code == 0
    found = whole(path)
    assert set(names(found)) == {"worker-1", "worker-2", "worker-late"}
    assert found["threads_option"] == "worker-*, nobody"
    assert found["cpu_not_sampled_s"] > 0


@pytest.mark.pythons("newest")
def test_a_number_and_the_words_stay(python, start, program, tmp_path):
    target = start(*python.command, program("named_threads"))
    for which, expected in (str(target.pid), {"MainThread"}), ("main", {"MainThread"}), ("nobody", set()):
        path = tmp_path / f"{which}.pyreel"
        ended = attach(target, path, "-t", which, until=lambda found: found["ticks"] > 300, prefix=python.prefix)
        assert {thread["name"] for thread in whole(path)["threads"] if thread["samples"]} == expected
        assert ("that --mode and --threads keep" in ended.messages) == (which == "nobody"), ended
