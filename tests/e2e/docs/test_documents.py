# SPDX-License-Identifier: MIT
"""What the documents say of command lines: the man page has the options of --help and no others, and each command that stands
anywhere has options that its program knows."""

import functools
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from environment import BUILD, PROJECT, PYREEL, TOOLS, built_programs, need_command, python_of

sys.path[:0] = [os.path.join(PROJECT, "completions"), TOOLS]
import document  # noqa: E402
import make  # noqa: E402  it reads --help

PROGRAMS = {"pyreel": PYREEL, **built_programs()}
TOPICS = sorted(glob.glob(os.path.join(PROJECT, "pyreel", "topics", "*.txt")))
PAGES = {**{f"{name}.1": os.path.join(PROJECT, "man", f"{name}.1") for name in PROGRAMS},
         "pyreel.7": os.path.join(BUILD, "pyreel", "pyreel.7")}
MARKDOWN = [path for folder in ("", "docs", "docs/cookbook", "schemas", "tests/bench") for path in sorted(glob.glob(os.path.join(PROJECT, folder, "*.md")))
            if not path.endswith("CHANGELOG.md")]  # which tells of earlier versions


SESSIONS = [path for path in MARKDOWN if list(document.commands_of(open(path, encoding="utf-8").read().split("\n")))]
PATIENCE = 300  # seconds for all commands of a document, on a machine that does much else


def relative(path):
    return os.path.relpath(path, PROJECT)


def read(*path):
    with open(os.path.join(PROJECT, *path), encoding="utf-8") as file:
        return file.read()


@functools.lru_cache(maxsize=None)
def options_of(name):
    """The names of its options, short ones too."""
    return {option for row in make.Program(PROGRAMS[name]).options for option in row.names}


def plain_man(name):
    """The source of a man page, without what escapes and marks."""
    text = re.sub(r"\\f[BIRP]|\\&", "", read("man", f"{name}.1").replace("\\-", "-"))
    return re.sub(r'^\.(?:BR?|BI|IR?|RB|RI|IB)\s+', "", text, flags=re.M).replace('"', "")


def commands_in(text):
    """(program, options) of each command line in a text: the words up to a comment, a pipe, or the command that is recorded.
    "pyreel record" is a command line of pyreel, too, and "pyreel help ci" has the option ci. In the middle of a sentence,
    "pyreel is" is no command."""
    text = re.sub(r"\$\([^)]*\)", "OUTPUT", text)
    beginning = r"^[^\w\n]*|[|;&(] *|sudo |  "
    for program, rest in re.findall(rf"(?:(?<![\w/(-])(?=pyreel-)|(?:{beginning})(?=pyreel ))(pyreel[- ][a-z]+)"
                                    r"((?:[ \t]+(?!pyreel[- ])[^\s|;&#`>)]+)+)", text, re.M):
        words = rest.split()
        if program == "pyreel help":
            yield "pyreel", words
            continue
        if program.startswith("pyreel "):
            yield "pyreel", []
            program = program.replace(" ", "-")
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
    pyreel = make.Program(PYREEL)
    known["pyreel"] = known["pyreel"] | {*pyreel.verbs, *pyreel.topics}
    for program, options in commands:
        if program not in known:
            yield f"{program}: no such program"
            continue
        for option in options:
            if option not in known[program] and not (re.match("-[a-z]", option) and option[:2] in known[program]):
                yield f"{program} {option}"


def macro_text(line):
    """What a line of a man page shows."""
    line = re.sub(r"\\f[BIRP]|\\&", "", line).replace("\\-", "-")
    macro = re.match(r"\.([BIR]{1,2}) ", line)
    if not macro:
        return line
    return ("" if len(macro[1]) == 2 else " ").join(shlex.split(line[macro.end():]))


def options_of_man(name):
    """{option: the name of its value} of the headings in the section OPTIONS."""
    section = re.search(r"^\.SH OPTIONS\n(.*?)^\.SH ", read("man", f"{name}.1"), re.M | re.S)[1]
    found = {}
    for heading in map(macro_text, re.findall(r"^\.T[PQ]\n(.*)", section, re.M)):
        for part in heading.split(", ") if heading.startswith("-") else []:
            option, value = re.fullmatch(r"(--?[a-zA-Z-]+)(.*)", part).groups()
            found[option] = value.replace(" ", "")
    return found


