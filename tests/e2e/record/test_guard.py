# SPDX-License-Identifier: MIT
"""What the recorder gives up once it records, and what it can do nevertheless."""

import os
import signal
import sys

import pytest

from environment import DUMP, NOBODY, missing, need_command, need_root
from recording import Talk, end, info, run, run_record, wait_until

SYS_PTRACE, KILL, ALL_KEPT = 1 << 19, 1 << 5, 1 << 1 | 1 << 2 | 1 << 5 | 1 << 19 | 1 << 23


def status_of(pid):
    with open(f"/proc/{pid}/status") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def guarded_status(pid):
    """The recorder's status, once it has given up what it does not need."""
    def has_given_up():
        status = status_of(pid)
        return status["NoNewPrivs"] == "1" and status.get("Seccomp", "2") != "0"

    wait_until(has_given_up, "the recorder gives something up")
    return status_of(pid)


@pytest.mark.short
def test_the_recorder_gives_up_and_the_command_does_not(start_recorder, python3, program, tmp_path):
    recorder = start_recorder("-o", tmp_path / "a.pyreel", "--", python3, program("spin"))
    recorder.wait_for_output()
    guarded = guarded_status(recorder.pid)
    with open(f"/proc/{recorder.pid}/task/{recorder.pid}/children") as file:
        (command,) = file.read().split()
    ours, theirs = status_of("self"), status_of(command)
    assert int(guarded["CapEff"], 16) == int(ours["CapEff"], 16) & int(guarded["CapPrm"], 16) & ALL_KEPT
    assert int(guarded["CapInh"], 16) == int(guarded["CapAmb"], 16) == 0
    for name in ("CapPrm", "CapEff", "CapInh", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"):
        assert theirs.get(name) == ours.get(name), name
    for thread in os.listdir(f"/proc/{recorder.pid}/task"):
        assert status_of(f"{recorder.pid}/task/{thread}")["CapPrm"] == guarded["CapPrm"]


def test_root_without_the_capability_to_trace_records(start_recorder, python3, program, tmp_path):
    """As root in a container: the command has the same capabilities, and may be read by whoever keeps all of these."""
    need_root()
    contained = [need_command("setpriv"), "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("-v", "-f", "-o", path, "--", python3, program("spin"), "told", prefix=contained)
    assert not int(guarded_status(recorder.pid)["CapEff"], 16) & SYS_PTRACE
    recorder.wait_for_samples(path)
    ended = recorder.wait()
    assert ended.code == 0 and "all capabilities are kept, because CAP_SYS_PTRACE is not among them" in ended.messages, ended
    assert info(path, "--verify")["complete"]


def test_an_attached_recorder_keeps_less(start, start_recorder, python3, program, tmp_path):
    target = start(python3, program("spin"))
    recorder = start_recorder("-p", target.pid, "-o", tmp_path / "a.pyreel")
    assert not int(guarded_status(recorder.pid)["CapPrm"], 16) & KILL


def test_verbose_says_what_was_given_up(python3, tmp_path):
    ended = run_record("-v", "-o", tmp_path / "a.pyreel", "--", python3, "-c", "pass")
    (line,) = [line for line in ended.messages.splitlines() if "guard: " in line]
    assert "capabilities are kept (" in line and "no_new_privs is set" in line and "system calls are" in line


def test_a_command_that_became_another_user_gets_signals(start_recorder, python3, program, tmp_path):
    need_root()
    if os.geteuid() != 0:
        missing("needs root itself: sudo would pass the signals on")
    nobody = [need_command("setpriv"), f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("-o", path, "--", *nobody, "/usr/bin/python3", program("spin"))
    recorder.wait_for_output()
    guarded_status(recorder.pid)
    recorder.wait_for_samples(path)
    recorder.signal(signal.SIGTERM)
    assert recorder.wait().code == 128 + signal.SIGTERM
    assert info(path, "--verify")["complete"]


def test_no_python_leaves_no_file_in_the_folder_of_another_user(tmp_path):
    """Root without its power over files could not remove the file."""
    if os.geteuid() != 0:
        missing("needs root: only root writes into folders of other users")
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    folder.chmod(0o755)
    assert run_record("-o", folder / "a.pyreel", "--", "true").code == 0
    assert os.listdir(folder) == []


def need_pages_that_never_come():
    if os.geteuid() != 0:
        missing("needs root: others may not make a page that the kernel waits for")


def test_memory_that_does_not_answer_does_not_hold_the_recorder(start_recorder, python3, program, tmp_path):
    """Only the end of the recorder wakes a thread of its that waits for a page; ^C alone does not."""
    need_pages_that_never_come()
    recorder = start_recorder("-o", tmp_path / "a.pyreel", "--", python3, program("stuck_memory"), "600")
    said = recorder.read_line().split()
    if said[:1] != ["ready"]:
        missing("this kernel has no userfaultfd")
    try:
        recorder.wait_for_output("awaited")
        recorder.signal(signal.SIGTERM)
        recorder.exit_code()
    finally:
        end(int(said[1]))  # it holds the recorder's standard error open
    ended = recorder.wait()
    assert ended.code == 125 and "the memory of the program does not answer" in ended.messages, ended


def test_memory_that_does_not_answer_does_not_hold_a_dump(python3, program):
    """What was dumped before is printed."""
    need_pages_that_never_come()
    parent = f"import subprocess, sys; subprocess.run([sys.executable, {program('stuck_memory')!r}, '600'])"
    tree = Talk([python3, "-c", parent])
    try:
        if not tree.read_line().startswith("ready"):
            missing("this kernel has no userfaultfd")
        ended = run(DUMP, "-f", tree.pid)
        assert ended.code == 1 and "the memory of the process does not answer" in ended.messages, ended
        assert f"Process {tree.pid}" in ended.text and "in Popen.wait" in ended.text
    finally:
        tree.close()


# A file system without a server. Its end is that of the program that runs here.
DEAD = """
import ctypes, os, sys
server = os.open("/dev/fuse", os.O_RDWR)
os.set_inheritable(server, True)
facts = f"fd={server},rootmode=40000,user_id=0,group_id=0"
if ctypes.CDLL(None).mount(b"dead", sys.argv[1].encode(), b"fuse", 0, facts.encode()) != 0:
    sys.exit(99)
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_core_file_that_does_not_answer_does_not_hold_a_dump(tmp_path):
    need_pages_that_never_come()
    if not os.path.exists("/dev/fuse"):
        missing("this machine has no /dev/fuse")
    ended = run("unshare", "-m", sys.executable, "-c", DEAD, tmp_path, DUMP, "--core", tmp_path / "core")
    if ended.code == 99:
        missing("no file system may be mounted here")
    assert ended.code == 1 and "the core file does not answer" in ended.messages, ended
