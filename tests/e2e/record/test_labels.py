# SPDX-License-Identifier: MIT
"""What threads say that they do, in memory as the Python package writes it: programs/labelled.py writes it by itself, and keeps
account of its time under each label."""

import glob
import gzip
import json
import re

import pytest

import flame_output
from environment import CONVERTERS
from recording import Recorder, attach, collapsed, gaps_of, record_told, run, succeed, wait_until, whole

NAMES = {"request 1", "request 2", "größer ☃"}
# Of 3000 samples of states that last 10 ms: the worst of hundreds of runs lies within four standard deviations.
SPREAD = 0.06


def seconds_of(path, weight="wall", inside="work"):
    """{label: seconds} of the stacks that have a function."""
    found = {}
    for line in collapsed(path, "--functions", "--weight", weight, "--roots", "none").splitlines():
        stack, _, number = line.rpartition(" ")
        frames = [frame.partition(" (")[0] for frame in stack.split(";")]
        if inside in frames:
            label = re.fullmatch(r"<task (.*)>", stack.split(";")[0])
            found[label[1] if label else ""] = found.get(label[1] if label else "", 0) + int(number) / 1e6
    return found


def hold_shares(found, account, spread=SPREAD):
    """The time under each label has the share that the program knows of it."""
    whole_found, whole_account = sum(found.values()), sum(account.values())
    assert found.keys() == account.keys(), (found, account)
    for name, seconds in account.items():
        assert abs(found[name] / whole_found - seconds / whole_account) < spread, (name, found, account)


