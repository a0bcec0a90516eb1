# SPDX-License-Identifier: MIT
"""Works on the sources of its own standard library, in a random order: parses them and puts them together again, takes
them apart into tokens, compiles them, and compares one with the next. Thousands of frames of other people's code."""
import ast
import difflib
import io
import os
import pathlib
import random
import signal
import sysconfig
import tokenize

LONGEST = 60000  # characters


def sources():
    library = pathlib.Path(sysconfig.get_paths()["stdlib"])
    return sorted(path for path in library.rglob("*.py") if "site-packages" not in path.parts)


def work_on(text, before):
    ast.unparse(ast.parse(text))
    list(tokenize.generate_tokens(io.StringIO(text).readline))
    compile(text, "<source>", "exec")
    list(difflib.unified_diff(before.splitlines()[:200], text.splitlines()[:200]))


def main():
    paths, chance, before = sources(), random.Random(1), ""
    while True:
        try:
            text = chance.choice(paths).read_text(encoding="utf-8")
            if len(text) <= LONGEST:
                work_on(text, before)
                before = text
        except (UnicodeDecodeError, SyntaxError, ValueError, tokenize.TokenError):
            pass  # made for a test


signal.alarm(600)
print("ready", os.getpid(), flush=True)
main()
