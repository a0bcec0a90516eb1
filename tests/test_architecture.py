#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the rules of the architecture: which file may include which, and what every file begins with.

record/ and convert/ never see each other, formats/ sees neither, and within record/ a file includes only what stands
below it: the rows of RECORD, from the top.
"""
import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(os.environ.get("PYREEL_SOURCE", pathlib.Path(__file__).parent.parent))
LINES = 800

RECORD = [
    ["main"],
    ["describe"],
    ["budget", "figures", "options", "launch", "progress", "file", "host", "permission"],
    ["sampler"],
    ["asyncio", "exact"],
    ["expand", "freeze", "idle", "stand", "status"],
    ["cpu", "roster"],
    ["unwind"],
    ["clock", "edges", "find", "priority", "tasks"],
    ["walk"],
    ["code", "snapshot"],
    ["characters", "handler", "linetable", "target", "twofold"],
    ["asyncio_layout", "runtime"],
    ["elf", "procfs"],
    ["layout"],
    ["opcode_marks"],
    ["opcodes"],
    ["remote"],
]

PARTS = {  # of another, which was too long
    "asyncio_all": "asyncio", "asyncio_parts": "asyncio", "asyncio_plan": "asyncio", "asyncio_running": "asyncio", "awaited": "asyncio",
    "code_parts": "code", "code_read": "code", "coroutine": "tasks", "doubt": "unwind", "find_down": "find", "find_parts": "find", "instructions": "unwind", "sampler_tasks": "sampler", "sampler_tell": "sampler", "seen": "find",
    "snapshot_look": "snapshot", "snapshot_plan": "snapshot",
}

FOLDERS = {  # which folders a folder may include from
    "formats": {"formats"},
    "record": {"record", "formats"},
    "convert": {"convert", "formats"},
    "tests": {"tests", "record", "convert", "formats"},
}
GENERATED = {"profile.pb-c.h"}  # by protoc, and only formats/ needs it


def sources():
    for folder in FOLDERS:
        for path in sorted((SOURCE / folder).rglob("*.[ch]")):
            yield folder, path


def row_of(name):
    return next((i for i, row in enumerate(RECORD) if name in row), None)


def check_include(folder, path, include):
    where, _, name = include.rpartition("/")
    top = where.split("/")[0]
    if include in GENERATED:
        return None if folder == "formats" else "is generated for formats/ only"
    if not where:
        return "names no folder"
    if top not in FOLDERS[folder]:
        return f"is not for {folder}/"
    if not (SOURCE / include).exists():
        return "does not exist"
    if folder == top == "record":
        return check_record(path.stem, pathlib.PurePath(name).stem)
    return None


def check_record(user, used):
    user, used = PARTS.get(user, user), PARTS.get(used, used)
    if user == used:
        return None
    for name in (user, used):
        if row_of(name) is None:
            return f"has {name} in it, which has no row in tests/test_architecture.py"
    return None if row_of(used) > row_of(user) else f"is not below {user}"


def check_header(path, text):
    guard = "PYREEL_" + re.sub(r"[^A-Za-z0-9]", "_", str(path.relative_to(SOURCE))).upper()
    if f"#ifndef {guard}\n#define {guard}\n" not in text:
        yield f"has no guard {guard}"
    second = text.split("\n", 1)[1]
    if not second.startswith("/* ") or len(second.split("*/")[0]) < 30:
        yield "does not open with its idea"


def check_file(folder, path):
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    if lines[0] != "/* SPDX-License-Identifier: MIT */":
        yield "does not begin with the licence"
    if len(lines) > LINES:
        yield f"has {len(lines)} lines, and {LINES} are enough"
    if path.suffix == ".h":
        yield from check_header(path, text)
    for include in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
        wrong = check_include(folder, path, include)
        if wrong:
            yield f'"{include}" {wrong}'
    own = str(path.relative_to(SOURCE).with_suffix(".h"))
    if path.suffix == ".c" and (SOURCE / own).exists():
        first = re.search(r'#include\s+["<]([^">]+)', text)
        if not first or first[1] != own:
            yield f"does not include {own} first"


def check_other_files():
    """Scripts and build files have their licence line, too."""
    for folder in ("formats", "record", "convert", "tests"):
        for path in sorted((SOURCE / folder).rglob("*")):
            script = path.is_file() and path.suffix in (".py", ".sh", ".mjs")
            if script and "SPDX-License-Identifier: MIT" not in path.read_text(encoding="utf-8")[:200]:
                yield path, "has no licence line"


def main():
    found = [(path, wrong) for folder, path in sources() for wrong in check_file(folder, path)]
    found += check_other_files()
    for path, wrong in found:
        print(f"{path.relative_to(SOURCE)}: {wrong}")
    count = sum(1 for _ in sources())
    if count < 50:
        print(f"only {count} files were found in {SOURCE}")
    return 1 if found or count < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