def record_labelled(path, python, *command, options=(), samples=1500):
    """Records until each label has many samples, however slow the machine is."""
    def enough(found):
        count = {task["name"]: task["samples"] for task in found["tasks"]}
        return found["samples"] >= samples and all(count.get(name, 0) > samples // 50 for name in NAMES)

    recorder = Recorder(*options, "-o", path, "--", *python.command, *command, prefix=python.prefix)
    try:
        recorder.wait_for(path, enough, "samples of each label")
        return recorder.wait()
    finally:
        recorder.close()


def account_of(ended, clock):
    return {name: row[clock] for name, row in json.loads(ended.text.splitlines()[-1]).items()}


@pytest.mark.short
@pytest.mark.pythons("each build")
def test_a_sample_shows_the_label_of_its_moment(python, program, tmp_path):
    path = tmp_path / "a.pyreel"
    ended = record_labelled(path, python, program("labelled"), samples=6000)
    found = whole(path)
    tasks = {task["name"] for task in found["tasks"]}
    assert tasks == NAMES | {"main"}
    hold_shares(seconds_of(path), account_of(ended, "wall"), SPREAD + gaps_of(found))
    assert seconds_of(path, inside="main").keys() <= {"main", ""}


@pytest.mark.pythons("oldest and newest")
@pytest.mark.parametrize("options", [("--disturb", "0"), ("--blocking",), ("-t", "gil"), ("-m", "cpu"), ("--no-cache",)], ids=" ".join)
def test_labels_by_each_way_to_look(options, python, program, tmp_path):
    path = tmp_path / "a.pyreel"
    ended = record_labelled(path, python, program("labelled"), options=options)
    figures, found = whole(path), seconds_of(path)
    assert NAMES <= found.keys() <= NAMES | {""}
    if "--blocking" in options or "--no-cache" in options:  # the others have a part of the time, or mix moments
        hold_shares(found, account_of(ended, "wall"), 2 * SPREAD + gaps_of(figures))


@pytest.mark.pythons("oldest and newest")
def test_labels_of_processes_and_files(start_recorder, python, program, tmp_path):
    """A child has the mapping from its parent, and its own rows. Each file names its labels."""
    def names_so_far():
        """{name: the processes that have it} of all files."""
        found, paths = {}, sorted(glob.glob(str(tmp_path / "a-*.pyreel")))
        told = run(CONVERTERS["info"], "--json", *paths) if paths else None
        for task in json.loads(told.text)["tasks"] if told and told.code == 0 else ():
            found.setdefault(task["name"], set()).add(task["pid"])
        return found

    expected = {"main": 1, "in the child": 1} | dict.fromkeys(NAMES, 2)
    recorder = start_recorder("-f", "--rotate", "500ms", "-o", tmp_path / "a.pyreel", "--", *python.command, program("labelled"), "fork",
                              prefix=python.prefix)
    wait_until(lambda: {name: len(pids) for name, pids in names_so_far().items()} == expected, "labels of both processes")
    later = len(glob.glob(str(tmp_path / "a-*.pyreel"))) + 2
    wait_until(lambda: len(glob.glob(str(tmp_path / "a-*.pyreel"))) >= later, "more files")
    assert recorder.wait().code == 0
    paths = sorted(glob.glob(str(tmp_path / "a-*.pyreel")))
    for part in paths[:-1]:  # the last one has the CPU time of the whole command besides its own
        assert {task["name"] for task in whole(part)["tasks"]} <= expected.keys()
    # Their main threads keep their labels: those of a file in the middle were defined in it anew.
    assert {"main", "in the child"} <= {task["name"] for task in whole(paths[-2])["tasks"]}
    assert {name: len(pids) for name, pids in names_so_far().items()} == expected


@pytest.mark.pythons("newest")
def test_a_mapping_that_comes_late(start, python, program, tmp_path):
    path = tmp_path / "a.pyreel"
    target = start(*python.command, program("labelled"), "late")
    attach(target, path, until=lambda found: NAMES <= {task["name"] for task in found["tasks"]}, prefix=python.prefix)
    target.tell()
    assert target.wait().code == 0
    assert NAMES <= seconds_of(path).keys()


@pytest.mark.pythons("newest")
def test_more_labels_than_there_is_room_for(python, program, tmp_path):
    """A label whose text was replaced before it was read has a number in its place."""
    path = tmp_path / "a.pyreel"
    recorder = Recorder("-o", path, "--", *python.command, program("labelled"), "many", prefix=python.prefix)
    try:
        recorder.wait_for(path, lambda found: len(found["tasks"]) > 30, "many labels")
        assert recorder.wait().code == 0
    finally:
        recorder.close()
    names = {task["name"] for task in whole(path)["tasks"]} - {"main"}
    assert all(re.fullmatch(r"(request [12]|größer ☃) \d+|<label \d+>", name) for name in names), names


@pytest.mark.pythons("newest", since="3.14")
def test_a_label_stands_outside_of_a_task(python, programs, tmp_path):
    """With --async running, a task that a labelled thread runs is the task of the sample."""
    path = tmp_path / "a.pyreel"
    code = (f"import sys; sys.path.insert(0, {programs!r}); import asyncio, labelled, select\n"
            "labelled.labels = labelled.Labels(); labelled.labels.set('outside')\n"
            "async def inside():\n"
            "    while not select.select([0], [], [], 0)[0]: labelled.burn(0.01)\n"
            "async def main(): await asyncio.create_task(inside(), name='a task')\n"
            "asyncio.run(main())\n")
    record_told(path, "--async", "running", "--", *python.command, "-c", code, samples=1000, function="burn", prefix=python.prefix)
    seconds = {True: 0, False: 0}
    for line in collapsed(path, "--functions", "--weight", "wall", "--roots", "none").splitlines():
        if ";burn (" in line:
            assert re.match(r"(<task outside>;)?<module> .*;<task a task>;inside \(", line), line
            seconds[line.startswith("<task outside>")] += int(line.rpartition(" ")[2])
    assert seconds[True] > seconds[False], seconds  # it has no label before the mapping is found
    tasks = {task["name"]: task["samples"] for task in whole(path)["tasks"]}
    assert tasks["a task"] > 4 * tasks.get("outside", 0), tasks


@pytest.mark.pythons("newest")
def test_each_output_has_the_labels(python, program, tmp_path):
    path = tmp_path / "a.pyreel"
    record_labelled(path, python, program("labelled"))
    report = succeed(CONVERTERS["report"], "--by", "task", path).text
    assert all(re.search(rf"^ +\d\.\d+ +\d+\.\d +{re.escape(name)}$", report, re.M) for name in NAMES), report
    roots = {line.split(";")[0] for line in succeed(CONVERTERS["collapsed"], "--roots", "task", path).text.splitlines()}
    assert {f"<task {name}>" for name in NAMES} <= roots or NAMES <= roots, roots
    for name, ending in ("pprof", "pb.gz"), ("gecko", "json.gz"), ("speedscope", "json"), ("flame", "html"), ("otlp", "otlp"):
        made = tmp_path / f"made.{ending}"
        if name not in CONVERTERS:
            continue
        assert run(CONVERTERS[name], "-o", made, path).code == 0
        data = made.read_bytes()
        data = flame_output.data_bytes(data) if name == "flame" else data
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        assert all(word in data for word in (b"request 1", b"request 2")), name
