# SPDX-License-Identifier: MIT
"""Each command in the documents does what it is there for, and exits with 0: the EXAMPLES of man pages, the topics of pyreel, and
the blocks of code of README.md and docs/ that show no output. Blocks that show the output are sessions, see test_documents.py.

A command runs in a folder that has what the command names: recordings, a program app.py, its tests, a core file. In place of
process 4242 stands a program that ends soon, and so ends what records the program without a limit of time."""

import os
import re
import shlex
import shutil
import subprocess

import pytest

from environment import PROJECT, need_command, need_flamegraph, need_go, python_of
from live_view import LiveView
from test_documents import MARKDOWN, PROGRAMS, TOPICS, document, macro_text, read, relative

PATIENCE = 120  # seconds for one command
LIVES = (0.8, 5, 30)  # seconds of the program that a command looks at; the longer ones only where the shorter one was not enough

NOT_RUN = {
    r"--open|-http=": "opens a browser; test_firefox.py and test_flame_page.py",
    r"--upload|--delete": "sends to the network; test_share.py",
    r"^curl|curl --|^parca-push": "sends to a store of profiles; test_fleets.py",
    r"\bdocker|\bkubectl": "needs containers; test_permission.py has namespaces",
    r"\bsudo\b": "asks for the password of a user",
    r"\bssh host": "needs another machine",
    r"^\./quickstart|^meson|^packaging/|^tar ": "builds and installs; the test run itself began so, and test_installed.py and test_packaging.py",
    r"^tests/tools/make-p": "fetches Pythons, as the test run did at its start, and other profilers",
    r"tests/bench/|tests/oracle/|build/tests/": "takes minutes; test_bench.py runs each benchmark for a moment",
    r"\bdifffolded\.pl": "a program of another project that Debian does not have",
    r"\bpy-spy\b|\baustin\b|\bsamply\b|\bHZ\b": "other profilers, which are compared by hand",
}
# By what the machine did meanwhile. The message tells this from another failure.
MAY_EXIT = {r"--min-kept": (3, "--min-kept asks for"), r"--fail-over": (1, "Grew by more than")}

# What is in a document for a program that runs for hours, and here for one that runs for a second.
SHORTER = [
    (r"(?<![-.\w])4242\b|(?<= -p )PID\b", '"$PID"'),
    (r"-d 30\b", "-d 0.5"),
    (r"--from \S+ --to \S+", "--from 0.05 --to 0.15"),
]

APP = '''
import json, sys, threading, time

def count_words(text):
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    return counts

def fetch(seconds):
    time.sleep(seconds)

def main(seconds=0.4):
    end = time.monotonic() + seconds
    waiting = threading.Thread(target=fetch, args=(seconds,), name="fetch")
    waiting.start()
    print("ready", flush=True)
    while time.monotonic() < end:
        count_words("the quick brown fox " * 50)
        json.dumps(list(range(500)))
    waiting.join()

main(*map(float, sys.argv[1:]))
'''
SERVER = '''
import asyncio, sys

async def fetch():
    await asyncio.sleep(0.01)
    sum(range(20000))

async def serve(seconds=0.4):
    print("ready", flush=True)
    end = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < end:
        await asyncio.gather(*(asyncio.create_task(fetch(), name=f"fetch {n}") for n in range(3)))

asyncio.run(serve(*map(float, sys.argv[1:])))
'''
TESTS = '''
import time
import pytest

@pytest.fixture
def words():
    time.sleep(0.2)

def test_words(words):
    time.sleep(1)  # the limit of 1 % makes up for the cost of a start within about a second
'''
FILES = {"app.py": APP, "old/app.py": APP, "new/app.py": APP, "server.py": SERVER, "tests/test_app.py": TESTS}
RECORDINGS = ["app", "app-4242", "app-0001", "mixed", "before", "after", "old", "new", "a1", "a2", "b1", "b2", "base", "tests", "load", "load-0001", "shard-3",
              "shard-1/tests", "shard-2/tests"]


# ---- the commands ----

def is_complete(text):
    return subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True).returncode == 0 and not text.endswith("\\")


def split_commands(lines):
    """Commands of some lines each, such as a loop."""
    held = []
    for line in lines:
        held.append(line)
        text = "\n".join(held)
        if is_complete(text):
            if text.strip() and not text.startswith("#"):
                yield text
            held = []
    assert held == [], f"no whole command: {held}"


def commands_of_man(name):
    section = re.search(r"^\.SH EXAMPLES\n(.*?)^\.SH ", read("man", f"{name}.1"), re.M | re.S)[1]
    return [macro_text(line) for line in re.findall(r"^\.TP\n(.*)", section, re.M)]


def commands_of_topic(path):
    """Lines that are set back; the words of a table, three blanks away, are not of the command."""
    lines = re.findall(r"^    (.*)", read(path), re.M)
    return [found[1] for line in lines if (found := re.search(r"(?:^|   )(pyreel [a-z]+ \S.*?)(?=   |$)", line))]


def commands_of_markdown(path):
    lines = read(path).split("\n")
    return [command for block in document.blocks_of(lines) if block.language in ("", "sh") for command in split_commands(lines[block.begin:block.end])]


PAGES = [path for path in MARKDOWN if os.path.dirname(relative(path)) in ("", "docs", "docs/cookbook")]
DOCUMENTS = {**{f"{name}.1": commands_of_man(name) for name in PROGRAMS},
             **{os.path.basename(path): found for path in TOPICS if (found := commands_of_topic(path))},
             **{relative(path): found for path in PAGES if (found := commands_of_markdown(path))}}


