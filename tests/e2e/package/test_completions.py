# SPDX-License-Identifier: MIT
"""What bash, zsh and fish complete of the command line of each program. Bash and zsh run in a terminal, and get a tab key."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from environment import BUILD, PROJECT, PYREEL, RECORD, built_programs, need_command
from recording import PATIENCE

sys.path.insert(0, os.path.join(PROJECT, "completions"))
import make  # noqa: E402  it reads --help

FOLDER = os.path.join(BUILD, "completions")
PROGRAMS = list(built_programs().values())
PATH = os.pathsep.join([os.environ["PATH"], *sorted({os.path.dirname(program) for program in (PYREEL, *PROGRAMS)})])
OTHER = "pyreel-hello"  # a program of others, in PATH
READY = "shell-is-ready"

BASH = f"""
bind 'set completion-query-items 0'; bind 'set page-completions off'; bind 'set show-all-if-ambiguous on'
bind 'set enable-bracketed-paste off'; bind 'set colored-stats off'
for file in {FOLDER}/pyreel*; do [[ $file == *.fish ]] || source $file; done
"""
ZSH = f"""
fpath=({FOLDER} $fpath); autoload -Uz compinit; compinit -D -u; LISTMAX=1000; setopt no_list_ambiguous; unset zle_bracketed_paste; unsetopt beep prompt_cr
"""
COMMANDS = {"bash": (["bash", "--norc", "--noprofile", "-i"], BASH), "zsh": (["zsh", "-f", "-i"], ZSH)}


class Shell:
    """An interactive shell in a terminal of 200 columns and 200 lines, in the folder `folder`."""

    def __init__(self, name, folder):
        need_command(name)
        command, settings = COMMANDS[name]
        self.name = name
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(TERM="dumb", LC_ALL="C.UTF-8", PS1="", HISTFILE="", PATH=f"{PATH}:{folder}/tools")
            os.execvp(command[0], command)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 200, 0, 0))
        self.write(f"{settings.strip()}\nprintf 'shell-%s\\n' is-ready\n")
        self.read_until(READY)

    def write(self, text):
        os.write(self.terminal, text.encode())

    def read_until(self, *wanted):
        """What the shell prints up to the moment at which all that is wanted was there."""
        text, deadline = "", time.monotonic() + PATIENCE
        while not all(part in text for part in wanted):
            absent = [part for part in wanted if part not in text]
            assert select.select([self.terminal], [], [], max(0, deadline - time.monotonic()))[0], f"no {absent} in: {text}"
            text += os.read(self.terminal, 65536).decode(errors="replace")
        return text

    def complete(self, line, *wanted):
        """What the shell shows for `line` and a tab; then the line is given up."""
        self.write(line + "\t")
        text = self.read_until(*wanted)
        self.write("\x15printf 'shell-%s\\n' is-ready\n")
        text += self.read_until(READY)
        return text

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


@pytest.fixture(scope="module", params=["bash", "zsh"])
def shell(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("folder")
    (folder / "first.pyreel").write_text("")
    (folder / "second one.pyreel").write_text("")
    (folder / "other.txt").write_text("")
    (folder / "recordings").mkdir()
    (folder / "tools").mkdir()
    (folder / "tools" / OTHER).write_text("#!/bin/sh\n")
    (folder / "tools" / OTHER).chmod(0o755)
    found = Shell(request.param, folder)
    yield found
    found.close()


def name_of(program):
    return os.path.basename(program)


def options_of(program):
    """The long names in its help."""
    return {f"--{option.name}" for option in make.Program(program).options}


@pytest.fixture(scope="module")
def fish(tmp_path_factory):
    """fish(line, ...): {word: description} for each line, of what fish completes in an empty folder. Fish asks no completions of
    commands that it does not find."""
    need_command("fish")
    folder = tmp_path_factory.mktemp("empty")
    script = f"set -p fish_complete_path {FOLDER}; for line in $argv; complete -C $line; echo END; end"

    def complete(*lines):
        answer = subprocess.run(["fish", "--no-config", "-c", script, *lines], capture_output=True, text=True, timeout=PATIENCE,
                                cwd=folder, env={**os.environ, "PATH": PATH})
        assert answer.returncode == 0 and answer.stderr == ""
        found = [dict(row.partition("\t")[::2] for row in part.splitlines()) for part in answer.stdout.split("END\n")[:-1]]
        assert len(found) == len(lines)
        return found if len(lines) > 1 else found[0]

    return complete


@pytest.fixture(scope="module")
def processes():
    """(pid of a Python, pid of a program that is none). Zsh would put Pythons with the same command, of another test run, in
    one line."""
    python = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep(600)  # {os.getpid()}", "\x1b]0;title\x07"])
    other = subprocess.Popen(["sleep", "600"])
    yield str(python.pid), str(other.pid)
    for child in (python, other):
        child.kill()
        child.wait()


@pytest.mark.short
def test_every_program_has_completions():
    assert len(PROGRAMS) > 10
    for name in map(name_of, (PYREEL, *PROGRAMS)):
        assert all(os.path.getsize(os.path.join(FOLDER, file)) > 0 for file in (name, f"_{name}", f"{name}.fish"))


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_options_in_a_terminal(shell, program):
    options = options_of(program)
    assert len(options) >= 7
    shown = shell.complete(f"{name_of(program)} --", *options)
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", shown)) == options


@pytest.mark.short
@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_options_in_fish(fish, program):
    # Options whose value may be left out stand there with and without the sign.
    assert {row.rstrip("=") for row in fish(f"{name_of(program)} --")} == options_of(program)


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_words_are_accepted(fish, program):
    """Each word that completes the value of an option is a value of that option."""
    proposed = 0
    options = sorted(options_of(program))
    for option, rows in zip(options, fish(*[f"{name_of(program)} {option}=" for option in options])):
        for row in rows:
            word = row.partition("=")[2]
            if not word or word.isdigit():  # of a process
                continue
            answer = subprocess.run([program, f"{option}={word}"], capture_output=True, text=True, timeout=PATIENCE, cwd="/")
            assert "invalid value" not in answer.stderr and "doesn't allow" not in answer.stderr, f"{option}={word}"
            proposed += 1
    assert proposed > 0 or name_of(program) in ("pyreel-dump", "pyreel-info")


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_values_of_each_option(shell, program):
    """The words of a choice, or the first word of a list, stand in --help and nowhere else."""
    for option in make.Program(program).options:
        if option.choice or option.list:
            shell.complete(f"{name_of(program)} --{option.name}{'=' if option.joined else ' '}", *(option.choice or option.list))


@pytest.mark.short
def test_values(shell):
    assert "exception" in shell.complete("pyreel-record --mode ", "wall", "cpu", "gil", "exception")
    shell.complete("pyreel-record -m e", "exception")
    shell.complete("pyreel-record --mode=c", "--mode=cpu")
    shell.complete("pyreel-collapsed --roots thread,pr", "thread,process")
    shell.complete("pyreel-gecko --opcodes=f", "--opcodes=frames")


@pytest.mark.parametrize("line", ["pyreel-record -p ", "pyreel-record --pid ", "pyreel-dump ", "pyreel-dump -p ", "pyreel record -p ", "pyreel dump "])
def test_processes(shell, fish, processes, line):
    """Those that run Python. Zsh and fish show their commands, and nothing of them is a command to the terminal."""
    python, other = processes
    shown = shell.complete(line, python)
    described = fish(line)
    assert other not in described and not re.search(rf"^{other}\b" if shell.name == "zsh" else rf"\b{other}\b", shown, re.M)
    assert "time.sleep(600)" in described[python] and "\x1b" not in described[python]
    assert "\x1b]0;" not in shown
    assert shell.name == "bash" or re.search(rf"^{python} +-- .*time.sleep\(600\)", shown, re.M)


def test_files(shell):
    """Recordings come first; the value of --output is any file; the recorder starts commands."""
    shown = shell.complete("pyreel-pprof ", "first.pyreel", "recordings/")
    assert "other.txt" not in shown
    shell.complete("pyreel-pprof o", "other.txt")
    shell.complete("pyreel-pprof s", "second\\ one.pyreel")
    shell.complete("pyreel-pprof --output oth", "other.txt")
    shell.complete("pyreel-record -o oth", "other.txt")
    shell.complete("pyreel-dump --core oth", "other.txt")
    shell.complete("pyreel-record -d 3 -- sha256", "sha256sum")
    shell.complete("pyreel-record --mode=cpu cat oth", "cat other.txt")


@pytest.mark.short
def test_verbs(shell):
    """pyreel knows its verbs, those of tools, and topics; the rest is what the program of the verb completes."""
    pyreel = make.Program(PYREEL)
    assert len(pyreel.verbs) > 10 and len(pyreel.topics) > 5
    shown = shell.complete("pyreel ", *pyreel.verbs, "hello")
    assert "truth" not in shown and "other.txt" not in shown
    shell.complete("pyreel help ", *pyreel.verbs, *pyreel.topics)
    shell.complete("pyreel help tru", "pyreel help truth")
    shell.complete("pyreel speeds", "pyreel speedscope")
    shell.complete("pyreel --v", "--version")
    shell.complete("pyreel record --", *options_of(RECORD))
    shell.complete("pyreel record --mode e", "exception")
    shell.complete("pyreel record --mode=c", "--mode=cpu")
    shell.complete("pyreel gecko --opcodes=f", "--opcodes=frames")
    assert "other.txt" not in shell.complete("pyreel report ", "first.pyreel", "recordings/")
    shell.complete("pyreel report -o x s", "second\\ one.pyreel")
    shell.complete("pyreel record --mode=cpu cat oth", "cat other.txt")
    shell.complete("pyreel record sha256", "sha256sum")
    shell.complete("pyreel hello oth", "other.txt")


def test_verbs_in_fish(fish, tmp_path):
    pyreel = make.Program(PYREEL)
    assert set(pyreel.verbs.items()) <= set(fish("pyreel ").items())
    assert {*pyreel.verbs, *pyreel.topics} == set(fish("pyreel help "))
    assert fish("pyreel help ci ") == {}
    assert {row.rstrip("=") for row in fish("pyreel record --")} == options_of(RECORD)
    assert set(fish("pyreel record --mode ")) == {"wall", "cpu", "gil", "exception"}
    (tmp_path / "first.pyreel").write_text("")
    for program in ("pyreel report", "pyreel-report"):
        assert fish(f"{program} --json {tmp_path}/f") .keys() == {f"{tmp_path}/first.pyreel"}
    assert "sha256sum" in fish("pyreel record -d 3 -- sha256")
    assert set(fish("pyreel --")) == {"--help", "--version"}


def test_command_in_fish(fish):
    assert "sha256sum" in fish("pyreel-record -d 3 -- sha256")
    assert "--mode" not in fish("pyreel-record cat --mo")
