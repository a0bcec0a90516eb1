# SPDX-License-Identifier: MIT
"""The sessions in a document: blocks of code with the language `console`, in which a line that begins with "$ " is a command,
lines that begin with "> " continue the command, and all other lines are its output.

All commands of a document run in one bash, in a fresh folder. run-document compares what they print with what the document
shows, and writes new outputs into the document; tests/e2e/docs/test_documents.py runs all documents."""

import contextlib
import dataclasses
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

TOOLS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(TOOLS), "e2e"))
import environment  # noqa: E402  it knows our programs and the Pythons of this machine

FENCE = re.compile(r"```(\w*)$")
CUT = "..."  # a line of an output: here the document leaves lines out
DAY = "2026-11-26"  # of all recordings that a document shows
FIRST_PID = 4242
HOST = "vm"


# ---- what stands in a document ----

@dataclasses.dataclass
class Command:
    line: int  # where it begins, from 1
    text: str
    begin: int  # its output in the lines of the document, from 0
    end: int
    shown: list  # the lines of its output
    varies: list  # a line that has one of these texts is not compared


@dataclasses.dataclass
class Block:
    language: str
    begin: int  # its lines in the lines of the document, from 0
    end: int
    varies: list


def blocks_of(lines):
    """The blocks of code. What varies in a block stands in a comment somewhere above it: <!-- varies: surely, grew -->"""
    begin, language, varies = None, None, []
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if begin is not None and line == "```":
            yield Block(language, begin, number, varies)
            begin, varies = None, []
        elif begin is None and fence:
            begin, language = number + 1, fence[1]
        elif begin is None and (comment := re.match(r"<!-- varies: (.*) -->$", line)):
            varies = comment[1].split(", ")


def commands_of(lines):
    """The commands in blocks `console`."""
    for block in blocks_of(lines):
        if block.language != "console":
            continue
        starts = [number for number in range(block.begin, block.end) if lines[number].startswith("$ ")]
        if not starts or starts[0] != block.begin:
            raise ValueError(f"line {block.begin + 1}: a block 'console' begins with '$ ' and a command")
        for start, end in zip(starts, starts[1:] + [block.end]):
            output = start + 1
            while output < end and (lines[output] == ">" or lines[output].startswith("> ")):
                output += 1
            text = "\n".join(line[2:] for line in lines[start:output])
            yield Command(start + 1, text, output, end, lines[output:end], block.varies)


# ---- the session ----

@dataclasses.dataclass
class Ran:
    status: int  # None: the command did not end, or ended the shell
    output: str
    seconds: float


# eval keeps what a command does to the shell: its folder, its variables, what runs in the background. A pipe fails with any of
# its commands, but not when `head` has read enough (141: SIGPIPE). In `python3 app.py & sleep 1`, the sleep lasts until another
# Python, which began a second later, has started, too: on a busy machine that takes its time.
SHELL = """
sleep() { command sleep "$1" && python3 -c 'import asyncio, http.server, multiprocessing'; }
set -o pipefail
session_number=0
for session_command; do
    session_begin=${EPOCHREALTIME/./}
    eval "$session_command" >"$SESSION_RESULTS/$session_number.output" 2>&1 </dev/null
    session_status=$?
    ((session_status != 141)) || session_status=0
    echo "$session_status $((${EPOCHREALTIME/./} - session_begin))" >"$SESSION_RESULTS/$session_number.status"
    ((session_status == 0)) || break
    ((++session_number))
done
"""


