# SPDX-License-Identifier: MIT
"""A thread is a thread of the kernel, from its birth to its death: whatever states CPython has for it, and whatever number
CPython has noted. The programs keep account."""

import collections
import os
import re
import subprocess

import pytest

from environment import BUILD
from recording import collapsed, process_state, run_record, wait_until, whole

LIBRARY = os.path.join(BUILD, "tests", "libcallbacks.so")
OLDEST_AND_NEWEST = pytest.mark.pythons("oldest and newest")
SECONDS = 2
USED = re.compile(r"^used (\d+) (\d+) (\w+) (\S+)$", re.M)
Used = collections.namedtuple("Used", "pid tid function cpu_s")

FORKS = ["fork of C", "fork of C in a thread", "fork of C in a fork of C", "fork in a thread"]
OTHERS = ["the first thread ends", "a callback", "two callbacks"]


@pytest.fixture
def command(python, programs, program):
    """The command of the program that does this for SECONDS."""
    folder = python.root + programs
    subprocess.run([*python.prefix, "cp", LIBRARY, folder], check=True)

    def make(what):
        return [*python.command, program("kernel_threads"), what, SECONDS, os.path.join(programs, "libcallbacks.so")]

    return make


def assert_right(path, output, amount=1):
    """Each thread has one entry, and its functions have the CPU time that the program counted. `amount`: the part of the
    program's life that was recorded."""
    used = [Used(int(pid), int(tid), function, float(cpu_s)) for pid, tid, function, cpu_s in USED.findall(output)]
    assert used, output
    threads = whole(path)["threads"]
    entries = collections.Counter((thread["pid"], thread["tid"]) for thread in threads)
    assert set(entries.values()) == {1}, threads
    seen = collapsed(path, "--functions", "--weight", "cpu")
    for one in used:
        assert (one.pid, one.tid) in entries, (one, threads)
        cpu_s = sum(int(line.rpartition(" ")[2]) for line in seen.splitlines()
                    if f"({one.tid});" in line and re.search(rf";{one.function}( |$|;)", line)) / 1e6
        assert 0.6 * amount * one.cpu_s - 0.1 <= cpu_s <= 1.4 * one.cpu_s + 0.1, (one, cpu_s, seen)


@pytest.mark.short
@OLDEST_AND_NEWEST
@pytest.mark.parametrize("what", FORKS + OTHERS)
def test_each_thread_is_one_entry_with_its_time(python, command, tmp_path, what):
    path = tmp_path / "a.pyreel"
    ended = run_record("-f", "-o", path, "--", *command(what), prefix=python.prefix)
    assert ended.code == 0, ended
    assert_right(path, ended.text)


@OLDEST_AND_NEWEST
@pytest.mark.parametrize("what", ["fork of C", "the first thread ends", "a callback"])
def test_so_it_is_when_attached_to(python, command, start, start_recorder, tmp_path, what):
    path = tmp_path / "a.pyreel"
    target = start(*python.prefix, *command(what))
    if what == "the first thread ends":
        wait_until(lambda: process_state(target.pid) == "Z", "its end")
    ended = start_recorder("-f", "-p", target.pid, "-o", path, prefix=python.prefix).wait()
    assert ended.code == 0, ended
    assert_right(path, target.wait().text, 0.2)
    assert all(process["most_resident_bytes"] for process in whole(path)["processes"])