# ---- running them ----

@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """A folder with all that commands name."""
    with document.Session() as session:
        for name in ("shard-1", "shard-2", "spool", "old", "new", "tests"):
            os.mkdir(os.path.join(session.folder, name))
        for path, text in FILES.items():
            with open(os.path.join(session.folder, path), "w") as file:
                file.write(text)
        os.symlink(os.path.join(PROJECT, "ci"), os.path.join(session.folder, "ci"))
        texts = [f"pyreel-record -q --disturb 100 -o {name}.pyreel -- python3 app.py 0.15 >/dev/null" for name in RECORDINGS]
        texts += [f"pyreel-pprof {name}.pyreel; pyreel-tachyon {name}.pyreel" for name in ("app-4242", "mixed")]
        texts += [f"pyreel-collapsed {name}.pyreel > {name}.txt" for name in ("before", "after")]
        texts += ["cp app-4242.pyreel.bin profile.bin"]
        results = session.run(texts, PATIENCE)
        assert results[-1].status == 0, results[-1]
        return shutil.copytree(session.folder, tmp_path_factory.mktemp("stage") / "home", symlinks=True)


@pytest.fixture
def session(stage):
    with document.Session() as session:
        shutil.copytree(stage, session.folder, dirs_exist_ok=True, symlinks=True)
        yield session


def why_not(command):
    return next((reason for pattern, reason in NOT_RUN.items() if re.search(pattern, command)), None)


def need(commands, session):
    """What commands need of this machine."""
    text = "\n".join(commands)
    if re.search(r"^go |; go |&& go ", text, re.M):
        need_go()
    if "flamegraph.pl" in text:
        os.symlink(need_flamegraph(), os.path.join(session.bin, "flamegraph.pl"))
    if "| jq" in text:
        need_command("jq")
    if "--core" in text:
        need_command("gcore")
        made = session.run(["python3 app.py 60 >ready & until [ -s ready ]; do sleep 0.1; done", "gcore -o core $! >/dev/null; mv core.$! core",
                            "cp core core.4242; ln -s ~/../bin/python3 python3.13"], PATIENCE)
        assert made[-1].status == 0, made
    versions = set(re.findall(r"^python(3\.\d+)", text, re.M))
    for version in versions | {"3.14"} if "--async" in text else versions:
        python_of(version)


def shorter(command):
    for pattern, text in SHORTER:
        command = re.sub(pattern, text, command)
    return re.sub(r"-- python3(?= server)", "-- python3.14", command)


def with_program(command, seconds):
    """A command, with a program that it can look at."""
    program = "python3.14 server.py" if "--async" in command else "python3 app.py"
    return (f"export GITHUB_STEP_SUMMARY=summary.md; rm -f ready; {program} {seconds} >ready & PID=$!; until [ -s ready ]; do sleep 0.02; done\n"
            f"{command}\nsession_code=$?; kill $PID 2>/dev/null; (exit $session_code)")


def run_at_terminal(session, command):
    variables = {**session.variables(), "TERM": "linux"}
    view = LiveView("bash", "-c", f"cd {shlex.quote(session.folder)}; {command}", environment=variables)
    try:
        view.see("complete: ")
        code = view.quit()
        return document.Ran(code, str(view), 0)
    finally:
        view.close()


def is_good(command, ran):
    rows = [row for pattern, row in MAY_EXIT.items() if re.search(pattern, command)]
    return ran.status == 0 or any(ran.status == code and message in ran.output for code, message in rows)


def run(session, command):
    """How it ended, as a document.Ran, and whether that is good."""
    for seconds in LIVES:
        text = with_program(shorter(command), seconds) if re.search(r"4242|PID", command) else f"export GITHUB_STEP_SUMMARY=summary.md; {shorter(command)}"
        if re.match(r"pyreel[- ]top (?!.*--batch)", command):
            ran = run_at_terminal(session, text)
        else:
            ran, = session.run([text], PATIENCE)
        if is_good(command, ran):
            break
    return ran, is_good(command, ran)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands_run(session, name):
    commands = [command for command in DOCUMENTS[name] if not why_not(command)]
    need(commands, session)
    failed = []
    for command in commands:
        ran, good = run(session, command)
        if not good:
            failed.append(f"$ {command}\n{ran.output[-1500:]}exit code {ran.status}")
    assert failed == [], "\n\n".join(failed)


@pytest.mark.parametrize("arguments", ["pyreel-diff --fail-over 5% {0} {0}/none", "pyreel-info --min-kept 95% {0}/none"])
def test_a_failure_is_no_finding(tmp_path, arguments):
    """An exit code that a command may have does not hide that its recording is missing."""
    with document.Session() as session:
        ran, good = run(session, arguments.format(tmp_path))
    assert not good and "pyreel-" in ran.output


def test_reasons_are_needed():
    """Each row of NOT_RUN and SHORTER is about a command that stands somewhere."""
    commands = [command for found in DOCUMENTS.values() for command in found]
    for pattern in [*NOT_RUN, *(pattern for pattern, _ in SHORTER), *MAY_EXIT]:
        assert any(re.search(pattern, command) for command in commands), pattern


def test_most_commands_run():
    commands = [command for found in DOCUMENTS.values() for command in found]
    assert sum(not why_not(command) for command in commands) > len(commands) / 2
