# SPDX-License-Identifier: MIT
"""--all: every Python of the machine that fits, whoever started it, and what names it where it runs. Other tests run other
Pythons meanwhile, so each test chooses its own by a word on their command lines."""

import os
import signal

import pytest

from environment import CONVERTERS, NOBODY, need_command, need_root
from recording import Target, check_account, run, run_record, succeed, whole

WORKS = """
import sys, time
print("ready", __import__("os").getpid(), flush=True)
def work():
    return sum(i * i for i in range(2000))
import select
while not select.select([sys.stdin], [], [], 0)[0]:
    work()
    time.sleep(0.002)
print(time.process_time(), flush=True)
"""
SHORT = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass"


@pytest.fixture
def word(tmp_path):
    """A word that no other process has on its command line; that of the recorder has a bracket in it."""
    return f"w{os.getpid()}{tmp_path.name}"


@pytest.fixture
def works(python, word):
    """works(): starts a program that works until it is told to end."""
    started = []

    def start(*prefix, words=(word,)):
        started.append(Target(*prefix, *python.prefix, *python.command, "-c", WORKS, *words))
        return started[-1]

    yield start
    for target in started:
        target.close()


@pytest.fixture
def record_all(start_recorder, word, tmp_path):
    """record_all(options...): a recorder of those with the word, and its file."""
    path = tmp_path / "all.pyreel"
    return lambda *options: (start_recorder("--all", "--match", f"[{word[0]}]{word[1:]}", "-o", path, *options), path)


def pids(found):
    return {process["pid"] for process in found["processes"]}


def told_cpu_s(target):
    """Ends a program that works; its own account of its CPU time."""
    target.tell()
    return float(target.wait().text.split()[-1])


@pytest.mark.short
@pytest.mark.pythons("oldest and newest")
def test_those_that_run_and_those_that_come(python, works, word, record_all):
    before = [works(), works()]
    other = works(words=())
    recorder, path = record_all()
    recorder.wait_for(path, lambda found: pids(found) >= {target.pid for target in before}, "both programs")
    later = works()
    run(*python.prefix, *python.command, "-c", SHORT, word)
    recorder.wait_for(path, lambda found: later.pid in pids(found) and len(found["processes"]) >= 4, "the new ones")
    recorder.wait_for_later_samples(path)
    cpu_s = {target.pid: told_cpu_s(target) for target in (*before, later)}
    recorder.wait_for(path, lambda found: all(process["fate"] for process in found["processes"]), "the ends")
    recorder.signal(signal.SIGINT)
    ended = recorder.wait()
    assert ended.code == 0, ended
    found = whole(path)
    rows = {process["pid"]: process for process in found["processes"]}
    assert other.pid not in rows and recorder.pid not in rows
    assert set(rows) >= set(cpu_s) and len(rows) == 4
    assert all(word in process["command"] for process in rows.values())
    for pid in (later.pid, *(set(rows) - set(cpu_s))):  # nothing of their time was before the recording
        assert rows[pid]["fate"] == "exited" and rows[pid]["exit_code"] == 0
    assert rows[later.pid]["cpu_s"] == pytest.approx(cpu_s[later.pid], abs=0.05, rel=0.05)
    for target in before:
        assert 0 < rows[target.pid]["cpu_s"] <= cpu_s[target.pid] + 0.05
    check_account(found)
    assert "\nprograms    4, in 4 processes; the first:\n" in "\n" + succeed(CONVERTERS["info"], path).text
    assert ": 4 programs, " in succeed(CONVERTERS["info"], "--summary", path).text


def test_what_names_a_process_where_it_runs(works, record_all):
    target = works("env", "OTEL_SERVICE_NAME=shop", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=a%20b,service.name=c",
                   "PASSWORD=hunter2")
    with open(f"/proc/{target.pid}/cgroup") as file:
        cgroups = file.read()
    recorder, path = record_all("--compression", "none")
    recorder.wait_for(path, lambda found: target.pid in pids(found), "the program")
    recorder.signal(signal.SIGINT)
    assert recorder.wait().code == 0
    (process,) = whole(path)["processes"]
    attributes = process["attributes"]
    assert attributes.pop("service.name") == "shop"
    assert attributes.pop("deployment.environment.name") == "a b"
    assert "0::/\n" in cgroups or attributes["process.linux.cgroup"] in cgroups
    assert set(attributes) <= {"process.linux.cgroup", "container.id", "k8s.pod.uid"}
    assert b"hunter2" not in path.read_bytes()


