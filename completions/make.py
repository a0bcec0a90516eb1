#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the completions of a program's command line: make.py PROGRAM FOR_BASH FOR_ZSH FOR_FISH

The options come from PROGRAM --help, which formats/base/arguments.c writes from the program's table:

      --mode MODE              keep only wall|cpu|gil|exception samples (all)

A value completes to the words of a choice (wall|cpu) or of a list (thread,task) that stand in its name or in the help; to
files when its name is FILE, to processes that run Python when it is PID; else to nothing.

What is no option completes to what the first line of the help names: a command with its own completion ([--] COMMAND), processes
(PID), else recordings. A further line may have a command behind a sign (-- COMMAND). The help of pyreel has verbs and topics.
"""
import os
import pathlib
import re
import subprocess
import sys

LINE = re.compile(r"  (?:-(?P<letter>\w), |    )--(?P<name>[a-z][a-z-]*)"
                  r"(?P<value>\[=\S+\]| [A-Z]\S*| \S+\|\S+)? +(?P<help>\S.*)")
HELP_INDENT = 31
SECTION = re.compile(r"^([A-Z]\w+):\n((?:  [a-z].*\n)+)", re.M)  # in the help of pyreel
HELP_LINE = re.compile(r"^ +pyreel (help) \[VERB\|TOPIC\] +(.*)", re.M)
NAMED = re.compile(r"^  ([a-z][a-z-]*) +(\S.*)", re.M)
WORD = r"[a-z][a-z0-9_-]*"
CHOICE = re.compile(rf"(?<![\w*.-]){WORD}(?:\|\n?{WORD})+")
LIST = re.compile(rf"(?<![\w*.-]){WORD}(?:,\n?{WORD})+")


class Option:
    def __init__(self, letter, name, value, text):
        self.names = [f"-{letter}"] * bool(letter) + [f"--{name}"]
        self.letter, self.name, self.help = letter, name, text.replace("\n", " ")
        self.joined = value.startswith("[=")  # the value may be left out, else it stands behind a =
        self.value = value.strip(" [=]")  # name of the value; empty: the option takes none
        self.choice, self.list = [], []
        choice, several = CHOICE.search(f"{self.value}\n{text}"), LIST.search(text)
        if self.value and choice:
            self.choice = choice[0].replace("\n", "").split("|")
        elif self.joined and self.value.islower():
            self.choice = [self.value]
        elif self.value and several:
            self.list = several[0].replace("\n", "").split(",")


class Program:
    """`verbs` and `topics` are those of pyreel, with their descriptions; other programs have none."""

    def __init__(self, path):
        self.name = os.path.basename(path)
        text = subprocess.run([path, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.verbs, self.topics = {}, {}
        for title, lines in SECTION.findall(text):
            (self.topics if title == "Topics" else self.verbs).update(NAMED.findall(lines))
        self.verbs.update(HELP_LINE.findall(text))
        self.starts_command = bool(re.match(r"usage: \S+ \[OPTIONS\] \[--\] COMMAND", text))
        self.starts_command_behind = bool(re.search(r"^ +\S+ \[OPTIONS\] -- COMMAND", text, re.M))
        self.takes_pid = bool(re.match(r"usage: \S+ \[OPTIONS\] PID", text))
        rows = []
        for line in text.partition("\nOptions, ")[2].partition("\n\n")[0].splitlines()[1:]:
            option = LINE.fullmatch(line)
            if option:
                rows.append([option["letter"], option["name"], option["value"] or "", option["help"]])
            elif rows and line.startswith(" " * HELP_INDENT):
                rows[-1][-1] += "\n" + line.strip()
            else:
                sys.exit(f"make.py: {self.name} --help has a line that shows no option: {line}")
        self.options = [Option(*row) for row in rows]


# ---- bash ----

def bash_value(option):
    if option.choice:
        return f"_pyreel_words {' '.join(option.choice)}"
    if option.list:
        return f"_pyreel_list {' '.join(option.list)}"
    return {"FILE": "_pyreel_files", "PID": "_pyreel_pids"}.get(option.value, "")


def bash_case(option):
    names = [f"--{option.name}="] if option.joined else [*option.names, f"--{option.name}="]
    return f"{' | '.join(names)}) {bash_value(option)} ;;".replace("  ", " ")


def bash(program):
    taking = [name for option in program.options if option.value and not option.joined for name in option.names]
    names = [name for option in program.options for name in option.names]
    names += [f"--{option.name}={word}" for option in program.options if option.joined for word in option.choice]
    command = f"_pyreel_command {' '.join(taking)} && return" if program.starts_command else ""
    return {"FUNCTION": "_" + program.name.replace("-", "_"),
            "COMMAND": "_pyreel_command_behind && return" if program.starts_command_behind else command,
            "VALUES": [bash_case(option) for option in program.options if option.value],
            "OPTIONS": " ".join(names),
            "OPERAND": "_pyreel_files" if program.starts_command else "_pyreel_pids" if program.takes_pid else "_pyreel_recordings"}


def pyreel_bash(program):
    return {"OPTIONS": " ".join(name for option in program.options for name in option.names),
            "VERBS": " ".join(program.verbs), "TOPICS": " ".join(program.topics)}


# ---- zsh ----

def zsh_quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_value(option):
    if option.choice:
        return f"({' '.join(option.choice)})"
    if option.list:
        return f"_values -s , {option.value} {' '.join(option.list)}"
    return {"FILE": "_files", "PID": "_pyreel_pids"}.get(option.value, " ")


def zsh_option(option):
    text = re.sub(r"([\[\]:\\])", r"\\\1", option.help)
    value = f"{':' * (1 + option.joined)}{option.value}:{zsh_value(option)}" if option.value else ""
    joint = "=-" if option.joined else "=" if option.value else ""
    what = f"--{option.name}{joint}[{text}]{value}"
    if not option.letter:
        return zsh_quoted("*" + what)
    return f"'*'{{-{option.letter}{'+' * bool(option.value)},--{option.name}{joint}}}{zsh_quoted(what[what.index('['):])}"


ZSH_COMMAND_BEHIND = ["if ((${words[(i)--]} < CURRENT)); then", "    ((CURRENT -= ${words[(i)--]}))", "    shift ${words[(i)--]} words", "    _normal", "    return",
                      "fi", ""]


def zsh(program):
    behind = ["'(-)1:COMMAND:_command_names -e'", "'*::ARG:_normal'"]
    inputs = ["'*:PID:_pyreel_pids'" if program.takes_pid else """'*:INPUT:_files -g "*.pyreel(-.)"'"""]
    return {"COMMAND": ZSH_COMMAND_BEHIND if program.starts_command_behind else [],
            "FLAGS": "-s -S -A '-*'" if program.starts_command else "-s -S",
            "OPTIONS": [zsh_option(option) + " \\" for option in program.options],
            "OPERANDS": " ".join(behind if program.starts_command else inputs)}


def zsh_described(rows):
    return [zsh_quoted(f"{name}:{text}") for name, text in rows.items()]


def pyreel_zsh(program):
    return {"OPTIONS": [f"'(- *)'{zsh_option(option)[3:]} \\" for option in program.options],
            "VERBS": zsh_described(program.verbs), "TOPICS": zsh_described(program.topics)}


# ---- fish ----

def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_value(option):
    if option.choice:
        return f"{'-f' if option.joined else '-x'} -a {fish_quoted(' '.join(option.choice))}"
    if option.list:
        return f"-x -a '(__fish_append , {' '.join(option.list)})'"
    return {"": "-f", "FILE": "-rF", "PID": "-kx -a '(__fish_pyreel_pids)'"}.get(option.value, "-x")


# Each prints the command line that stands behind the options, and fails when there is none yet.
FISH_COMMAND = r"""
function FUNCTION
    set -l tokens (commandline -opc) (commandline -ct)
    argparse -s SPECS -- $tokens[2..] 2>/dev/null; or return
    string match -qr '^[^-]' -- $argv[1]; or return
    string join0 -- $argv
    return 0
