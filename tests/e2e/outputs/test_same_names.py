# SPDX-License-Identifier: MIT
"""Who has the name of another is told from it, and nobody who works is hidden by what others of the name do."""
import json
import re

import pytest

import flame_output
from recording import convert, run_record, whole

TOLERANCE_S = 0.15


def check_rows(path, used):
    rows = re.findall(r"^ +(\d+\.\d+) +\d+\.\d+ +\S.*\((\d+)\)$", convert("report", path, "--by", "thread", "--ids").text, re.M)
    seconds = {int(tid): float(total) for total, tid in rows}
    assert len(seconds) == len(rows)
    for tid, (_, spent) in used.items():
        assert abs(seconds[tid] - spent) < TOLERANCE_S, (seconds, used)


def check_headings(path, used):
    """Each is another one, and has the functions of its own thread."""
    text = convert("report", path, "--ids", "--sort", "total", "--top", "50").text
    tables = text.split("Hottest functions by total CPU time: ")[1:]
    headings = [table.split("\n")[0] for table in tables]
    assert len(headings) == len(set(headings)) >= 2
    for tid, (function, _) in used.items():
        own = [table for table in tables if table.split("\n")[0].endswith(f"({tid})")]
        assert len(own) == 1 and f" {function} " in own[0]
    parts = json.loads(convert("report", path, "--ids", "--json").output)["groups"]
    assert len({part["name"] for part in parts}) == len(parts)


def check_tracks(path, used):
    names = [thread["name"] for thread in json.loads(convert("gecko", path, "-o", "-").output)["threads"]]
    assert len(names) == len(set(names))
    profiles = [profile["name"] for profile in json.loads(convert("speedscope", path, "-o", "-").output)["profiles"]]
    assert len(profiles) == len(set(profiles)) and all(any(f"({tid})" in name for name in profiles) for tid in used)


def check_group(path, text, numbers, named):
    """Those who work are named where a group is."""
    found = re.search(r"threads \(" + named + r"\)$", text.replace("\n", " ").replace("Hottest", "\nHottest").replace(")", ")\n"), re.M)
    assert found and sorted(map(int, found.groups())) == numbers, text
    page = path.with_suffix(".html")
    convert("flame", path, "-o", page)
    groups = flame_output.load(page)["groups"]
    assert any(sorted(map(int, re.findall(r"\d+", group.get("busy", "")))) == numbers for group in groups)


@pytest.mark.parametrize("how", ["named", "unnamed", "pooled"])
def test_threads_of_one_name_are_told_apart(python3, program, tmp_path, how):
    path = tmp_path / "same.pyreel"
    ended = run_record("-o", path, "--", python3, program("same_names"), how)
    assert ended.code == 0, ended
    whole(path)
    used = {int(tid): spent for tid, spent in json.loads(ended.text).items()}
    check_rows(path, used)
    check_headings(path, used)
    check_tracks(path, used)
    # The light one has a fifth of the time, and its group waits for most of its own.
    text = convert("report", path, "--top", "50").text
    assert " light " in text
    check_group(path, text, sorted(used), r"tid (\d+), (\d+)")


def test_workers_of_one_title_are_told_apart(python3, program, tmp_path):
    path = tmp_path / "workers.pyreel"
    steps = [[0.5, "master [an application with a name as long as it takes]"], [4, "worker [app]"]]
    ended = run_record("-f", "-o", path, "--", python3, program("titles"), json.dumps(steps), "workers")
    assert ended.code == 0, ended
    whole(path)
    workers = set(re.findall(r"ready (\d+)", ended.text)[1:])
    assert len(workers) == 2
    rows = re.findall(r"pid (\d+) worker \[app\]$", convert("report", path, "--by", "process").text, re.M)
    assert set(rows) == workers and len(rows) == 2
    check_group(path, convert("report", path).text, sorted(map(int, workers)), r"pid (\d+), (\d+)")
    rows = re.findall(r" worker \[app\] \((\d+)\) MainThread \((\d+)\)$", convert("report", path, "--by", "thread", "--ids").text, re.M)
    assert sorted(rows) == sorted((pid, pid) for pid in workers)
    headings = re.findall(r"^Hottest functions by self CPU time: (.*)", convert("report", path, "--ids").text, re.M)
    assert len(headings) == len(set(headings))
    titles = {thread["processName"] for thread in json.loads(convert("gecko", path, "-o", "-").output)["threads"]}
    assert {f"{pid}: worker [app]" for pid in workers} <= titles
    profiles = [profile["name"] for profile in json.loads(convert("speedscope", path, "-o", "-").output)["profiles"]]
    assert {name.split(":")[0] for name in profiles} >= {f"worker [app] {pid}" for pid in workers}