@pytest.mark.parametrize("way", ["all", "command"])
def test_arguments_may_be_left_out(works, word, record_all, python, tmp_path, way):
    if way == "all":
        target = works(words=(word, "hunter2"))
        recorder, path = record_all("--no-arguments", "--compression", "none")
        recorder.wait_for(path, lambda found: target.pid in pids(found), "the program")
        recorder.signal(signal.SIGINT)
        assert recorder.wait().code == 0
    else:
        path = tmp_path / "command.pyreel"
        ended = run_record("--no-arguments", "--compression", "none", "-o", path, "--", *python.prefix, *python.command, "-c", SHORT,
                           "hunter2")
        assert ended.code == 0, ended
    assert b"hunter2" not in path.read_bytes()
    assert whole(path)["processes"][0]["command"].endswith(" -c")


def test_sighup_reads_the_expressions_again(works, word, start_recorder, tmp_path):
    first, second = works(words=(f"{word}1",)), works(words=(f"{word}2",))
    path, expressions = tmp_path / "all.pyreel", tmp_path / "match"
    expressions.write_text(f"# those of today\n{word}1\n")
    recorder = start_recorder("--all", "--match", f"@{expressions}", "-o", path)
    recorder.wait_for(path, lambda found: pids(found) == {first.pid}, "the first program")
    expressions.write_text("(\n")
    recorder.signal(signal.SIGHUP)
    recorder.wait_for_message("--match (: ")
    expressions.write_text(f"{word}2")
    recorder.signal(signal.SIGHUP)
    recorder.wait_for_message("--match is read again")
    recorder.wait_for(path, lambda found: second.pid in pids(found), "the second program")
    recorder.signal(signal.SIGINT)
    assert recorder.wait().code == 0
    found = whole(path)
    rows = {process["pid"]: process for process in found["processes"]}
    assert set(rows) == {first.pid, second.pid}
    assert rows[first.pid]["fate"] == "running" and rows[first.pid]["end_s"] < found["duration_s"]
    check_account(found)


def test_users_and_cgroups(works, word, tmp_path):
    target = works()
    for options, fits in ((("--user", os.getuid()), True), (("--user", os.getuid() + 4321), False), (("--cgroup", "/"), True),
                          (("--cgroup", "/no/such/group"), False)):
        path = tmp_path / "chosen.pyreel"
        ended = run_record("--all", "--force", "--match", f"[{word[0]}]{word[1:]}", *options, "-d", "1", "-o", path)
        assert ended.code == 0, ended
        assert pids(whole(path)) == ({target.pid} if fits else set())
        assert fits or "no sample was taken" in ended.messages


def test_processes_of_others_are_a_line_once(works, word):
    """A Python that may not be read is told of; all the other processes of other users are not."""
    target = works()
    prefix = [*need_root(), need_command("setpriv"), f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    ended = run_record("--all", "--match", f"[{word[0]}]{word[1:]}", "-d", "1", "-o", "-", prefix=prefix, cwd="/")
    assert ended.code == 0, ended
    told = [line for line in ended.messages.splitlines() if "not permitted" in line]
    assert len(told) == 1 and f"process {target.pid}" in told[0], ended


@pytest.mark.parametrize("arguments, words", [
    (("--all", "-p", "1"), "neither a COMMAND nor -p PID"),
    (("--all", "--", "true"), "neither a COMMAND nor -p PID"),
    (("--match", "x", "--", "true"), "add --all"),
    (("--all", "--cgroup", "web"), "--cgroup"),
    (("--all", "--kill", "-d", "1"), "--kill needs a COMMAND"),
])
def test_what_does_not_go_together(arguments, words):
    ended = run_record(*arguments)
    assert ended.code == 2 and words in ended.messages, ended


@pytest.mark.parametrize("option, value, words", [
    ("--match", "(", "--match (: "),
    ("--match", "@/no/such/file", "cannot read the file"),
    ("--user", "no such user", "/etc/passwd has no such user"),
])
def test_what_cannot_be_chosen(option, value, words, tmp_path):
    path = tmp_path / "none.pyreel"
    ended = run_record("--all", option, value, "-o", path)
    assert ended.code == 125 and words in ended.messages, ended
    assert not path.exists()
