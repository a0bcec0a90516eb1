#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the rules of the architecture: which room may include which, and what every file begins with.

A room is a folder. It includes its own headers, in any order, and those of the rooms in its row. So dependencies run one
way: record/ and convert/ never see each other, and formats/ sees neither.
"""
import collections
import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(os.environ.get("PYREEL_SOURCE", pathlib.Path(__file__).parent.parent.parent))
FILES_MOST = 25  # of a room

MODEL = ("formats/model", "formats/names", "formats/intern", "formats/base")
RECORDING = (*MODEL, "formats/stream", "formats/codec")
ROOMS = {
    "formats/base": (),
    "formats/intern": ("formats/base",),
    "formats/scratch": ("formats/base",),
    "formats/names": ("formats/base",),
    "formats/model": MODEL[1:],
    "formats/codec": ("formats/base",),
    "formats/cpython": ("formats/base",),
    "formats/stream": ("formats/codec", *MODEL),
    "formats/frames": MODEL,
    "formats/sources": MODEL,
    "formats/calls": ("formats/frames", *MODEL),
    "formats/compare": ("formats/calls", "formats/frames", *MODEL),
    "formats/collapsed": ("formats/frames", *MODEL),
    "formats/flame": ("formats/flame/page", "formats/calls", "formats/compare", "formats/sources", "formats/frames", "formats/scratch", *MODEL),
    "formats/flame/page": (),
    "formats/gecko": ("formats/gecko/columns", "formats/gecko/markers", "formats/gecko/tables",
                      "formats/sources", "formats/frames", "formats/scratch", *MODEL),
    "formats/gecko/columns": ("formats/base",),
    "formats/gecko/markers": MODEL,
    "formats/gecko/tables": ("formats/gecko", "formats/frames", "formats/sources", *MODEL),
    "formats/exchange": ("formats/calls", "formats/frames", *MODEL),
    "formats/parts": MODEL,
    "formats/otlp": ("formats/pprof", *MODEL),  # both have the same tables of functions and locations
    "formats/pprof": MODEL,
    "formats/report": ("formats/calls", "formats/frames", "formats/sources", "formats/terminal", *MODEL),
    "formats/speedscope": ("formats/calls", "formats/frames", "formats/scratch", *MODEL),
    "formats/terminal": ("formats/base",),
    "formats/tachyon": ("formats/cpython", "formats/scratch", *MODEL),
    "record/process": MODEL,
    "record/elf": ("record/process", *MODEL),
    "record/emit": MODEL,
    "record/python": ("record/elf", "record/emit", "record/process", "formats/cpython", *MODEL),
    "record/names": ("record/python", "record/process", *MODEL),
    "record/cgroup": (),
    "record/unwind": ("record/elf", "record/cgroup", "record/python", "record/emit", "record/process", *MODEL),
    "record/asyncio": ("record/unwind", "record/names", "record/python", "record/emit", "record/process", *MODEL),
    "record/native/names": ("record/elf", "record/process", *MODEL),
    "record/native": ("record/elf", "record/native/names", "record/unwind", "record/emit", "record/process", *MODEL),
    "record/exact": ("record/native", "record/unwind", "record/process", *MODEL),
    "record/labels": ("record/elf", "record/emit", "record/process", *MODEL),
    "record/launch": ("record/process", *MODEL),
    "record/file": ("record/process", "formats/parts", *RECORDING),
    "record/core": ("record/elf", "record/process", *MODEL),
    "record/guard": (),
    "record/dump/locals": ("record/watch", "record/names", "record/unwind", "record/python", "record/process", *MODEL),
    "record/dump": ("record/dump/locals", "record/core", "record/guard", "record/tree", "record/watch", "record/exact", "record/asyncio", "record/unwind", "record/python", "record/emit", "record/process",
                    "formats/sources", "formats/terminal", *MODEL),
    "record/tree": ("record/process", *MODEL),
    "record/watch": ("record/labels", "record/launch", "record/exact", "record/native", "record/asyncio", "record/names", "record/unwind", "record/python", "record/emit", "record/process", *RECORDING),
    "record": (
        "record/watch",
        "record/tree",
        "record/cgroup",
        "record/file",
        "record/guard",
        "record/launch",
        "record/exact",
        "record/asyncio",
        "record/names",
        "record/unwind",
        "record/python",
        "record/emit",
        "record/process",
        *RECORDING,
    ),
    "convert/filters": ("formats/frames", "formats/sources", *MODEL),
    "convert/symbols": MODEL,
    "convert/fleets": ("convert/filters", *MODEL),
    "convert/otlp": ("convert", "convert/fleets", "formats/otlp", *MODEL),
    "convert/diff": ("convert", "convert/filters", "formats/calls", "formats/compare", "formats/frames", "formats/terminal", *MODEL),
    "convert/viewer": ("formats/gecko", *MODEL),
    "convert/sharing": ("convert/viewer", *MODEL),
    "convert/report": ("convert", "formats/calls", "formats/exchange", "formats/frames", "formats/report", "formats/sources", "formats/terminal", *MODEL),
    "convert/info": ("convert", "convert/symbols", "formats/calls", "formats/terminal", *MODEL),
    "convert/top": ("convert", "convert/filters", "formats/calls", "formats/frames", "formats/stream", "formats/terminal", *MODEL),
    "convert/gecko": ("convert/filters", "convert/sharing", "convert/viewer", "convert", "formats/gecko", "formats/sources", *MODEL),
    "convert": (
        "convert/fleets",
        "convert/filters",
        "convert/symbols",
        "convert/viewer",
        "formats/calls",
        "formats/collapsed",
        "formats/compare",
        "formats/exchange",
        "formats/flame",
        "formats/frames",
        "formats/otlp",
        "formats/parts",
        "formats/pprof",
        "formats/report",
        "formats/scratch",
        "formats/sources",
        "formats/speedscope",
        "formats/stream",
        "formats/tachyon",
        "formats/terminal",
        *MODEL,
    ),
    "pyreel": ("formats/base",),
}
TESTS = "tests"  # see all rooms
UNIT = "tests/unit/"  # has a folder for each room that has unit tests
GENERATED = {"otlp.pb-c.h": "formats/otlp", "profile.pb-c.h": "formats/pprof"}  # by protoc, for one room


def sources():
    for folder in ("formats", "record", "convert", "pyreel", TESTS):
        for path in sorted((SOURCE / folder).rglob("*.[ch]")):
            yield str(path.parent.relative_to(SOURCE)), path


def check_include(room, include):
    used = include.rpartition("/")[0]
    if include in GENERATED:
        return None if room == GENERATED[include] else f"is for {GENERATED[include]}/ only"
    if not used:
        return "names no folder"
    if not (SOURCE / include).exists():
        return "does not exist"
    if room.split("/")[0] == TESTS or used == room or used in ROOMS[room]:
        return None
    return f"is not for {room}/, see ROOMS in tests/unit/test_architecture.py"


def check_header(path, text):
    guard = "PYREEL_" + re.sub(r"[^A-Za-z0-9]", "_", str(path.relative_to(SOURCE))).upper()
    if f"#ifndef {guard}\n#define {guard}\n" not in text:
        yield f"has no guard {guard}"
    second = text.split("\n", 1)[1]
    if not second.startswith("/* ") or len(second.split("*/")[0]) < 30:
        yield "does not open with its idea"


def check_file(room, path):
    text = path.read_text(encoding="utf-8")
    if not text.startswith("/* SPDX-License-Identifier: MIT */\n"):
        yield "does not begin with the licence"
    if path.suffix == ".h":
        yield from check_header(path, text)
    for include in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
        wrong = check_include(room, include)
        if wrong:
            yield f'"{include}" {wrong}'
    for named in re.findall(r"(?<![\w/.<\"-])(?:record|formats|convert|pyreel|tests)/[\w/]+\.[ch]\b", text):
        if not (SOURCE / named).exists():
            yield f"speaks of {named}, which is not there"
    own = str(path.relative_to(SOURCE).with_suffix(".h"))
    if path.suffix == ".c" and (SOURCE / own).exists():
        first = re.search(r'#include\s+["<]([^">]+)', text)
        if not first or first[1] != own:
            yield f"does not include {own} first"


def check_rooms(rooms):
    """Each folder of code is a room that has a row, and none grows beyond what a reader takes in at a glance."""
    for room, files in rooms.items():
        if room.startswith(UNIT):
            if room[len(UNIT):] not in ROOMS:
                yield SOURCE / room, "mirrors no room"
        elif room.split("/")[0] == TESTS:
            continue
        elif room not in ROOMS:
            yield SOURCE / room, "has no row in ROOMS of tests/unit/test_architecture.py"
        if files > FILES_MOST:
            yield SOURCE / room, f"has {files} files, and {FILES_MOST} are enough: is there a room inside?"


def check_other_files():
    """Scripts and build files have their licence line, too."""
    for folder in ("formats", "record", "convert", "pyreel", "python", "completions", "tests"):
        for path in sorted((SOURCE / folder).rglob("*")):
            script = path.is_file() and path.suffix in (".py", ".sh", ".mjs")
            if script and "SPDX-License-Identifier: MIT" not in path.read_text(encoding="utf-8")[:200]:
                yield path, "has no licence line"


def check_names():
    """A static function and a struct tag are in one file each, so that a search for a name finds one thing."""
    for pattern in r"^static (?:[\w*]+ )*?\*?(\w+)\((?!.*;$)", r"^struct (\w+) {":
        where = collections.defaultdict(dict)
        for room, path in sources():
            if room.split("/")[0] != TESTS:
                for name in re.findall(pattern, path.read_text("utf-8"), re.M):
                    where[name][path] = None
        for name, paths in where.items():
            for path in list(paths)[1:]:
                yield path, f"has {name}, as {next(iter(paths)).relative_to(SOURCE)} has"


def check_hacking():
    """docs/HACKING.md leads a newcomer to files and functions: each that it names is there."""
    path = SOURCE / "docs" / "HACKING.md"
    files = [file for folder in ("formats", "record", "convert", "pyreel", "completions", "tests") for file in (SOURCE / folder).rglob("*") if file.is_file()]
    names = {file.name for file in files}
    words = {word for file in files if file.suffix in (".c", ".h", ".py") for word in re.findall(r"\w+", file.read_text("utf-8"))}
    for named in re.findall(r"`([\w/]+\.(?:[ch]|py|txt|build)|[a-z][a-z0-9]*(?:_[a-z0-9]+)+)`", path.read_text("utf-8")):
        if "/" in named and not (SOURCE / named.split("/")[0]).is_dir():
            continue  # a file of CPython's
        known = (SOURCE / named).exists() if "/" in named else named in names if "." in named else named in words
        if not known and "NAME" not in named and not any(name.startswith(named + ".") for name in names):
            yield path, f"speaks of {named}, which is not there"


def main():
    rooms = collections.Counter(room for room, _ in sources())
    found = list(check_rooms(rooms))
    if not found:
        found += [(path, wrong) for room, path in sources() for wrong in check_file(room, path)]
    found += check_other_files()
    found += check_names()
    found += check_hacking()
    for path, wrong in found:
        print(f"{path.relative_to(SOURCE)}: {wrong}")
    count = sum(rooms.values())
    if count < 50:
        print(f"only {count} files were found in {SOURCE}")
    return 1 if found or count < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
