# SPDX-License-Identifier: MIT
"""A process is called what it calls itself: whole, at each time, and never a path or empty arguments."""
import json

import pytest

from environment import as_root
from recording import attach, convert, info, run_record, whole

FILLER = "x" * 200  # room for titles
EARLY, LONG, LATE = "worker: idle", "worker: GET /a/b?c=d [x] 'y'", "w: end"
ASKED_S = 2  # a title is seen so late, at most: it is asked for once a second

pytestmark = pytest.mark.pythons("oldest and newest")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "titled.pyreel"


@pytest.fixture
def titled(python, program, path):
    """titled((1, "a b"), (2, "c d")): records a program that has each title for so many seconds."""

    def start(*steps):
        command = (*python.prefix, *python.command, program("titles"), json.dumps(steps), FILLER)
        ended = run_record("-o", path, "--", *command, prefix=as_root() if python.root else ())
        assert ended.code == 0, ended
        whole(path)

    return start


def shown(path, *options):
    """What the report calls the processes, or those of a part of the recording."""
    lines = convert("report", path, "--by", "process", *options).text.split("Processes by ")[1].splitlines()
    return [line.split(maxsplit=4)[4] for line in lines if " pid " in line]


def commands(path):
    return [process["command"] for process in info(path)["processes"]]


def quoted(title):
    return "'" + title.replace("'", "'\\''") + "'"


def test_the_title_of_most_of_the_time_is_shown(python, program, start_recorder, path):
    """The program has the title until that is the one of most of the recording, with time to spare for the last title."""
    def is_of_most(found):
        known.append(found["duration_s"] if [process["command"] for process in found["processes"]] == [quoted(LONG)] else None)
        since = next((duration for duration in known if duration is not None), None)
        return known[-1] is not None and found["duration_s"] > 2 * since + ASKED_S

    known = []
    command = (*python.prefix, *python.command, program("titles"), json.dumps([[0.5, EARLY], [None, LONG], [0.5, LATE]]), FILLER)
    recorder = start_recorder("-o", path, "--", *command, prefix=as_root() if python.root else ())
    recorder.wait_for(path, is_of_most, "the long title")
    recorder.tell(b"\n")
    ended = recorder.wait()
    assert ended.code == 0, ended
    whole(path)
    assert shown(path) == [LONG] and commands(path) == [quoted(LONG)]
    profile = json.loads(convert("gecko", path, "-o", "-").output)
    assert {thread["processName"] for thread in profile["threads"]} == {LONG}
    assert convert("collapsed", path, "--roots", "process").text.startswith(LONG)
    assert json.loads(convert("speedscope", path, "-o", "-").output)["name"] == LONG


def test_each_part_has_the_title_of_its_time(titled, path):
    titled((0.5, None), (2 * ASKED_S, EARLY), (2 * ASKED_S, LATE))
    assert "titles.py" in shown(path, "--to", "0.2")[0]
    assert shown(path, "--from", str(0.5 + ASKED_S), "--to", str(0.4 + 2 * ASKED_S)) == [EARLY]
    assert shown(path, "--from", str(0.5 + 3 * ASKED_S)) == [LATE]


def test_firefox_shows_each_title_at_its_time(titled, path):
    titled((0.5, None), (2 * ASKED_S, EARLY), (2 * ASKED_S, LATE))
    profile = json.loads(convert("gecko", path, "-o", "-").output)
    texts, markers = profile["shared"]["stringArray"], profile["threads"][0]["markers"]
    rows = [(texts[data["title"]], markers["startTime"][i], markers["endTime"][i])
            for i, data in enumerate(markers["data"]) if data["type"] == "Title"]
    assert [title for title, _, _ in rows][-2:] == [EARLY, LATE] and "titles.py" in rows[0][0]
    assert all(before[2] == after[1] for before, after in zip(rows, rows[1:]))
    assert rows[-1][2] - rows[-1][1] > 1000 * ASKED_S / 2


def test_a_title_that_is_erased_is_no_title(titled, path):
    titled((0.1, EARLY), (2 * ASKED_S, ""))
    assert shown(path)[0] in (EARLY, "titles.py") and "''" not in commands(path)[0]


def test_a_process_without_any_arguments_has_no_empty_ones(python, program, start, path):
    target = start(*python.command, program("titles"), json.dumps([[1000, ""]]), FILLER)
    attach(target, path, prefix=as_root() if python.root else ())
    assert commands(path) in ([""], [None]) and "''" not in convert("report", path, "--by", "process").text
