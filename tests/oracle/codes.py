# SPDX-License-Identifier: MIT
"""Prints which lines the code objects of files have: run by the Python that runs the files, as lines differ by version.

codes.py FILE... gives {file: [{name, first, lines, names}]}: `lines` are those of its instructions (0: none), `names`
what is looked up on each. A file is a path or "<frozen importlib._bootstrap>"; one that can't be read is left out.
"""

import dis
import importlib
import json
import sys
import types


def source_of(file):
    if not file.startswith("<frozen "):
        return file
    name = file[len("<frozen "):-1]
    module = sys.modules.get(name) or importlib.import_module(name)
    return getattr(module, "__file__", None) or module.__spec__.loader_state.filename


def names_of(code):
    names = {}
    for instruction in dis.get_instructions(code):
        line = instruction.positions.lineno
        value = instruction.argval
        values = value if isinstance(value, tuple) else (value,)
        if instruction.opname == "IMPORT_NAME":
            values = ("_find_and_load", "_handle_fromlist")
        names.setdefault(line or 0, set()).update(v for v in values if isinstance(v, str))
    return {line: sorted(found) for line, found in names.items()}


def walk(code):
    lines = sorted({line or 0 for _, _, line in code.co_lines()})
    yield {"name": code.co_qualname, "first": code.co_firstlineno, "lines": lines, "names": names_of(code)}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from walk(constant)


found = {}
for file in sys.argv[1:]:
    try:
        with open(source_of(file), "rb") as source:
            found[file] = list(walk(compile(source.read(), file, "exec", dont_inherit=True)))
    except (OSError, ImportError, AttributeError, SyntaxError, TypeError, ValueError):
        pass
json.dump(found, sys.stdout)
