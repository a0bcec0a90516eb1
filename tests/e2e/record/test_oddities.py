# SPDX-License-Identifier: MIT
"""Names, tables and threads that are out of the ordinary are shown as they are, or cut, and never cost a sample."""

import json
import re

import pytest

import stacks
from environment import as_root
from recording import CHANGES, attach, collapsed, convert, info, record_told, whole

CUT = re.compile(r"\.\.\.#[0-9a-f]{16}")  # the mark of a name that was cut
KEPT = 1000  # bytes of such a name


@pytest.fixture
def odd(python, program, start, tmp_path):
    """odd("long_name"): the stacks of a program of this kind, by thread."""
    prefix = as_root() if python.root else ()

    def record(kind, *arguments):
        target = start(*python.command, program("odd"), kind, *arguments)
        path = tmp_path / "odd.pyreel"
        attach(target, path, prefix=prefix)
        assert whole(path)["failures"].keys() <= CHANGES
        return stacks.of_collapsed(collapsed(path, "--full-paths"))

    return record


def above_spin(threads):
    """Who calls spin(), in most samples of the main thread."""
    counted = stacks.of_thread(threads, stacks.MAIN)
    stack = max(counted, key=counted.get)
    names = [frame[0] for frame in stack]
    assert names[0] == "<module>" and names[-1] == "spin", stack
    return stack[-2]


@pytest.mark.short
@pytest.mark.sanitized("a name of 70,000 characters")
@pytest.mark.pythons("oldest and newest")
def test_a_long_name_is_cut_and_the_frame_stays(odd):
    name, file, line = above_spin(odd("long_name"))
    assert name[:KEPT] == "n" * KEPT and CUT.fullmatch(name[KEPT:])
    assert (file, line) == ("/made/long_name.py", 2)


@pytest.mark.pythons("oldest and newest")
def test_a_long_file_name_is_cut_and_the_frame_stays(odd):
    name, file, line = above_spin(odd("long_file"))
    assert (name, line) == ("short", 2)
    assert file[:KEPT] == "/" + "f" * (KEPT - 1) and CUT.fullmatch(file[KEPT:])


@pytest.mark.sanitized("a line table of 12,000 lines")
@pytest.mark.pythons("oldest and newest")
def test_a_line_behind_a_large_table_is_known(odd):
    assert above_spin(odd("large_table")) == ("large", "/made/large.py", 12003)


@pytest.mark.short
@pytest.mark.sanitized("names of two and four bytes a character")
@pytest.mark.pythons("oldest and newest")
@pytest.mark.parametrize("table", ["none", "no_locations", "cut", "endless", "wild"])
def test_a_table_of_lines_that_says_nothing(odd, table):
    """Tools that make bytecode leave lines out, or write what they like: the function is known, and its line is not."""
    name, file, line = above_spin(odd("made_table", table))
    assert (name, file) == ("made", "/made/table.py")
    assert line == 0 or table in ("cut", "wild")


def test_names_in_other_scripts(odd):
    assert above_spin(odd("other_scripts")) == ("数え上げ", "/made/größe/名前.py", 2)


@pytest.mark.short
@pytest.mark.parametrize("title", ["dask worker [tcp://127.0.0.1:38949]", "pool/3", "it's /a: [app]", "ray::Task.f()"])
@pytest.mark.pythons("oldest and newest")
def test_a_title_is_whole_and_has_no_path_and_no_arguments(odd, tmp_path, title):
    odd("titled", title)
    path = tmp_path / "odd.pyreel"
    assert "''" not in info(path)["processes"][0]["command"].replace("'\\''", "")
    assert f" {title}\n" in convert("report", path, "--by", "process").text
    profile = json.loads(convert("gecko", path, "-o", "-").output)
    assert {thread["processName"] for thread in profile["threads"]} == {title}


@pytest.mark.sanitized("a thread name with brackets")
@pytest.mark.pythons("oldest and newest")
def test_a_thread_name_may_have_any_characters(odd):
    threads = odd("named_thread")
    assert "a b) (1) R: x" in stacks.names(threads)  # a semicolon stands between frames
    assert stacks.samples(stacks.of_thread(threads, "a b) (1) R: x"), "spin") > 0


@pytest.mark.pythons("oldest and newest")
def test_a_library_of_python_that_is_loaded_again_is_no_other_python(odd):
    assert above_spin(odd("loads_itself"))[0] == "loads_itself"


def test_processes_of_a_pool_find_what_is_sent_to_them(python3, program, tmp_path):
    ended = record_told(tmp_path / "p.pyreel", "-q", "--", python3, program("pool"))
    assert ended.code == 7, ended