@pytest.mark.short
def test_man_page_and_help_have_the_same_options():
    """The same names and values. The man page may have the words of a choice in place of a name: samples|wall for WHAT."""
    for name, program in PROGRAMS.items():
        shown, options = options_of_man(name), make.Program(program).options
        assert set(shown) == {spelling for option in options for spelling in option.names}, name
        for option in options:
            value = f"[={option.value}]" if option.joined else option.value
            assert shown[f"--{option.name}"] in {value, "|".join(option.choice) or value}, (name, option.name)


def test_man_pages_are_clean():
    need_command("man")
    for page, path in PAGES.items():
        shown = subprocess.run(["man", "--warnings", "-l", path], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"})
        assert shown.returncode == 0 and shown.stderr == "" and page[:-2] in shown.stdout, page
        if shutil.which("mandoc"):
            linted = subprocess.run(["mandoc", "-Tlint", "-Wwarning", path], capture_output=True, text=True)
            assert linted.stdout == "", page


@pytest.mark.short
def test_pages_have_no_control_characters():
    """man(1) prints nothing of them, and no warning."""
    paths = [*(path for path in PAGES.values()), *MARKDOWN, *TOPICS]
    assert {relative(path): found for path in paths if (found := re.findall(r"[\x00-\x08\x0b-\x1f\x7f]", open(path, encoding="utf-8", newline="").read()))} == {}


@pytest.mark.short
def test_man_page_is_installed():
    assert {name for name in PROGRAMS if f"'{name}.1'" not in read("man", "meson.build")} == set()


@pytest.mark.short
def test_commands_have_known_options():
    texts = {f"{name}.1": examples_of_man(plain_man(name)) for name in PROGRAMS}
    assert [name for name in PROGRAMS if not any(program == name for program, _ in commands_in(texts[f"{name}.1"]))] == [], "no example"
    texts |= {relative(path): "\n".join(re.findall(r"^    (.*)", read(path), re.M)) for path in TOPICS}
    texts |= {relative(path): code_of_markdown(read(path)) for path in MARKDOWN}
    assert {name: unknown for name, text in texts.items() if (unknown := list(unknown_options(commands_in(text))))} == {}


@pytest.mark.parametrize("path", SESSIONS, ids=relative)
def test_sessions_of_markdown(path):
    """All commands of a document run, and what they print has the shape that the document shows: see run-document."""
    text = read(path)
    for version in sorted(set(re.findall(r"^[$>] .*\bpython(3\.\d+)", text, re.M))):
        python_of(version)
    problems, _, _ = document.check(text.split("\n"), PATIENCE)
    assert problems == [], "\n".join(f"{relative(path)}:{problem}" for problem in problems)


@pytest.mark.short
def test_readme_shows_each_program():
    shown = {program for program, _ in commands_in(code_of_markdown(read("README.md")))}
    assert set(PROGRAMS) - shown == set()


@pytest.mark.short
def test_links_of_markdown():
    """A link to a file of this repository, or to a heading in it, leads somewhere."""
    dead = []
    for path in MARKDOWN:
        for target, heading in re.findall(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", read(path)):
            file = os.path.join(os.path.dirname(path), target) if target else path
            if not os.path.exists(file) or heading and heading not in headings_of(file):
                dead.append(f"{relative(path)}: {target}#{heading}")
    assert dead == []


def headings_of(path):
    """As links name them."""
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)", read(path), re.M)}


@pytest.mark.short
def test_readme_names_each_document():
    """So that a page is found; the README of a folder names its pages, and formats.md each schema."""
    for folder, index in (("docs", "README.md"), ("docs/cookbook", "docs/cookbook/README.md")):
        pages = {path for path in map(relative, MARKDOWN) if os.path.dirname(path) == folder and path != index}
        text = read(index)
        assert {page for page in pages if f"]({os.path.relpath(page, os.path.dirname(index))})" not in text} == set()
    assert {name for name in os.listdir(os.path.join(PROJECT, "schemas")) if name != "meson.build" and name not in read("docs/formats.md")} == set()


@pytest.mark.short
def test_man_page_names_the_others():
    for name in PROGRAMS:
        section = read("man", f"{name}.1").partition(".SH SEE ALSO\n")[2]
        assert set(re.findall(r"^\.BR (pyreel(?:-[a-z]+)?) \(1\)", section, re.M)) == set(PROGRAMS) - {name}, name
