# SPDX-License-Identifier: MIT
"""Where code comes from, and its text, as the Firefox Profiler shows both."""

import collections
import os
import pathlib
import re
import shutil

import pytest

import gecko_check
import known_program
import stacks
from environment import CONVERTERS, PROJECT
from recording import COUNTS, convert, succeed
from viewers import opened

pytestmark = pytest.mark.pythons("newest")

IMPORTS = pathlib.Path(PROJECT) / "tests" / "streams" / "gil-thread-3.15" / "recording.pyreel"


def made(recorded, out, *options):
    ended = convert("gecko", recorded.path, *options, "-o", out)
    assert ended.code == 0, ended
    return gecko_check.load(out), ended.messages


def contents(profile):
    """{file name: text} of the sources that have a text."""
    shared = profile["shared"]
    names = [shared["stringArray"][name] for name in shared["sources"]["filename"]]
    return {name: text for name, text in zip(names, shared["sources"]["content"]) if text is not None}


def categories(profile):
    """{function: category}"""
    shared = profile["shared"]
    names = [category["name"] for category in profile["meta"]["categories"]]
    return {shared["stringArray"][shared["funcTable"]["name"][function]]: names[category]
            for function, category in zip(shared["frameTable"]["func"], shared["frameTable"]["category"])}


@pytest.mark.short
def test_lines_have_their_samples(recorded, tmp_path):
    """The text is in the profile, and the viewer counts the samples of each line."""
    profile, messages = made(recorded, tmp_path / "p.json", "--embed-sources")
    assert (contents(profile)[recorded.program], messages) == (open(recorded.program, encoding="utf-8").read(), "")
    line = known_program.loop_of("plain")
    on_loop = sum(count for stack, count in gecko_check.stacks(profile, profile["threads"][0], lambda *frame: frame, leaves=True).items()
                  if stack[-1] == ("plain", recorded.program, line))
    with opened(tmp_path / "p.json") as viewer:
        thread = viewer.handle("known.py")
        (function,) = [f["functionHandle"] for f in viewer.functions(thread) if f["name"] == "plain"]
        viewer.ask("thread", "select", thread=thread)
        shown = viewer.ask("function", "annotate", function=function, annotateContext="file")
    (row,) = [row for row in shown["srcAnnotation"]["lines"] if row["lineNumber"] == line]
    assert row["sourceText"].strip() == "while clock() < until:"
    assert row["selfSamples"] == pytest.approx(on_loop, rel=1e-6) and on_loop > 0


def test_files_are_found_elsewhere(recorded, tmp_path):
    """--path-map, for a recording of another machine; names stay as they were recorded."""
    folder, name = os.path.split(recorded.program)
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy2(recorded.program, other / name)
    with open(other / name, "rb+") as file:
        stat = os.stat(file.fileno())
        file.write(b"#!")  # the first bytes of its comment
    os.utime(other / name, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    profile, _ = made(recorded, tmp_path / "p.json", "--embed-sources", "--path-map", f"{folder}={other}")
    assert contents(profile)[recorded.program].startswith("#!")
    profile, messages = made(recorded, tmp_path / "q.json", "--embed-sources", "--path-map", f"{folder}=/nowhere")
    assert recorded.program not in contents(profile)
    assert re.search(r"pyreel-gecko: warning: \d+ source files? left out \(not found: --path-map FROM=TO says where they are\): /", messages)


@pytest.mark.short
def test_a_changed_file_is_left_out(recorded, tmp_path):
    folder, name = os.path.split(recorded.program)
    shutil.copy(recorded.program, tmp_path / name)  # with the time of now
    profile, messages = made(recorded, tmp_path / "p.json", "--embed-sources", "--path-map", f"{folder}={tmp_path}")
    assert recorded.program not in contents(profile)
    assert f"left out (not what was recorded: changed since then): {recorded.program}" in messages
    os.utime(tmp_path / name, (0, 0))
    (tmp_path / name).write_text("x = 1\n" * 5)
    os.utime(tmp_path / name, (0, 0))
    profile, messages = made(recorded, tmp_path / "q.json", "--embed-sources", "--path-map", f"{folder}={tmp_path}")
    assert recorded.program not in contents(profile)
    assert "changed since then" in messages


@pytest.mark.short
def test_sources_have_public_names(recorded, tmp_path):
    folder, name = os.path.split(recorded.program)
    profile, messages = made(recorded, tmp_path / "p.json", "--source-repo", f"github.com/me/app@1f3a={folder}")
    shared = profile["shared"]
    names = {shared["stringArray"][file] for file in shared["sources"]["filename"]}
    assert messages == ""
    assert f"git:github.com/me/app:{name}:1f3a" in names
    assert f"git:github.com/python/cpython:Lib/threading.py:v{recorded.python.full_version}" in names
    assert contents(profile) == {}


def test_origin_is_the_category(recorded, tmp_path):
    profile, _ = made(recorded, tmp_path / "p.json")
    shown = categories(profile)
    assert {shown[name] for name in ("plain", "Mill.grind", "inner", "<module> known")} == {"Your code"}
    assert shown["Thread.run"] == "Standard library"
    assert shown["[idle]"] == "Idle"
    imports = convert("gecko", IMPORTS, "-o", tmp_path / "imports.json")  # of which `recorded` may have no look
    assert imports.code == 0 and categories(gecko_check.load(tmp_path / "imports.json"))["_find_and_load"] == "Imports"
    colors = [category["color"] for category in profile["meta"]["categories"]]
    assert len(set(colors)) == len(colors)


def leaves(profile, thread):
    """{leaf: number of samples, whatever time they stand for}"""
    labels = gecko_check.frame_labels(profile, lambda name, file, line: name)
    frames = profile["shared"]["stackTable"]["frame"]
    return collections.Counter(labels[frames[stack]] for stack in thread["samples"]["stack"])


def test_what_did_not_run_is_idle(recorded, tmp_path):
    profile, _ = made(recorded, tmp_path / "p.json")
    left = succeed(CONVERTERS["collapsed"], "--ids", *COUNTS, "--no-idle", recorded.path)
    ran = stacks.of_collapsed(left.text)
    lacking = re.search(r"warning: (\d+) of \d+ samples lack the status", left.messages)
    unknown = int(lacking[1]) if lacking else 0  # --no-idle leaves them out, here they are no wait: nobody knows
    for thread in profile["threads"]:
        name = stacks.MAIN if thread["isMainThread"] else thread["name"]
        seen = leaves(profile, thread)
        idle, waiting, native = (seen[leaf] for leaf in gecko_check.LEAVES)
        off = thread["samples"]["length"] - sum(stacks.of_thread(ran, name).values())
        # Who waits for the lock may be on a processor.
        assert idle + native <= off <= idle + native + waiting + unknown, name


def test_wrong_values_are_refused(recorded, tmp_path):
    for option, value in (("--path-map", "app=/x"), ("--source-repo", "github.com/me/app=/x"), ("--opcodes=lines", None)):
        ended = convert("gecko", recorded.path, option, *([value] if value else []), "-o", tmp_path / "p.json")
        assert ended.code == 2, ended
        assert f"invalid value '{value or 'lines'}' for {option.partition('=')[0]}" in ended.messages
