# SPDX-License-Identifier: MIT
"""Each command in the documents does what it is there for, and exits with 0: the EXAMPLES of man pages, the topics of pyreel, and
the blocks of code of README.md and docs/ that show no output, and the table of commands in README.md. Blocks that show the output
are sessions, see test_documents.py.

A command runs in a folder that has what the command names: recordings, a program app.py, its tests, a core file. In place of
process 4242 stands a program that runs until the command has ended. Programs of commands end when they have computed so much,
by their own clock, and a recording without an end gets one: see SHORTER."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess

import pytest

from environment import PROJECT, missing, need_command, need_flamegraph, need_go, pythons
from live_view import LiveView
from test_documents import MARKDOWN, PROGRAMS, TOPICS, document, macro_text, read, relative

PATIENCE = 300  # seconds for one command

NOT_RUN = {
    r"--open|-http=": "opens a browser; test_show.py and test_flame_page.py",
    r"--upload|--delete": "sends to the network; test_share.py",
    r"^curl|curl --|^parca-push": "sends to a store of profiles; test_fleets.py",
    r"\bdocker|\bkubectl|^kind |^skopeo ": "needs containers; test_permission.py has namespaces",
    r"\bsudo\b": "asks for the password of a user",
    r"\bssh host": "needs another machine",
    r"^systemctl|^otelcol": "needs a machine that systemd runs, and a Collector; test_fleet.py",
    r"--span [0-9a-f]{32}": "needs a program that publishes its spans; test_spans_shown.py",
    r"^\./quickstart|^meson|^packaging/|^tar ": "builds and installs; the test run itself began so, and test_installed.py and test_packaging.py",
    r"^tests/tools/make-p": "fetches Pythons, as the test run did at its start, and other profilers",
    r"tests/bench/|tests/oracle/|build/tests/": "takes minutes; test_bench.py runs those in C for a moment",
    r"\bdifffolded\.pl": "a program of another project that Debian does not have",
    r"\bpy-spy\b|\baustin\b|\bsamply\b|\bHZ\b": "other profilers, which are compared by hand",
}
# By what the machine did meanwhile. The message tells this from another failure.
MAY_EXIT = {r"--min-kept": (3, "--min-kept asks for"), r"--fail-over": (1, "Grew by more than"), r"pyreel.record .*-- ": (1, "no Python was seen")}

# What is in a document for a program that runs for hours, and here for one that runs for a second; recordings of which none is a copy.
SHORTER = [
    (r"(?<![-.\w])4242\b|(?<= -p )PID\b", '"$PID"'),
    (r"-d 30\b", "-d 1"),
    (r"(?<=pyreel.record )(?=(?!.* -d )[^|]*-p )", "-d 1 "),
    (r"-- (?=(python3 -m )?pytest )", "--disturb 100 -- "),  # at 1 % the start of pytest alone takes what a second allows
    (r"-n 4", "-n 2"),
    (r"--batch 3", "--batch 1"),
    (r" \*\.pyreel", " [ab]?.pyreel"),
    (r"--from \S+ --to \S+", "--from 10% --to 90%"),
]

APP = '''
import json, sys, threading, time

def count_words(text):
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    return counts

def fetch(answer):
    answer.wait()

def main(seconds=0.2):
    answer = threading.Event()
    waiting = threading.Thread(target=fetch, args=(answer,), name="fetch", daemon=True)
    waiting.start()
    print("ready", flush=True)
    while time.thread_time() < seconds:
        count_words("the quick brown fox " * 50)
        json.dumps(list(range(500)))
    answer.set()
    waiting.join()

main(*map(float, sys.argv[1:]))
'''
SERVER = '''
import asyncio, sys

async def fetch():
    await asyncio.sleep(0.01)
    sum(range(20000))

async def serve(rounds=20):
    print("ready", flush=True)
    for _ in range(int(rounds)):
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
    time.sleep(0.2)
'''
FILES = {"app.py": APP, "old/app.py": APP, "new/app.py": APP, "server.py": SERVER, "tests/test_app.py": TESTS}
# Names that no command names together are of the same recording.
RECORDINGS = {"app": ["a1"], "app-4242": ["mixed", "before", "old", "a2", "base", "load", "shard-1/tests"],
              "app-0001": ["after", "new", "b1", "tests", "load-0001", "shard-2/tests"], "shard-3": ["b2"]}


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
    """Those of blocks, and those of pyreel in tables whose first column is `command`."""
    lines = read(path).split("\n")
    blocks = [lines[block.begin:block.end] for block in document.blocks_of(lines) if block.language in ("", "sh")]
    tables = re.findall(r"^\| command \|.*\n((?:\|.*\n)+)", read(path), re.M)
    return [command for block in blocks for command in split_commands(block)] + re.findall(r"^\| `(pyreel-[^`]+)`", "".join(tables), re.M)


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
        texts = [f"pyreel-record -q --disturb 30 -o {made}.pyreel -- python3 app.py >/dev/null" for made in RECORDINGS]
        texts += [f"cp {made}.pyreel {name}.pyreel" for made, names in RECORDINGS.items() for name in names]
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
    if "pytest" in text and not importlib.util.find_spec("xdist"):
        missing("python3-pytest-xdist")
    if "| jq" in text:
        need_command("jq")
    if "--core" in text:
        need_command("gcore")
        made = session.run(["python3 app.py 60 >ready & until [ -s ready ]; do command sleep 0.1; done", "gcore -o core $! >/dev/null; mv core.$! core",
                            "cp core core.4242; ln -s ~/../bin/python3 python3.13"], PATIENCE)
        assert made[-1].status == 0, made


def has_python(command):
    """Whether the Python that a command names, or that has what the command shows, is here."""
    versions = re.findall(r"\bpython(3\.\d+) ", command) + ["3.14"] * ("--async" in command)
    return all(any(python.version == version and not python.own for python in pythons()) for version in versions)


def shorter(command):
    for pattern, text in SHORTER:
        command = re.sub(pattern, text, command)
    return re.sub(r"-- python3(?= server)", "-- python3.14", command)


def with_program(command):
    """A command, with a program that it can look at."""
    program = "python3.14 server.py" if "--async" in command else "python3 app.py"
    return (f"rm -f ready; {program} 1e9 >ready & PID=$!; until [ -s ready ]; do command sleep 0.02; done\n"
            f"{command}\nsession_code=$?; kill $PID; (exit $session_code)")


def run_at_terminal(session, command):
    variables = {**session.variables(), "TERM": "linux"}
    view = LiveView("bash", "-c", f"cd {shlex.quote(session.folder)}; {command}", environment=variables)
    try:
        view.see(r"[1-9]\d* samples" if "$PID" in command else "complete: ")
        code = view.quit()
        return document.Ran(code, str(view), 0)
    finally:
        view.close()


def is_good(command, ran):
    rows = [row for pattern, row in MAY_EXIT.items() if re.search(pattern, command)]
    return ran.status == 0 or any(ran.status == code and message in ran.output for code, message in rows)


def run(session, command):
    """How it ended, as a document.Ran, and whether that is good."""
    text = shorter(command)
    if '"$PID"' in text:
        text = with_program(text)
    text = f"export GITHUB_STEP_SUMMARY=summary.md; {text}"
    if re.match(r"pyreel[- ]top (?!.*--batch)", command):
        ran = run_at_terminal(session, text)
    else:
        ran, = session.run([text], PATIENCE)
    return ran, is_good(command, ran)


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.short] * (name == "README.md")) for name in DOCUMENTS])
def test_commands_run(session, name):
    commands = [command for command in DOCUMENTS[name] if not why_not(command)]
    need(commands, session)
    failed, left_out = [], [command for command in commands if not has_python(command)]
    for command in commands:
        if command in left_out:
            continue
        ran, good = run(session, command)
        if not good:
            failed.append(f"$ {command}\n{ran.output[-1500:]}exit code {ran.status}")
    assert failed == [], "\n\n".join(failed)
    if left_out:
        missing(f"all others ran, but there is no Python for: {'; '.join(left_out)}")


def test_reasons_are_needed():
    """Each row of NOT_RUN and SHORTER is about a command that stands somewhere."""
    commands = [command for found in DOCUMENTS.values() for command in found]
    for pattern in [*NOT_RUN, *(pattern for pattern, _ in SHORTER), *MAY_EXIT]:
        assert any(re.search(pattern, command) for command in commands), pattern


def test_most_commands_run():
    commands = [command for found in DOCUMENTS.values() for command in found]
    assert sum(not why_not(command) for command in commands) > len(commands) / 2