end"""
FISH_COMMAND_BEHIND = r"""
function FUNCTION
    set -l tokens (commandline -opc) (commandline -ct)
    set -l at (contains -i -- -- $tokens); or return
    test $at -lt (count $tokens); or return
    string join0 -- $tokens[(math $at + 1)..]
    return 0
end"""
FISH_START = r"""
complete -c PROGRAM -x -n FUNCTION -a '(__fish_complete_subcommand --commandline (FUNCTION | string split0))'"""


def fish_specification(option):
    value = "=?" if option.joined else "=" if option.value else ""
    return (f"{option.letter}/" if option.letter else "") + option.name + value


def fish(program):
    start = f"complete -c {program.name} "
    function = f"__fish_{program.name.replace('-', '_')}_command"
    if program.starts_command or program.starts_command_behind:
        start += f"-n 'not {function} >/dev/null' "
    options = [f"{start}{f'-s {option.letter} ' * bool(option.letter)}-l {option.name} {fish_value(option)} -d {fish_quoted(option.help)}"
               for option in program.options]
    command = (FISH_COMMAND + FISH_START if program.starts_command else FISH_COMMAND_BEHIND + FISH_START if program.starts_command_behind else "")
    for name, value in (("SPECS", " ".join(map(fish_specification, program.options))), ("FUNCTION", function), ("PROGRAM", program.name)):
        command = command.replace(name, value)
    inputs = "(__fish_pyreel_pids)" if program.takes_pid else "(__fish_complete_suffix .pyreel)"
    operands = [] if program.starts_command else [f"{start}-kx -a '{inputs}'"]
    return {"OPTIONS": options, "OPERANDS": operands + command.splitlines()}


def pyreel_fish(program):
    def words(rows, *behind):
        condition = fish_quoted(" ".join(["__fish_pyreel_behind", *behind]))
        return [f"complete -c pyreel -n {condition} -a {name} -d {fish_quoted(text)}" for name, text in rows.items()]
    options = [f"complete -c pyreel -n __fish_pyreel_behind -s {option.letter} -l {option.name} -d {fish_quoted(option.help)}"
               for option in program.options]
    return {"OPTIONS": options, "NAMES": " ".join(program.verbs), "VERBS": words(program.verbs), "TOPICS": words({**program.verbs, **program.topics}, "help")}


def filled(template, values):
    """Each value in the place of its name; a list gets a line for each of its members."""
    lines = []
    for line in template.splitlines():
        indent, name = re.fullmatch(r"( *)(?:@(\w+)@)?.*", line).groups()
        if isinstance(values.get(name), list):
            lines += [indent + value for value in values[name]]
        else:
            lines.append(re.sub(r"@(\w+)@", lambda match: values[match[1]], line).rstrip())
    return "\n".join(lines) + "\n"


def main(path, *outputs):
    program = Program(path)
    kinds = (pyreel_bash, pyreel_zsh, pyreel_fish) if program.verbs else (bash, zsh, fish)
    for values, shell, output in zip(kinds, ("bash", "zsh", "fish"), outputs):
        name = "pyreel" if program.verbs else "completion"
        template = pathlib.Path(__file__).with_name(f"{name}.{shell}").read_text("utf-8")
        pathlib.Path(output).write_text(filled(template, {**values(program), "PROGRAM": program.name}), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
