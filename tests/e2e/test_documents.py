# SPDX-License-Identifier: MIT
"""What the documents say of command lines: each option has its place in the man page, and each command that stands anywhere
has options that its program knows."""

import glob
import os
import re
import shutil
import subprocess

import pytest

from environment import CONVERTERS, DIFF, DUMP, PROJECT, RECORD, TOP, need_command

PROGRAMS = {os.path.basename(path): path for path in (RECORD, DUMP, DIFF, TOP, *CONVERTERS.values())}
MARKDOWN = [path for folder in ("", "docs", "schemas", "tests/bench") for path in sorted(glob.glob(os.path.join(PROJECT, folder, "*.md")))
            if not path.endswith("CHANGELOG.md")]  # which tells of earlier versions


def read(*path):
    with open(os.path.join(PROJECT, *path), encoding="utf-8") as file:
        return file.read()


def help_of(name):
    return subprocess.run([PROGRAMS[name], "--help"], check=True, capture_output=True, text=True).stdout


def options_of(name):
    """The names of its options, short ones too."""
    rows = re.findall(r"^  (?:(-\w), |    )(--[a-z-]+)", help_of(name), re.M)
    return {option for row in rows for option in row if option}


def plain_man(name):
    """The source of a man page, without what escapes and marks."""
    text = re.sub(r"\\f[BIRP]|\\&", "", read("man", f"{name}.1").replace("\\-", "-"))
    return re.sub(r'^\.(?:BR?|BI|IR?|RB|RI|IB)\s+', "", text, flags=re.M).replace('"', "")


def commands_in(text):
    """(program, options) of each command line in a text: the words up to a comment, a pipe, or the command that is recorded."""
    text = re.sub(r"\$\([^)]*\)", "OUTPUT", text)
    for program, rest in re.findall(r"(?<![\w/(-])(pyreel-[a-z]+)((?:[ \t]+(?!pyreel-)[^\s|;&#`>)]+)+)", text):
        words = rest.split()
        own = words[:words.index("--")] if "--" in words else words
        yield program, [word.partition("=")[0].rstrip(",.:") for word in own if re.match(r"--?[a-zA-Z]", word)]


def code_of_markdown(text):
    """Blocks of code and code in lines, one below the other; a line that ends in a backslash goes on."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S)
    lines = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    return "\n".join(blocks + lines).replace("\\\n", " ")


def examples_of_man(text):
    """The commands of the section EXAMPLES: each begins a paragraph."""
    section = re.search(r"^\.SH EXAMPLES\n(.*?)^\.SH ", text, re.M | re.S)
    return "\n".join(re.findall(r"^\.TP\n(.*)", section[1] if section else "", re.M))


def unknown_options(commands):
    known = {name: options_of(name) for name in PROGRAMS}
    for program, options in commands:
        if program not in known:
            yield f"{program}: no such program"
            continue
        for option in options:
            if option not in known[program] and not (re.match("-[a-z]", option) and option[:2] in known[program]):
                yield f"{program} {option}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_man_page_has_each_option(name):
    text = plain_man(name)
    absent = [option for option in sorted(options_of(name)) if not re.search(rf"(?<![\w-]){option}(?![\w-])", text)]
    assert absent == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_man_page_is_clean(name):
    need_command("man")
    page = os.path.join(PROJECT, "man", f"{name}.1")
    shown = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"})
    assert shown.returncode == 0 and shown.stderr == "" and name in shown.stdout
    if shutil.which("mandoc"):
        linted = subprocess.run(["mandoc", "-Tlint", "-Wwarning", page], capture_output=True, text=True)
        assert linted.stdout == ""


def test_man_page_is_installed():
    assert {name for name in PROGRAMS if f"'{name}.1'" not in read("man", "meson.build")} == set()


@pytest.mark.parametrize("name", PROGRAMS)
def test_commands_of_man_page(name):
    commands = list(commands_in(examples_of_man(plain_man(name))))
    assert any(program == name for program, _ in commands), "no example"
    assert list(unknown_options(commands)) == []


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: os.path.relpath(path, PROJECT))
def test_commands_of_markdown(path):
    commands = list(commands_in(code_of_markdown(read(path))))
    assert list(unknown_options(commands)) == []


def test_readme_shows_each_program():
    shown = {program for program, _ in commands_in(code_of_markdown(read("README.md")))}
    assert set(PROGRAMS) - shown == set()


def test_links_of_markdown():
    """A link to a file of this repository leads somewhere."""
    dead = []
    for path in MARKDOWN:
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", read(path)):
            if not os.path.exists(os.path.join(os.path.dirname(path), target)):
                dead.append(f"{os.path.relpath(path, PROJECT)}: {target}")
    assert dead == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_man_page_names_the_others(name):
    section = read("man", f"{name}.1").partition(".SH SEE ALSO\n")[2]
    assert set(re.findall(r"^\.BR (pyreel-[a-z]+) \(1\)", section, re.M)) == set(PROGRAMS) - {name}