class Session:
    """A folder that is also the home of the user, with examples/ in it and all programs of pyreel and Pythons in PATH."""

    def __init__(self):
        if not os.path.exists(environment.RECORD):
            sys.exit(f"run-document: no {environment.RECORD}: build pyreel, or name the build folder with PYREEL_BUILD")
        self.made = tempfile.TemporaryDirectory(prefix="pyreel-document-")  # also removed when what follows fails
        self.top = self.made.name
        self.folder, self.bin, self.results = (os.path.join(self.top, name) for name in ("home", "bin", "results"))
        for path in (self.folder, self.bin, self.results):
            os.mkdir(path)
        shutil.copytree(os.path.join(environment.PROJECT, "examples"), os.path.join(self.folder, "examples"))
        for name, path in {"pyreel": environment.PYREEL, **environment.built_programs()}.items():
            os.symlink(path, os.path.join(self.bin, name))
        self.stopped = ""  # why the last command has no exit code
        self._add_pythons()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.made.cleanup()

    def _add_pythons(self):
        """python3 is the Python that runs us. python3.14 and others may be anywhere, also in a root folder."""
        os.symlink(os.path.realpath(sys.executable), os.path.join(self.bin, "python3"))
        for python in environment.pythons():
            path = os.path.join(self.bin, f"python{python.version}")
            if not (python.root or python.own or os.path.lexists(path)):
                os.symlink(python.command[0], path)
        subprocess.run([os.path.join(TOOLS, "name-pythons"), self.bin], check=True,
                       env={**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "PYREEL_TEST_CACHE": environment.CACHE})

    def run(self, texts, seconds):
        """Runs commands, one after the other, up to the first one that fails or to the end of the time."""
        for name in os.listdir(self.results):
            os.remove(os.path.join(self.results, name))
        shell = subprocess.Popen(["bash", "--norc", "--noprofile", "-c", SHELL, "bash", *texts], cwd=self.folder, env=self.variables(),
                                 stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            shell.wait(seconds)
            self.stopped = "ended the shell"
        except subprocess.TimeoutExpired:
            self.stopped = f"not ended after {seconds:.0f} s of the document"
        finally:
            with contextlib.suppress(ProcessLookupError):  # what runs in the background, too
                os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
        return [ran for number in range(len(texts)) if (ran := self._result(number))]

    def variables(self):
        """The environment of the commands."""
        variables = {**os.environ, "HOME": self.folder, "PATH": f"{self.bin}:{os.environ['PATH']}", "SESSION_RESULTS": self.results,
                     "PYREEL_TEST_CACHE": environment.CACHE, "PYTHONDONTWRITEBYTECODE": "1", "TERM": "dumb", "PAGER": "cat",
                     "LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "80", "MANWIDTH": "80"}
        for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
            variables.pop(name, None)
        return variables

    def _result(self, number):
        path = os.path.join(self.results, f"{number}.output")
        if not os.path.exists(path):
            return None  # the command before it failed
        with open(path, errors="backslashreplace") as file:
            output = file.read()
        try:
            with open(os.path.join(self.results, f"{number}.status")) as file:
                status, microseconds = map(int, file.read().split())
        except FileNotFoundError:
            return Ran(None, output, 0)
        return Ran(status, output, microseconds / 1e6)

    def functions(self):
        """The names of functions and classes in all Python files of the folder."""
        found = set()
        for folder, _, names in os.walk(self.folder):
            for name in names:
                if name.endswith(".py"):
                    with open(os.path.join(folder, name), errors="replace") as file:
                        found |= defined_in(file.read())
        return found


def defined_in(text):
    return set(re.findall(r"\b(?:def|class) +(\w+)", text))


# ---- an output without this machine ----

class Neutral:
    """Takes the machine out of the outputs of a session: folders, the host, days, numbers of processes and threads."""

    def __init__(self, session):
        self.session = session
        self.pids = {}  # {a number: what the document shows for it}

    def lines(self, output):
        """The lines of a document for an output."""
        output = output.replace(f"{self.session.bin}/", "").replace(self.session.folder, "~")
        output = re.sub(rf"\b{re.escape(socket.gethostname())}\b", HOST, output)
        output = re.sub(r"\b20\d\d-\d\d-\d\d(?=[T ]\d\d:\d\d)", DAY, output)
        output = re.sub(r"(?<=\d-\d\d[T ])\d\d:\d\d(:\d\d)?", lambda match: "12:00:00"[:len(match[0])], output)
        lines = [line.rstrip() for line in output.expandtabs().splitlines() if not re.match(r"bash: line \d+: +\d+ (Terminated|Killed) ", line)]
        lines = self._columns(lines)
        return [re.sub(r"(\b(?:[Pp]id|[Pp]rocess|tid|Thread)\W{1,3}|(?<=-))([1-9]\d+)(?=\b(?!\.\d)(?:\.pyreel|\D|$))", self._context, line) for line in lines]

    def _context(self, match):
        if not match[1] and not match.string[match.end():].startswith(".pyreel"):
            return match[0]
        return match[1] + self._pid(match[2])

    def _columns(self, lines):
        """A column `pid`, `parent` or `tid` of a table ends where its heading ends."""
        ends, found = [], []
        for line in lines:
            headings = [match.end() for match in re.finditer(r"(?:^| )(?:pid|parent|tid)(?= |$)", line)]
            if headings and not re.search(r"\d", line):
                ends = headings
            elif not line:
                ends = []
            for end in ends:
                number = re.search(r"(?:^| )(\d+)$", line[:end])
                if number:
                    width = max(end - number.start(1), 1)
                    line = line[:number.start(1)] + self._pid(number[1]).rjust(width)[-max(width, len(str(FIRST_PID))):] + line[end:]
            found.append(line)
        return found

    def _pid(self, number):
        return self.pids.setdefault(number, number if number in self.pids.values() else str(FIRST_PID + len(self.pids)))

    def left(self, lines):
        """A folder of this machine that is still there, or None."""
        for path in (self.session.top, environment.PROJECT, environment.BUILD, environment.CACHE, os.path.expanduser("~") + "/"):
            if path in "\n".join(lines):
                return path
        return None


def cut(lines, shown):
    """Cuts an output as the one in the document is cut: as many lines before the line `...` and behind it."""
    if CUT not in shown:
        return lines
    head = shown.index(CUT)
    tail = len(shown) - head - 1
    return lines if head + tail >= len(lines) else [*lines[:head], CUT, *lines[len(lines) - tail:]]


# ---- is the output still so? ----

WORD = re.compile(r"(?<![\w.])(?:[^\W\d][\w]*(?:[.-]\w+)*|<\w[^<>\n]*>)")
NUMBER = re.compile(r"(?<!\w)[-+]?\.?\d")
LABEL = re.compile(r"""\s*["'(]?([^\W\d][^:\d]*?)["']?(?:\s{2,}|:)""")


def words_of(text):
    return WORD.findall(text)


def stands_in(words, all_words):
    """Whether words stand, one behind the other, among others."""
    return not words or f" {' '.join(words)} " in f" {' '.join(all_words)} "


def compared(command):
    """The lines that the document shows and that have to come again."""
    return [line for line in command.shown if line.strip() != CUT and not any(text in line for text in command.varies)]


def missing_of(command, real):
    """What the document shows and an output no longer has: an exit code, whole lines without numbers, labels."""
    all_words, shown = words_of("\n".join(real)), compared(command)
    if re.search(r"echo [^;|&]*\$\?", command.text) and shown[-1:] == command.shown[-1:] != real[-1:]:
        yield f"the exit code: {command.shown[-1:]}, and now {real[-1:]}"
    for line in shown:
        if not NUMBER.search(line):
            if not stands_in(words_of(line), all_words):
                yield f"the line '{line.strip()}'"
            continue
        label = LABEL.match(line)
        if label and not stands_in(words_of(label[1]), all_words):
            yield f"the label '{label[1]}'"


def names_in(lines, functions):
    return {part for word in words_of("\n".join(lines)) for part in re.split(r"\W", word)} & functions


@dataclasses.dataclass
class Problem:
    line: int
    text: str
    stops: bool  # the document can't be updated

    def __str__(self):
        return f"{self.line}: {self.text}"


def check(lines, seconds, tell=None):
    """Runs the commands of a document: ([Problem], [(Command, lines of its output)], seconds)."""
    commands = list(commands_of(lines))
    problems, outputs = [], []
    with Session() as session:
        neutral = Neutral(session)
        results = session.run([command.text for command in commands], seconds)
        functions = session.functions() | set().union(*(defined_in(command.text) for command in commands))
        for command, ran in zip(commands, results):
            output = neutral.lines(ran.output)
            outputs.append((command, output))
            if tell:
                tell(command, ran, output)
            if ran.status != 0:
                how = f"exit code {ran.status}" if ran.status is not None else session.stopped
                problems.append(Problem(command.line, "\n    ".join([f"{how}: {command.text}", *output[-40:]]), True))
            elif path := neutral.left(cut(output, command.shown)):
                problems.append(Problem(command.line, f"the output has the folder {path}: {command.text}", True))
            elif missing := list(missing_of(command, output)):
                problems.append(Problem(command.line, "\n    ".join([f"no longer printed: {', '.join(missing)}", f"$ {command.text}", *output]), False))
    # Which functions are among the hottest three of one table is a matter of chance, what the document is about is not.
    shown = names_in([line for command, _ in outputs for line in compared(command) if NUMBER.search(line)], functions)
    lost = shown - names_in([line for _, output in outputs for line in output], functions)
    if 2 * len(lost) > len(shown):
        problems.append(Problem(1, f"of {len(shown)} names of functions these are nowhere now: {', '.join(sorted(lost))}", False))
    return problems, outputs, sum(ran.seconds for ran in results)


def updated(lines, outputs):
    """The lines of a document with other outputs."""
    lines = list(lines)
    for command, output in reversed(outputs):
        lines[command.begin:command.end] = cut(output, command.shown)
    return lines
