# SPDX-License-Identifier: MIT
"""What bash, zsh and fish complete of the command line of each program. Bash and zsh run in a terminal, and get a tab key."""

import fcntl
import glob
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from environment import BUILD, CONVERTERS, DIFF, DUMP, RECORD, TOP, need_command
from recording import PATIENCE

FOLDER = os.path.join(BUILD, "completions")
PROGRAMS = [RECORD, DUMP, DIFF, TOP, *CONVERTERS.values()]
READY = "shell-is-ready"

BASH = f"""
bind 'set completion-query-items 0'; bind 'set page-completions off'; bind 'set show-all-if-ambiguous on'
bind 'set enable-bracketed-paste off'; bind 'set colored-stats off'
for file in {FOLDER}/pyreel-*; do [[ $file == *.fish ]] || source $file; done
"""
ZSH = f"""
fpath=({FOLDER} $fpath); autoload -Uz compinit; compinit -D -u; LISTMAX=1000; unset zle_bracketed_paste; unsetopt beep prompt_cr
"""
COMMANDS = {"bash": (["bash", "--norc", "--noprofile", "-i"], BASH), "zsh": (["zsh", "-f", "-i"], ZSH)}


class Shell:
    """An interactive shell in a terminal of 200 columns and 200 lines, in the folder `folder`."""

    def __init__(self, name, folder):
        need_command(name)
        command, settings = COMMANDS[name]
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(TERM="dumb", LC_ALL="C.UTF-8", PS1="", HISTFILE="")
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
    found = Shell(request.param, folder)
    yield found
    found.close()


def name_of(program):
    return os.path.basename(program)


def options_of(program):
    """The long names in its help."""
    text = subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^(?:  -\w, |      )(--[a-z-]+)", text, re.M))


@pytest.fixture(scope="module")
def fish(tmp_path_factory):
    """fish(line): what fish completes in an empty folder. Fish asks no completions of commands that it does not find."""
    need_command("fish")
    folder = tmp_path_factory.mktemp("empty")
    path = os.pathsep.join([os.environ["PATH"], *sorted({os.path.dirname(program) for program in PROGRAMS})])

    def complete(line):
        script = f"set -p fish_complete_path {FOLDER}; complete -C '{line}'"
        answer = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, timeout=PATIENCE,
                                cwd=folder, env={**os.environ, "PATH": path})
        assert answer.returncode == 0 and answer.stderr == ""
        return [row.split("\t")[0] for row in answer.stdout.splitlines()]

    return complete


def test_every_program_has_completions():
    """A program that this list lacks is one that environment.py lacks."""
    names = sorted(name_of(program) for program in PROGRAMS)
    built = sorted(name_of(path) for folder in ("record", "convert") for path in glob.glob(os.path.join(BUILD, folder, "pyreel-*"))
                   if os.path.isfile(path))
    assert names == built
    for name in names:
        assert all(os.path.getsize(os.path.join(FOLDER, file)) > 0 for file in (name, f"_{name}", f"{name}.fish"))


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_options_in_a_terminal(shell, program):
    options = options_of(program)
    assert len(options) >= 7
    shown = shell.complete(f"{name_of(program)} --", *options)
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", shown)) == options


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_options_in_fish(fish, program):
    # Options whose value may be left out stand there with and without the sign.
    assert {row.rstrip("=") for row in fish(f"{name_of(program)} --")} == options_of(program)


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_words_are_accepted(fish, program):
    """Each word that completes the value of an option is a value of that option."""
    proposed = 0
    for option in sorted(options_of(program)):
        for row in fish(f"{name_of(program)} {option}="):
            word = row.partition("=")[2]
            if not word or word.isdigit():  # of a process
                continue
            answer = subprocess.run([program, f"{option}={word}"], capture_output=True, text=True, timeout=PATIENCE, cwd="/")
            assert "invalid value" not in answer.stderr and "doesn't allow" not in answer.stderr, f"{option}={word}"
            proposed += 1
    assert proposed > 0 or name_of(program) in ("pyreel-dump", "pyreel-info")


def test_values(shell):
    assert "exception" in shell.complete("pyreel-record --mode ", "wall", "cpu", "gil", "exception")
    shell.complete("pyreel-record --mode=c", "--mode=cpu")
    shell.complete("pyreel-collapsed --roots thread,pr", "thread,process")
    shell.complete("pyreel-gecko --opcodes=f", "--opcodes=frames")
    shell.complete("pyreel-record -p ", str(os.getpid()))


def test_files(shell):
    """Recordings come first; the value of --output is any file; the recorder starts commands."""
    shown = shell.complete("pyreel-pprof ", "first.pyreel", "recordings/")
    assert "other.txt" not in shown
    shell.complete("pyreel-pprof o", "other.txt")
    shell.complete("pyreel-pprof s", "second\\ one.pyreel")
    shell.complete("pyreel-pprof --output oth", "other.txt")
    shell.complete("pyreel-record -d 3 -- sha256", "sha256sum")
    shell.complete("pyreel-record --mode=cpu cat oth", "cat other.txt")


def test_command_in_fish(fish):
    assert "sha256sum" in fish("pyreel-record -d 3 -- sha256")
    assert "--mode" not in fish("pyreel-record cat --mo")
