# SPDX-License-Identifier: MIT
"""Who may not look at a process is told why, and what to do about it."""

import os
import shutil
import signal
import stat
import subprocess

import pytest

from environment import NOBODY, RECORD, missing, need_command, need_root, pythons
from recording import Recorder, Target, descendants, info, run, send, whole


@pytest.fixture(scope="session")
def public(programs):
    """A folder that everybody may write to, with the recorder in it: the build folder may be closed to others."""
    folder = os.path.join(programs, "public")
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    shutil.copy(RECORD, folder)
    os.chmod(os.path.join(folder, "pyreel-record"), 0o755)
    return folder


@pytest.fixture(scope="session")
def python3():
    """A Python of this machine that each user may start."""
    for python in pythons():
        if not python.root and run(*as_nobody(), *python.command, "-c", "", cwd="/").code == 0:
            return python.command[0]
    return missing("no Python on this machine that each user may start")


@pytest.fixture
def record(start_recorder, public):
    """record(prefix, ...): the recorder of that folder at work."""
    program = os.path.join(public, "pyreel-record")
    return lambda prefix, *arguments: start_recorder(*arguments, prefix=prefix, program=program)


def as_nobody():
    return [*need_root(), need_command("setpriv"), f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def try_to_record(prefix, pid, public):
    """The recorder's answer; there is no file then."""
    ended = run(*prefix, os.path.join(public, "pyreel-record"), "-p", pid, "-d", "0.2", "-o", "a.pyreel", cwd=public)
    assert ended.code == 125, ended
    assert not os.path.exists(os.path.join(public, "a.pyreel"))
    (line,) = ended.messages.splitlines()
    assert f"not permitted to read process {pid}" in line
    return line


@pytest.mark.short
def test_a_process_of_another_user(start, python3, program, public):
    target = start(*need_root(), python3, program("spin"))
    line = try_to_record(as_nobody(), target.pid, public)
    assert "it belongs to root (uid 0)" in line and f"(uid {NOBODY})" in line
    assert f"sudo pyreel-record -p {target.pid}" in line
    assert target.running


@pytest.mark.short
def test_a_process_of_ones_own(start, record, python3, program, public):
    target = start(*as_nobody(), python3, program("spin"), "told")
    path = os.path.join(public, "own.pyreel")
    recorder = record(as_nobody(), "-p", target.pid, "-o", path)
    if open_scope() == 0:
        recorder.wait_for_samples(path)
        target.tell()
        assert recorder.wait().code == 0
        assert whole(path)["ended"] == "the target ended"
    else:
        ended = recorder.wait()
        assert ended.code == 125
        assert "kernel.yama.ptrace_scope" in ended.messages


def open_scope():
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope") as file:
            return int(file.read())
    except FileNotFoundError:
        return 0


def test_a_command_of_ones_own(record, python3, program, public):
    path = os.path.join(public, "command.pyreel")
    recorder = record(as_nobody(), "-o", path, "--", python3, program("dies"), "6", "told")
    recorder.wait_for_samples(path)
    assert recorder.wait().code == 6
    assert whole(path)["ended"] == "the target ended"


FORBIDS = """
import ctypes, sys
print("ready", flush=True)
sys.stdin.readline()
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
sys.stdin.read()
"""


def test_a_program_that_forbids_to_be_read_is_not_one_that_ended(record, python3, public):
    path = os.path.join(public, "forbids.pyreel")
    recorder = record(as_nobody(), "-o", path, "--", python3, "-c", FORBIDS)
    recorder.wait_for_samples(path)
    recorder.tell(b"\n")
    recorder.wait_for_message("not permitted to read process")
    assert recorder.running
    assert recorder.wait().code == 125


def test_a_read_only_file_of_ones_own_needs_force(python3, public):
    """Root may write each file, so root does not show this."""
    folder = os.path.join(public, "read-only")
    os.mkdir(folder)
    for mode in (0o777, 0o1777):
        os.chmod(folder, mode)
        path = os.path.join(folder, f"{mode:o}.pyreel")
        assert run(*as_nobody(), "sh", "-c", f"echo the only copy > {path}; chmod 444 {path}").code == 0
        record = [*as_nobody(), os.path.join(public, "pyreel-record"), "-o", path]
        ended = run(*record, "--", python3, "-c", "1")
        assert ended.code == 125 and "it is read-only; name another file, or replace it with --force" in ended.messages
        ended = run(*record, "--force", "--", python3, "-c", "1")
        assert ended.code == 0, ended
        if "no Python was seen" not in ended.messages:
            assert info(path, "--verify")["ended"] == "the target ended"
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o444


def test_root_without_the_capability(start, python3, program, public):
    target = start(*need_root(), python3, program("spin"))
    prefix = [*need_root(), need_command("setpriv"), "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    line = try_to_record(prefix, target.pid, public)
    assert "CAP_SYS_PTRACE" in line and "--cap-add=SYS_PTRACE" in line


def test_root_that_may_trace_and_not_open(start, python3, program, public):
    target = start(*as_nobody(), python3, program("spin"))
    prefix = [*need_root(), need_command("setpriv"), "--bounding-set=-all,+sys_ptrace", "--inh-caps=-all,+sys_ptrace"]
    line = try_to_record(prefix, target.pid, public)
    assert f"lacks CAP_DAC_READ_SEARCH, which opens /proc/{target.pid}/mem" in line and "--cap-add=DAC_READ_SEARCH" in line


def test_a_protected_process_of_ones_own(start, python3, public):
    code = ("import ctypes, os, time; assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0; "
            "print('ready', os.getpid(), flush=True); time.sleep(600)")
    target = start(*as_nobody(), python3, "-c", code)
    line = try_to_record(as_nobody(), target.pid, public)
    assert "protected (not dumpable): it called prctl(PR_SET_DUMPABLE, 0)" in line and "as root" in line
    assert "seccomp" not in line and "may execute" not in line


# ---- namespaces, and what /proc shows ----

def unshared(*options):
    """A prefix that runs a command as root in namespaces of its own; skips where that may not be done."""
    prefix = [*need_root(), need_command("unshare"), *options]
    return prefix if run(*prefix, "true").code == 0 else missing(f"may not run {' '.join(prefix)}")


def refusal(prefix, public, *command):
    """The line with which the recorder refuses in there; there is no file then."""
    path = os.path.join(public, "refused.pyreel")
    ended = run(*prefix, os.path.join(public, "pyreel-record"), "-o", path, *command)
    assert ended.code == 125, ended
    assert not os.path.exists(path)
    (line,) = ended.messages.splitlines()
    return line


def test_a_recorder_in_a_user_namespace_of_its_own(start, python3, program, public):
    target = start(*need_root(), python3, program("spin"))
    prefix = [*as_nobody(), need_command("unshare"), "-U", "--map-root-user"]
    if run(*prefix, "true").code != 0:
        missing("may not make a user namespace without privileges")
    line = refusal(prefix, public, "-p", target.pid)
    assert "pyreel-record runs in a user namespace of its own" in line and "Run pyreel-record outside" in line
    assert "security module" not in line and "CAP_SYS_PTRACE" not in line


def record_a_command_in(record, prefix, path, python3, program):
    recorder = record(prefix, "-o", path, "--", python3, program("spin"), "told")
    recorder.wait_for_samples(path)
    assert recorder.wait().code == 0
    assert whole(path)["ended"] == "the target ended"


def test_a_command_in_a_user_namespace_is_recorded(record, python3, program, public):
    prefix = [*as_nobody(), need_command("unshare"), "-U", "--map-root-user"]
    if run(*prefix, "true").code != 0:
        missing("may not make a user namespace without privileges")
    record_a_command_in(record, prefix, os.path.join(public, "inside.pyreel"), python3, program)


def test_a_process_that_proc_hides(start, python3, program, public):
    target = start(*need_root(), python3, program("spin"))
    inside = 'mount -t proc -o hidepid=2 proc /proc && exec "$0" "$@"'
    prefix = [*unshared("-m"), "sh", "-c", inside, *as_nobody()]
    if run(*prefix, "true").code != 0:
        missing("may not mount a /proc that hides processes")
    line = refusal(prefix, public, "-p", target.pid)
    assert f"process {target.pid} is there, but /proc hides the processes of other users" in line and "hidepid" in line
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert refusal(prefix, public, "-p", gone.pid).endswith(f"there is no process {gone.pid}")


@pytest.mark.parametrize("command", [["-p", 1], ["--", "true"]], ids=["attached", "started"])
def test_without_proc(public, command):
    prefix = [*unshared("-m"), "sh", "-c", 'mount -t tmpfs none /proc && exec "$0" "$@"']
    line = refusal(prefix, public, *command)
    assert "/proc is not mounted here" in line and "mount -t proc proc /proc" in line


@pytest.mark.parametrize("command", [["-p", 1], ["--", "true"]], ids=["attached", "started"])
def test_the_proc_of_another_namespace(public, command):
    line = refusal(unshared("-p", "--fork"), public, *command)
    assert "shows the processes of another PID namespace" in line and "--mount-proc" in line


def test_a_command_in_a_pid_namespace_is_recorded(record, python3, program, public):
    record_a_command_in(record, unshared("-p", "--fork", "--mount-proc"), os.path.join(public, "pids.pyreel"), python3, program)


def test_another_python_is_named(public):
    """A stand-in for PyPy has its name and is no CPython, which is all that the recorder can see of PyPy."""
    for name, said in ("pypy3", "it runs PyPy"), ("sleeper", "its memory may be read, and none of the"):
        path = os.path.join(public, name)
        shutil.copy(shutil.which("sleep"), path)
        other = subprocess.Popen([path, "600"])
        try:
            line = refusal([], public, "-p", other.pid)
        finally:
            other.kill()
            other.wait()
        assert "no CPython interpreter was found" in line and said in line


def test_a_thread_of_the_kernel(public):
    prefix, kthreadd = need_root(), 2
    try:
        with open(f"/proc/{kthreadd}/comm") as file:
            name = file.read().strip()
    except OSError:
        name = ""
    if name != "kthreadd":
        missing("no thread of the kernel is visible here")
    assert "it is a thread of the kernel" in refusal(prefix, public, "-p", kthreadd)


@pytest.mark.parametrize("command", [["true"], ["sh", "-c", "exit 0"]], ids=" ".join)
def test_a_short_command_of_ones_own(public, command):
    """A process that is ending may not be read either, but that is no lack of permission."""
    path = os.path.join(public, "short.pyreel")
    ended = run(*as_nobody(), os.path.join(public, "pyreel-record"), "-o", path, "--", *command)
    assert ended.code == 0, ended
    assert "permitted" not in ended.messages
    assert not os.path.exists(path)


def test_programs_that_end_while_they_are_read(public, python3):
    """Whenever the end comes, it is a normal end."""
    path = os.path.join(public, "ends.pyreel")
    for milliseconds in range(0, 20, 2):
        code = f"import time; time.sleep({milliseconds / 1000})"
        ended = run(*as_nobody(), os.path.join(public, "pyreel-record"), "-r", "20k", "-o", path, "--", python3, "-c", code)
        assert ended.code == 0, ended
        if "no Python was seen" not in ended.messages:
            assert info(path, "--verify")["ended"] == "the target ended"


# ---- containers: what a sidecar may do that shares the process namespace of the program ----

# Docker's capabilities for root in a container.
CONTAINED = ("chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,net_bind_service,net_raw,sys_chroot,mknod,audit_write,"
             "setfcap").split(",")


def holding(capabilities, user=0):
    """A prefix that runs a command as root with these capabilities at most, or as a user without any."""
    chosen = "".join(f",+{name}" for name in capabilities)
    become = [f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs"] if user else []
    return [need_command("setpriv"), f"--bounding-set=-all{chosen}", "--inh-caps=-all", *become]


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        (child,) = map(int, file.read().split())
    return child


class Pod(Target):
    """A Python in a process namespace of its own, and in its own root folder where its Python lives in one."""

    def __init__(self, python, program, user):
        if os.geteuid() != 0:
            missing("needs root itself: sudo would stand between")
        root, executable = python.root or "/", python.command[-1]
        super().__init__(*unshared("-p", "--fork", "--kill-child", "--mount-proc"), *holding(CONTAINED), "chroot",
                         f"--userspec={user}:{user}", root, executable, program("spin"))
        inside = descendants(self.process.pid)  # it says that it is number 1
        self.pid = inside[0] if inside else self.process.pid

    def record(self, rights, public, path):
        """A recorder that sees the same processes, has its own mounts, and has these rights."""
        own_proc = 'mount -t proc proc /proc && exec "$@"'
        prefix = [need_command("nsenter"), f"--pid=/proc/{self.pid}/ns/pid", need_command("unshare"), "-m", "sh", "-c", own_proc, "sh", *rights]
        return Recorder("-p", 1, "-o", path, prefix=prefix, program=os.path.join(public, "pyreel-record"))


@pytest.fixture
def pod(python, program):
    made = []

    def make(user):
        made.append(Pod(python, program, user))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.pythons("newest")
@pytest.mark.parametrize("user, capabilities, recorder", [
    (NOBODY, [], NOBODY), (NOBODY, ["sys_ptrace", "dac_read_search"], 0), (0, CONTAINED, 0)],
    ids=["the same user", "root with two capabilities", "root as the program"])
def test_a_sidecar_records(user, capabilities, recorder, pod, public, tmp_path):
    path, target = os.path.join(public, f"{tmp_path.name}.pyreel"), pod(user)
    sidecar = target.record(holding(capabilities, recorder), public, path)
    try:
        if open_scope() > 0 and "sys_ptrace" not in capabilities:
            ended = sidecar.wait()
            assert ended.code == 125 and ("kernel.yama.ptrace_scope" in ended.messages or "CAP_SYS_PTRACE" in ended.messages)
            return
        sidecar.wait_for_samples(path)
        send(child_of(sidecar.pid), signal.SIGINT)  # nsenter stands between
        assert sidecar.wait().code == 0
    finally:
        sidecar.close()
    assert whole(path)["complete"]


@pytest.mark.pythons("newest")
@pytest.mark.parametrize("capabilities, recorder, said", [
    (CONTAINED, 0, "Start the container with --cap-add=SYS_PTRACE"), ([], NOBODY - 1, "it belongs to"),
    (["sys_ptrace"], 0, "lacks CAP_DAC_READ_SEARCH")], ids=["Docker's root", "another user", "root that may not open"])
def test_a_sidecar_is_told_what_it_lacks(capabilities, recorder, said, pod, public, tmp_path):
    path = os.path.join(public, f"{tmp_path.name}.pyreel")
    ended = pod(NOBODY).record(holding(capabilities, recorder), public, path).wait()
    assert ended.code == 125 and said in ended.messages and not os.path.exists(path), ended
