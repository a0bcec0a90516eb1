# SPDX-License-Identifier: MIT
"""pyreel-dump prints what each thread does: beside faulthandler and Tachyon, of trees, of tasks, and of core files."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess

import pytest

import tachyon
from environment import DUMP, PROJECT, as_root, missing, need_command, need_root, pythons
from recording import ENVIRONMENT, PATIENCE, Talk, process_state, read_terminal, run, succeed, wait_until

try:
    import jsonschema
except ImportError:
    jsonschema = None

FRAME = re.compile(r'^ +File "(.*?)", line (\d+),? in (.*)$', re.M)
STANDS = {"MainThread", "wartet é", "\033[31mred\a\n", "locals", "a name of more than fifteen bytes"}


def hold(text):
    """The dump in a JSON text, which must obey the schema."""
    found = json.loads(text)
    if jsonschema:
        with open(os.path.join(PROJECT, "schemas", "dump.schema.json")) as file:
            wrong = [error.message for error in jsonschema.Draft202012Validator(json.load(file)).iter_errors(found)]
        assert wrong == []
    return found


def dumps(*arguments, prefix=()):
    return hold(succeed(*prefix, DUMP, "--json", *arguments).text)["processes"]


def dump(*arguments, prefix=()):
    (process,) = dumps(*arguments, prefix=prefix)
    return process


def place(file, line, function):
    return os.path.basename(file), int(line), function.rpartition(".")[2]


def places(thread):
    return [place(frame["file"], frame["line"], frame["function"]) for frame in thread["frames"] if frame["file"]]


def by_name(process):
    return {thread["name"]: thread for thread in process["threads"]}


@pytest.fixture
def stands(python, program, start):
    """A program whose threads have come to their places."""
    target = start(*python.prefix, *python.command, program("stands"))
    wait_until(lambda: settled(target.pid, python.prefix), "all threads wait")
    return target


def settled(pid, prefix):
    threads = dump(pid, prefix=prefix)["threads"]
    return len(threads) == len(STANDS) and all(places(thread)[-1][2] == "wait" for thread in threads)


# ---- the same as others say ----

def faulthandler_of(target, prefix):
    """What faulthandler prints of each thread: its number, and its frames from the root."""
    succeed(*prefix, "kill", "-USR1", target.pid)
    text = ""
    while not re.search(r"in <module>\n", text):
        text += target.read_message()
    parts = re.split(r"^(?:Current thread|Thread) 0x([0-9a-f]+).*\n", text, flags=re.M)[1:]
    return {int(ident, 16): [place(*found) for found in reversed(FRAME.findall(stack))] for ident, stack in zip(parts[::2], parts[1::2])}


@pytest.mark.short
@pytest.mark.pythons("each build")
@pytest.mark.sanitized("memory of the program")
def test_as_faulthandler_says(python, stands):
    process = dump(stands.pid, prefix=python.prefix)
    assert process["moment"] == "proved" and process["python"] == python.full_version
    assert set(by_name(process)) == STANDS
    ours = {thread["ident"]: places(thread) for thread in process["threads"]}
    assert ours == faulthandler_of(stands, python.prefix)
    states = {name: thread["states"] for name, thread in by_name(process).items()}
    assert {name for name, words in states.items() if "in an exception" in words} == {"\033[31mred\a\n"}
    assert all("idle" in words for words in states.values()), states
    assert [thread["main"] for thread in process["threads"]] == [True, False, False, False, False]


@pytest.mark.pythons("newest", since="3.15")
def test_as_tachyon_says(python, program, start):
    target = start(*tachyon.command(), program("stands"))  # it sees the files that Tachyon sees
    wait_until(lambda: settled(target.pid, as_root()), "all threads wait")
    inside = (*as_root(), "nsenter", "--mount", f"--target={target.pid}") if python.root else ()
    said = succeed(*inside, *python.command, "-m", "profiling.sampling", "dump", "-a", target.pid).text
    parts = re.split(r"^Stack dump.*?thread (\d+).*\n", said, flags=re.M)[1:]
    theirs = {int(tid): [place(*found) for found in FRAME.findall(stack)] for tid, stack in zip(parts[::2], parts[1::2])}
    ours = {thread["tid"]: places(thread) for thread in dump(target.pid, prefix=as_root())["threads"]}
    assert ours == theirs


@pytest.mark.short
@pytest.mark.pythons("oldest and newest")
def test_text(python, stands, program):
    text = succeed(*python.prefix, DUMP, stands.pid).text
    path = program("stands")
    with open(path) as file:
        line = file.read().partition("return below")[0].count("\n") + 1
    assert (f'  File "{path}", line {line}, in below\n    return below(depth - 1)\n  [Previous line repeated 6 more times]\n'
            f'  File "{path}", line {line + 1}, in below\n    STOP.wait()\n') in text
    assert re.search(r'^Thread \d+ "wartet é" 0x[0-9a-f]+ \(idle\):$', text, re.M)
    assert r'"\x1b[31mred\x07\x0a"' in text and "\033" not in text


@pytest.mark.pythons("newest")
def test_colours_are_for_terminals(python, stands):
    terminal, inside = pty.openpty()
    command = [*python.prefix, DUMP, str(stands.pid)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=inside, env={**ENVIRONMENT, "TERM": "xterm"}) as process:
        os.close(inside)
        said = read_terminal(terminal)
    os.close(terminal)
    assert process.returncode == 0 and b"\033[35m" in said and b"\033[31m" not in said


@pytest.mark.pythons("newest")
def test_a_closed_pipe_is_no_news(python, stands):
    out, into = os.pipe()
    os.close(out)
    ended = subprocess.run([*python.prefix, DUMP, str(stands.pid)], stdin=subprocess.DEVNULL, stdout=into, stderr=subprocess.PIPE, timeout=PATIENCE)
    os.close(into)
    assert ended.stderr == b"" and ended.returncode != 0


# ---- local variables ----

LOCALS = {"number": "42", "text": r"'it\'s é\n'", "rest": "<tuple of 0>", "more": "<dict of 1>", "inner": "<function at 0xN>", "inside": "12345"}
INNER = {"data": r"b'a\x00b'", "part": "0.1", "whole": "2.0", "nothing": "None", "yes": "True", "large": "<int of 210 bits>", "negative": "-77",
         "far": "-1099511627776", "items": "<list of 3>", "table": "<dict of 1>", "few": "<set of 2>", "connection": "<Connection at 0xN>",
         "long": f"'{'x' * 80}…'", "inside": "12345"}


def locals_of(process, thread, function):
    (frame,) = [frame for frame in by_name(process)[thread]["frames"] if frame["function"] == function]
    return {variable["name"]: variable["value"] for variable in frame["locals"]}


def without_addresses(values):
    return {name: re.sub(r" at 0x[0-9a-f]+>$", " at 0xN>", value) for name, value in values.items()}


@pytest.mark.short
@pytest.mark.pythons("each build")
@pytest.mark.sanitized("values in the program")
def test_locals(python, stands):
    process = dump("--locals", stands.pid, prefix=python.prefix)
    assert process["moment"] == "stopped"
    assert without_addresses(locals_of(process, "locals", "has_locals")) == LOCALS
    assert without_addresses(locals_of(process, "locals", "has_locals.<locals>.inner")) == INNER
    depths = [frame["locals"][0]["value"] for frame in by_name(process)["wartet é"]["frames"] if frame["function"] == "below"]
    assert depths == [str(depth) for depth in range(9, -1, -1)]
    assert process_state(stands.pid) == "S"  # it runs on


# ---- asyncio ----

@pytest.mark.short
@pytest.mark.parametrize("runs", [(), ("runs",)])
def test_tasks(python, program, start, runs):
    prefix = python.prefix
    target = start(*prefix, *python.command, program("awaits"), *runs)
    process = dump("--async", target.pid, prefix=prefix)
    names = {task["id"]: task["name"] for task in process["tasks"]}
    awaited = {task["name"]: names.get(task["awaited_by"]) for task in process["tasks"]}
    wanted = {"Task-1": None, "middle": "Task-1", "leaf a": "middle", "leaf b": "middle"}
    assert awaited == {**wanted, **({"spins": "Task-1"} if runs else {})}
    functions = {task["name"]: [frame["function"] for frame in task["frames"]] for task in process["tasks"]}
    assert functions["leaf a"] == ["leaf", "sleep"] and functions["middle"][0] == "middle" and functions["Task-1"] == ["main"]
    assert process["threads"][0]["frames"][0]["function"] == "<module>"
    text = succeed(*prefix, DUMP, "--async", target.pid).text
    assert re.search(r'^    Task "leaf b" \(waiting\) awaited by "middle":\n +File .*, in leaf\n +await asyncio\.sleep', text, re.M)


# ---- processes of all kinds ----

def test_stopped(python3, program, start):
    target = start(python3, program("stands"))
    wait_until(lambda: settled(target.pid, ()), "all threads wait")
    os.kill(target.pid, signal.SIGSTOP)
    wait_until(lambda: process_state(target.pid) == "T", "it is stopped")
    process = dump(target.pid)
    assert process["state"].startswith("stopped by a signal") and process["moment"] == "proved"
    assert by_name(process)["MainThread"]["states"] == []
    assert dump("--locals", target.pid)["moment"] == "stopped"
    assert process_state(target.pid) == "T"
    assert "State: stopped by a signal" in succeed(DUMP, target.pid).text


def test_zombie_and_gone(python3):
    child = subprocess.Popen([python3, "-c", "pass"])
    wait_until(lambda: process_state(child.pid) == "Z", "it has ended")
    ended = run(DUMP, child.pid)
    assert ended.code == 1 and f"zombie, and its parent, process {os.getpid()}," in ended.messages
    child.wait()
    ended = run(DUMP, child.pid)
    assert ended.code == 1 and ended.messages == f"pyreel-dump: there is no process {child.pid}\n"


@pytest.mark.short
def test_no_python_and_misuse():
    process = Talk(["sleep", "100"])
    try:
        ended = run(DUMP, process.pid)
        found = hold(run(DUMP, "--json", process.pid).text)
    finally:
        process.close()
    assert ended.code == 1 and f"no CPython interpreter was found in process {process.pid}" in ended.messages
    assert found["processes"] == [] and found["not_dumped"][0]["command"] == "sleep 100"
    for arguments in ([], ["x"], ["0"], ["1", "2"], ["--core", "a", "1"], ["--exe", "a", "1"], ["--core", "a", "-f"], ["--odd"],
                      ["--native", "--locals", "1"], ["--native", "--blocking", "1"]):
        assert run(DUMP, *arguments).code == 2


@pytest.mark.short
def test_tree(python3, program):
    """A shell with two Pythons, of which one has a child."""
    parent = f"import subprocess, sys; subprocess.run([sys.executable, {program('stands')!r}])"
    script = f"{python3} {program('stands')} & exec 3<&0; {python3} -c \"{parent}\" & wait"
    shell = Talk(["sh", "-c", script])
    try:
        ready = {int(shell.read_line().split()[1]) for _ in range(2)}
        found = dumps("-f", shell.pid)
        assert len(found) == 3 and ready < {process["pid"] for process in found}
        assert sorted(process["parent_pid"] == shell.pid for process in found) == [False, True, True]
        assert run(DUMP, shell.pid).code == 1
    finally:
        shell.close()


# ---- source files ----

def test_files_that_are_not_read(python3, start, tmp_path):
    """A FIFO, a file that is no Python, a file that was written later: they are named by the program, and not read."""
    fifo, secret, later = tmp_path / "fifo.py", tmp_path / "secret.txt", tmp_path / "later.py"
    os.mkfifo(fifo)
    secret.write_text("secret\n" * 3)
    os.utime(secret, (0, 0))
    code = "import time, os\ndef f(k):\n    k() if k else print('ready', os.getpid(), flush=True) or time.sleep(1000)\n"
    program = (f"code = {code!r}\nk = 0\n"
               f"for name in {[str(fifo), str(secret), str(later)]!r}:\n"
               "    space = {}\n    exec(compile(code, name, 'exec'), space)\n    k = (lambda f, k: lambda: f(k))(space['f'], k)\nk()\n")
    target = start(python3, "-c", program)
    later.write_text("changed\n" * 3)
    (thread,) = dump(target.pid)["threads"]
    shown = {frame["file"]: frame["source"] for frame in thread["frames"]}
    assert [shown[str(path)] for path in (fifo, secret, later)] == [None, None, None]


def test_files_are_read_with_the_rights_of_the_program(start):
    """Root dumps a process of nobody, which names a file that only root may read."""
    rooted = [python for python in pythons() if python.root]
    if need_root() or not rooted:
        missing("needs to be root, and a Python in a root folder, which all users may start")
    python = rooted[-1]
    own = os.path.join(python.root, "tmp", f"own-{os.getpid()}.py")
    with open(own, "w") as file:
        file.write("secret = 1\n" * 3)
    os.utime(own, (0, 0))
    os.chmod(own, 0o600)
    try:
        code = (f"code = compile('import time, os\\nprint(\"ready\", os.getpid(), flush=True)\\ntime.sleep(1000)', '/tmp/{os.path.basename(own)}', 'exec')\n"
                "exec(code)")
        chroot = ["chroot", "--userspec=65534:65534", *python.command[1:]]
        nobody, root = [start(*command, "-c", code) for command in (chroot, python.command)]
        assert [dump(target.pid)["threads"][0]["frames"][-1]["source"] for target in (nobody, root)] == [None, "secret = 1"]
    finally:
        os.remove(own)


# ---- core files ----

def core_pattern():
    with open("/proc/sys/kernel/core_pattern") as file:
        return file.read().strip()


@pytest.mark.short
@pytest.mark.pythons("oldest and newest")
@pytest.mark.sanitized("a core file")
def test_core_of_a_crash(python, program, tmp_path):
    if core_pattern() != "core":
        missing("the kernel gives core files to a program: kernel.core_pattern")
    prefix, folder = python.prefix, f"/tmp/{tmp_path.name}-{os.getpid()}"
    succeed(*prefix, "mkdir", python.root + folder)
    try:
        run(*prefix, *python.command, program("crashes"), folder)
        core, = [name for name in os.listdir(python.root + folder)]
        core = os.path.join(python.root + folder, core)
        exe = ("--exe", python.root + python.command[-1]) if python.root else ()
        process = dump("--core", core, "--locals", *exe, prefix=prefix)
        assert process["core"] and process["signal"] == signal.SIGSEGV and process["signal_tid"] == process["pid"]
        assert process["python"] == python.full_version and process["moment"] == "proved"
        assert set(by_name(process)) == {"MainThread", "one that waits"}
        names = [frame["function"] for frame in by_name(process)["MainThread"]["frames"]]
        assert names == ["<module>", *["below"] * 6]
        assert [frame["function"] for frame in by_name(process)["one that waits"]["frames"]][-2:] == ["Event.wait", "Condition.wait"]
        assert by_name(process)["MainThread"]["frames"][1]["locals"] == [{"name": "depth", "value": "5"}, {"name": "why", "value": "'it is time'"}]
        native = dump("--core", core, "--native", *exe, prefix=prefix)
        kills = any("kill" in name for name in c_functions(by_name(native)["MainThread"])[-2:])
        assert kills or python.root, native  # the libraries of a root folder are not where the core file says
        if python.root:
            ended = run(*prefix, DUMP, "--core", core)
            assert ended.code == 1 and "Give the file with --exe" in ended.messages
            ended = run(*prefix, DUMP, "--core", core, "--exe", shutil.which("sh"))
            assert ended.code == 1 and "its build id is" in ended.messages
        cut = tmp_path / "cut"
        with open(core, "rb") as whole, open(cut, "wb") as part:
            part.write(whole.read(os.path.getsize(core) // 2))
        assert run(*prefix, DUMP, "--core", cut, *exe).code in (0, 1)
    finally:
        succeed(*prefix, "rm", "-rf", python.root + folder)


@pytest.mark.pythons("oldest and newest")
def test_core_of_gcore(python, stands, tmp_path):
    need_command("gcore")
    prefix = python.prefix
    live = dump(stands.pid, prefix=prefix)
    said = succeed(*prefix, "gcore", "-o", tmp_path / "core", stands.pid).messages
    exe = ("--exe", python.root + python.command[-1]) if python.root else ()
    saved = dump("--core", tmp_path / f"core.{stands.pid}", *exe, prefix=prefix)
    keys = ("tid", "ident", "name", "main")
    assert [[thread[key] for key in keys] for thread in saved["threads"]] == [[thread[key] for key in keys] for thread in live["threads"]]
    # gdb before 14 leaves zeros where a stack of glibc 2.42 has its guard pages.
    lost = [thread["tid"] for thread in saved["threads"] if thread["failure"] == "the core file does not have all of its stack"]
    assert lost == [] or "Memory read failed" in said
    for ours, theirs in zip(saved["threads"], live["threads"]):
        assert places(ours) == places(theirs) or ours["tid"] in lost
    live = dump(stands.pid, "--native", prefix=prefix)
    saved = dump("--core", tmp_path / f"core.{stands.pid}", "--native", *exe, prefix=prefix)
    for ours, theirs in zip(saved["threads"], live["threads"]):
        if ours["tid"] in lost:
            continue
        assert places(ours) == places(theirs)
        # Of a thread that sleeps, the living process tells two registers, so a part may be missing.
        assert is_part(c_functions(theirs), c_functions(ours)), (c_functions(theirs), c_functions(ours))
        assert c_functions(ours), ours


def c_functions(thread):
    return [frame["function"] for frame in thread["frames"] if frame["binary"]]


def is_part(part, whole):
    rest = iter(whole)
    return all(item in rest for item in part)


def test_no_core(tmp_path, program):
    (tmp_path / "packed").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(100))
    os.mkfifo(tmp_path / "fifo")
    for path, words in ((program("stands"), "is no core file"), (DUMP, "but a program or a library"), (tmp_path / "packed", "zstd -d"),
                        (tmp_path / "fifo", "no regular file"), (tmp_path / "none", "No such file"), (tmp_path, "no regular file")):
        ended = run(DUMP, "--core", path)
        assert ended.code == 1 and words in ended.messages, ended
