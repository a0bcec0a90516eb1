#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the table of topics.h and the man page pyreel(7) of the texts in topics/: topics.py PAGE.in FOR_TABLE FOR_PAGE NAME...

A text begins with a line NAME - ABOUT. Then come paragraphs, with an empty line between them; lines that are indented by
four blanks are shown as they are. The page has a section for each text in the place of @TOPICS@."""

import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).parent / "topics"
COLUMNS = 79


def read(name):
    """(name, about, text) of a topic."""
    head, _, text = (FOLDER / f"{name}.txt").read_text("utf-8").partition("\n\n")
    found, _, about = head.partition(" - ")
    wide = [line for line in text.splitlines() if len(line) > COLUMNS]
    if found != name or not about or wide or not text.isascii():
        sys.exit(f"topics.py: {name}.txt is no text of a topic: {wide or head}")
    return name, about, text


def c_string(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", '\\n"\n      "') + '"'


def table(topics):
    rows = [f"    {{ {', '.join(map(c_string, topic))} }},\n" for topic in topics]
    return f'#include "pyreel/topics.h"\n\nconst struct topic topics[] = {{\n{"".join(rows)}    {{ 0 }},\n}};\n'


def roff(line):
    return re.sub(r"^(?=[.'])", r"\\&", line.replace("\\", "\\e").replace("-", "\\-"))


def section(name, about, text):
    lines = [f".SH {name.upper().replace('-', ' ')}", roff(about[0].upper() + about[1:] + ".")]
    for paragraph in text.strip().split("\n\n"):
        shown = [line.removeprefix("    ") for line in paragraph.splitlines()]
        if paragraph.startswith("    "):
            lines += [".PP", ".RS 4", ".nf", *map(roff, shown), ".fi", ".RE"]
        else:
            lines += [".PP", *map(roff, shown)]
    return "\n".join(lines)


def main(page, for_table, for_page, *names):
    topics = [read(name) for name in names]
    pathlib.Path(for_table).write_text(table(topics), "utf-8")
    text = pathlib.Path(page).read_text("utf-8").replace("@TOPICS@", "\n".join(section(*topic) for topic in topics))
    pathlib.Path(for_page).write_text(text, "utf-8")


main(*sys.argv[1:])
