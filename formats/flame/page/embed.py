#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Joins the files of the flame page, and writes them as a C source: the page in front of the data, and behind the data.

    embed.py OUTPUT.c

The content policy of the page allows one program and one style, by their hashes."""

import base64
import hashlib
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent
# The order is that of the page's program: a file uses constants of the files in front of it.
PROGRAM = ("text.js", "data.js", "view.js", "colours.js", "difference.js", "tree.js", "totals.js", "search.js", "boxes.js",
           "graph.js", "menus.js", "groups.js", "legend.js", "panel.js", "table.js", "sources.js", "save.js", "keys.js",
           "main.js")
POLICY = ("default-src 'none'; script-src {program}; style-src {style}; img-src data:; base-uri 'none'; form-action 'none'; "
          "require-trusted-types-for 'script'; trusted-types 'none'")


def text_of(name):
    return (FOLDER / name).read_text(encoding="utf-8")


def hash_of(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def page():
    """The page in front of the data, and behind the data."""
    style = "\n" + text_of("page.css")
    program = "\n'use strict';\n(() => {\n" + "\n".join(text_of(name) for name in PROGRAM) + "})();\n"
    assert sorted(PROGRAM) == sorted(path.name for path in FOLDER.glob("*.js"))
    assert "</" not in style and "</script" not in program and "<!--" not in program
    html = text_of("page.html")
    for name, text in (("policy", POLICY.format(program=hash_of(program), style=hash_of(style))), ("style", style),
                       ("program", program)):
        assert html.count("{{" + name + "}}") == 1
        html = html.replace("{{" + name + "}}", text)
    head, tail = html.split("{{data}}")
    return head, tail


def array(name, text):
    """C arrays have no limit of length; string literals have one."""
    numbers = list(text.encode())
    lines = [",".join(map(str, numbers[i:i + 32])) for i in range(0, len(numbers), 32)]
    return (f"const unsigned char {name}[] = {{\n" + ",\n".join(lines) + "};\n"
            f"const size_t {name}_size = sizeof {name};\n")


def main():
    head, tail = page()
    source = '#include "formats/flame/page/flame_page.h"\n\n' + array("flame_page_head", head) + "\n" + array("flame_page_tail", tail)
    pathlib.Path(sys.argv[1]).write_text(source, encoding="utf-8")


if __name__ == "__main__":
    main()
