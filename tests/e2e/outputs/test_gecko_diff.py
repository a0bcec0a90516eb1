# SPDX-License-Identifier: MIT
"""pyreel-gecko --diff: two runs of a program whose second run has a slower function, as the file and the viewer have them."""

import collections
import itertools
import pathlib
import re
import shutil

import pytest

import gecko_check
import made_stream
from environment import PROJECT
from recording import CONVERTERS, info, run, succeed
from viewers import opened

pytestmark = pytest.mark.short

STREAMS = pathlib.Path(PROJECT) / "tests" / "streams"
# Real ones: two threads, another rate and another Python each.
REAL = [STREAMS / case / "recording.pyreel" for case in ("threads-3.11", "gil-thread-3.15")]
MOST = {"parsing": 100, "sorting": 100, "storing": 100}  # ms of OLD
MORE = {"parsing": 0, "sorting": 300, "storing": 0}


def make(path, factor, moved):
    """A run of a program whose function sorting() takes `factor` times as long as in a run with 1."""
    file, rows = f"/srv/{path.stem}/app.py", []
    for _ in range(4):
        for line, (name, ms) in enumerate(MOST.items()):
            stack = [("<module>", file, 40 + moved), (name, file, 10 * line + 10 + moved), ("burn", file, 3 + moved)]
            rows += [stack] * (ms // 4 * (factor if name == "sorting" else 1))
    made_stream.write(path, made_stream.Samples(rows), pid=7, start_unix_ns=1_700_000_000_000_000_000)
    return path


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    """NEW is another version of the program: its functions are on later lines of a file in another folder."""
    folder = tmp_path_factory.mktemp("diff")
    return make(folder / "old.pyreel", 1, 0), make(folder / "new.pyreel", 4, 5)


def compare(tmp_path, *arguments):
    path = tmp_path / "diff.json"
    ended = succeed(CONVERTERS["gecko"], "--diff", "--force", "-o", path, *arguments)
    return gecko_check.load(path), ended.messages


def differences(profile):
    """{function: milliseconds} of the comparison; recursion counts once."""
    thread = profile["threads"][0]
    sums = collections.Counter()
    for name, (_, total) in gecko_check.function_times(profile, thread).items():
        sums[name.split(" ")[0]] += total
    return sums


def seconds_of(profile, prefix):
    """The time of the samples of a recording, {function: seconds}, by its own tracks."""
    sums = collections.Counter()
    for thread in profile["threads"][1:]:
        if thread["processName"].startswith(prefix):
            for name, (_, total) in gecko_check.function_times(profile, thread).items():
                sums[name.split(" ")[0]] += total / 1000
    return sums


def row(profile, label):
    return next(entry["value"] for group in profile["meta"]["extra"] if group["label"] == "Comparison"
                for entry in group["entries"] if entry["label"] == label)


def test_the_slower_function_is_slower_by_what_it_takes(sides, tmp_path):
    profile, messages = compare(tmp_path, "--scale", "time", *sides)
    shown = differences(profile)
    assert {name: shown[name] for name in MORE} == pytest.approx(MORE)
    assert "compared by time: each second of old counts -1, each of new counts 1" in messages
    assert profile["meta"]["product"].startswith("new compared with old ")
    assert profile["meta"]["initialSelectedThreads"] == [0]
    assert list(dict.fromkeys(thread["processName"] for thread in profile["threads"])) == ["new compared with old", "BASE old: app.py",
                                                                       "NEW new: app.py"]


def test_the_viewer_shows_the_same_tree(tmp_path):
    profile, _ = compare(tmp_path, *REAL)
    shown = differences(profile)
    with opened(tmp_path / "diff.json") as viewer:
        theirs = {function["name"]: function["totalSamples"] for function in viewer.functions("t-0")}
    for name in ("spin", "two"):
        assert theirs[name] == pytest.approx(shown[name], abs=0.01) and shown[name] < -100, theirs


@pytest.mark.parametrize("which", ["made", "real"])
def test_each_difference_is_that_of_the_tracks(sides, tmp_path, which):
    """The tracks of the recordings keep their own times, and the comparison is what they differ by. A function that moved is
    one function."""
    profile, _ = compare(tmp_path, "--weight", "wall", "--scale", "time", *(sides if which == "made" else REAL))
    shown, before, after = differences(profile), seconds_of(profile, "BASE "), seconds_of(profile, "NEW ")
    assert ({*MOST, "burn"} if which == "made" else {"spin", "two"}) <= set(before) & set(after)
    for name in set(before) | set(after):
        assert shown[name] == pytest.approx((after[name] - before[name]) * 1000, abs=0.1), name


def test_by_work_both_recordings_count_the_same(tmp_path):
    profile, messages = compare(tmp_path, "--scale", "work", *REAL)
    weights = profile["threads"][0]["samples"]["weight"]
    assert "compared by work: " in messages
    names = [profile["shared"]["stringArray"][name] for name in profile["shared"]["funcTable"]["name"]]
    stacks, frames = profile["shared"]["stackTable"], profile["shared"]["frameTable"]
    work = sum(weight for stack, weight in zip(profile["threads"][0]["samples"]["stack"], weights)
               if names[frames["func"][stacks["frame"][stack]]] not in ("[idle]", "[waiting for GIL]"))
    assert work == pytest.approx(0, abs=0.1)
    assert row(profile, "Scaled by") == "work"
    everything, working = (float(number) for number in re.findall(r"([\d.]+) s\b", row(profile, "BASE")))
    assert 0 < working <= 0.6 * everything  # its threads are idle for the rest


def test_a_function_is_slower_by_its_share_of_the_work(sides, tmp_path):
    shown = differences(compare(tmp_path, "--scale", "work", *sides)[0])
    assert {name: shown[name] for name in MOST} == pytest.approx({"parsing": -100, "sorting": 200, "storing": -100})


def test_a_part_is_no_whole_run(tmp_path):
    profile, _ = compare(tmp_path, "--from", "100ms", "--to", "400ms", *REAL)
    assert row(profile, "Scaled by") == "work"
    assert all(100 <= time <= 400 + 20 for thread in profile["threads"] for time in thread["samples"]["time"])


def test_cpu_is_compared(tmp_path):
    profile, _ = compare(tmp_path, "--weight", "cpu", "--scale", "time", *REAL)
    total = sum(profile["threads"][0]["samples"]["weight"])
    known = [sum(thread["cpu_s"] for thread in info(path)["threads"]) for path in REAL]
    assert total == pytest.approx((known[1] - known[0]) * 1000, abs=2)


def test_options_keep_the_comparison(tmp_path):
    """The comparison has all samples, however many the tracks keep, and is the same in the compact form."""
    whole, _ = compare(tmp_path, *REAL)
    thin, _ = compare(tmp_path, "--max-samples", 100, "--compact", *REAL)
    assert sum(thread["samples"]["length"] for thread in thin["threads"][1:]) <= 100
    for column in ("weight", "stack"):
        assert thin["threads"][0]["samples"][column] == whole["threads"][0]["samples"][column]
    times = thin["threads"][0]["samples"].get("time") or list(itertools.accumulate(thin["threads"][0]["samples"]["timeDeltas"]))
    assert times == pytest.approx(whole["threads"][0]["samples"]["time"], abs=1e-4)
    safe, _ = compare(tmp_path, "--sanitize", *REAL)
    assert safe["meta"]["product"].startswith("recording 2 compared with recording 1 ")


def test_base_is_the_first_argument(sides, tmp_path):
    old, new = sides
    profile, _ = compare(tmp_path, "--scale", "time", new, old)
    assert differences(profile)["sorting"] == pytest.approx(-300)
    assert profile["meta"]["product"].startswith("old compared with new ")


@pytest.mark.parametrize("copied", [False, True])
def test_a_recording_does_not_differ_from_itself(tmp_path, copied):
    old = REAL[0]
    other = shutil.copy(old, tmp_path / "copy.pyreel") if copied else old
    for options in ((), ("--scale", "work", "--weight", "cpu")):
        profile, _ = compare(tmp_path, *options, old, other)
        assert profile["threads"][0]["samples"]["length"] == 0
        assert row(profile, "Slower stacks") == "0.000 s more" and row(profile, "Faster stacks") == "0.000 s less"


def test_what_else_differs_is_said(sides, tmp_path):
    _, messages = compare(tmp_path, "-q", REAL[0], sides[0])
    assert "warning: BASE and NEW ran on different hosts" in messages
    _, messages = compare(tmp_path, "-q", *REAL)
    assert "warning: BASE ran with Python 3.11.2 and NEW with Python 3.15.2" in messages and "hosts" not in messages


@pytest.mark.parametrize("arguments, message", [
    (["--diff", "OLD"], "--diff compares two recordings; name BASE and NEW, in this order"),
    (["--diff", "OLD", "NEW", "NEW"], "--diff compares two recordings; name BASE and NEW, in this order"),
    (["--diff", "--weight", "samples", "OLD", "NEW"], "--diff compares times"),
    (["--scale", "work", "OLD", "NEW"], "--scale says how --diff compares; name --diff"),
    (["--diff", "OLD", "-"], "standard input (-) cannot be one of several recordings"),
])
def test_misuse(sides, tmp_path, arguments, message):
    names = {"OLD": sides[0], "NEW": sides[1]}
    ended = run(CONVERTERS["gecko"], "-o", tmp_path / "out.json", *(names.get(word, word) for word in arguments))
    assert ended.code == 2 and message in ended.messages, ended
    assert not (tmp_path / "out.json").exists()


def test_both_recordings_are_needed(sides, tmp_path):
    """A merge leaves out what it cannot read. A comparison cannot."""
    (tmp_path / "none.pyreel").write_bytes(b"no recording")
    for paths in itertools.permutations([sides[0], tmp_path / "none.pyreel"]):
        ended = run(CONVERTERS["gecko"], "--diff", "-o", tmp_path / "out.json", *paths)
        assert ended.code == 1 and "cannot convert" in ended.messages and "none.pyreel" in ended.messages, ended
        assert not (tmp_path / "out.json").exists()
    ended = run(CONVERTERS["gecko"], "--diff", "-o", tmp_path / "out.json", "--threads", "nobody", *sides)
    assert ended.code == 1, ended
