# SPDX-License-Identifier: MIT
"""pyreel-gecko --diff: two runs of a program whose second run has a slower function, as the viewer shows them."""

import collections
import itertools
import json
import re
import shutil

import pytest

import gecko_check
from environment import PROJECT
from recording import CONVERTERS, info, run, run_record, succeed
from viewers import opened

# The program counts its own time: it works for a number of loops whose length it measures, and prints the times.
PROGRAM = """
import json, sys, threading, time
spent = dict.fromkeys(("parsing", "sorting", "storing"), 0)
def burn(until):
    while time.perf_counter() < until:
        pass
def counted(name, seconds):
    began = time.perf_counter()
    burn(began + seconds)
    spent[name] += time.perf_counter() - began
def parsing(seconds):
    counted("parsing", seconds)
def sorting(seconds):
    counted("sorting", seconds)
def storing(seconds):
    counted("storing", seconds)
for turn in range(4):
    parsing(0.05)
    sorting(0.05 * int(sys.argv[1]))
    storing(0.05)
print(json.dumps(spent))
"""

pytestmark = pytest.mark.pythons("newest")

# What the second version has more: a thread that only waits.
WAITER = """# new
import threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
"""

Side = collections.namedtuple("Side", "path spent")


def record(python3, folder, factor, head="", rate=1000):
    """A run in a folder of its own. Its function sorting() takes `factor` times as long as in a run with 1."""
    folder.mkdir()
    (folder / "app.py").write_text(head + PROGRAM)
    path = folder / f"{folder.name}.pyreel"
    ended = run_record("-q", "-r", rate, "-o", path, "--", python3, "app.py", factor, cwd=folder)
    assert ended.code == 0, ended
    return Side(path, json.loads(ended.text))


@pytest.fixture(scope="module")
def sides(python3, tmp_path_factory):
    """NEW is another version of the program: its functions are on later lines of a file in another folder. It was recorded
    with another rate."""
    folder = tmp_path_factory.mktemp("diff")
    return record(python3, folder / "old", 1), record(python3, folder / "new", 4, head=WAITER, rate=700)


def compare(tmp_path, *arguments):
    path = tmp_path / "diff.json"
    ended = succeed(CONVERTERS["gecko"], "--diff", "-o", path, *arguments)
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


def chance_ms(*sides):
    """The program says the truth, and looks see each function for as long as it lasts, but for a share of a look in each of
    its calls, and for the ticks that the recorder missed."""
    known = [info(side.path) for side in sides]
    return 40 + sum(one["missed"] * 1000 / one["rate_hz"] for one in known)


def test_the_slower_function_is_slower_by_what_the_program_says(sides, tmp_path):
    old, new = sides
    profile, messages = compare(tmp_path, "--scale", "time", old.path, new.path)
    shown = differences(profile)
    for name in old.spent:
        expected = (new.spent[name] - old.spent[name]) * 1000
        assert shown[name] == pytest.approx(expected, abs=chance_ms(old, new)), (name, shown)
    assert shown["sorting"] > 300
    assert "compared by time: each second of old counts -1, each of new counts 1" in messages
    assert profile["meta"]["product"].startswith("new compared with old ")
    assert profile["meta"]["initialSelectedThreads"] == [0]
    assert list(dict.fromkeys(thread["processName"] for thread in profile["threads"])) == ["new compared with old", "BASE old: app.py",
                                                                       "NEW new: app.py"]


def test_the_viewer_shows_the_same_tree(sides, tmp_path):
    old, new = sides
    profile, _ = compare(tmp_path, old.path, new.path)
    shown = differences(profile)
    with opened(tmp_path / "diff.json") as profiler:
        functions = profiler.ask("thread", "functions", "--thread", "t-0", "--include-idle", "--limit", "0")["functions"]
    theirs = {function["name"].split("!")[-1]: function["totalSamples"] for function in functions}
    for name in old.spent:
        assert theirs[name] == pytest.approx(shown[name], abs=0.01), theirs


def test_each_difference_is_that_of_the_tracks(sides, tmp_path):
    """The tracks of the recordings keep their own times, and the comparison is what they differ by. A function that moved is
    one function."""
    old, new = sides
    profile, _ = compare(tmp_path, "--weight", "wall", "--scale", "time", old.path, new.path)
    shown, before, after = differences(profile), seconds_of(profile, "BASE old"), seconds_of(profile, "NEW new")
    assert set(old.spent) | {"burn", "counted"} <= set(before) & set(after)
    for name in set(before) | set(after):
        assert shown[name] == pytest.approx((after[name] - before[name]) * 1000, abs=0.1), name


def test_by_work_both_recordings_count_the_same(sides, tmp_path):
    old, new = sides
    profile, messages = compare(tmp_path, "--scale", "work", old.path, new.path)
    weights = profile["threads"][0]["samples"]["weight"]
    assert "compared by work: " in messages
    names = [profile["shared"]["stringArray"][name] for name in profile["shared"]["funcTable"]["name"]]
    stacks, frames = profile["shared"]["stackTable"], profile["shared"]["frameTable"]
    work = sum(weight for stack, weight in zip(profile["threads"][0]["samples"]["stack"], weights)
               if names[frames["func"][stacks["frame"][stack]]] not in ("[idle]", "[waiting for GIL]"))
    assert work == pytest.approx(0, abs=0.1)
    assert differences(profile)["parsing"] < 0 < differences(profile)["sorting"]
    assert row(profile, "Scaled by") == "work"
    everything, working = (float(number) for number in re.findall(r"([\d.]+) s\b", row(profile, "NEW")))
    assert 0 < working <= 0.6 * everything  # the waiting thread is half of all, and no work


def test_a_part_is_no_whole_run(sides, tmp_path):
    old, new = sides
    profile, _ = compare(tmp_path, "--from", "100ms", "--to", "400ms", old.path, new.path)
    assert row(profile, "Scaled by") == "work"
    assert all(100 <= time <= 401 + 1 for thread in profile["threads"] for time in thread["samples"]["time"])


def test_cpu_is_compared(sides, tmp_path):
    old, new = sides
    profile, _ = compare(tmp_path, "--weight", "cpu", "--scale", "time", old.path, new.path)
    total = sum(profile["threads"][0]["samples"]["weight"])
    known = [sum(thread["cpu_s"] for thread in info(side.path)["threads"]) for side in sides]
    assert total == pytest.approx((known[1] - known[0]) * 1000, abs=2)


def test_options_keep_the_comparison(sides, tmp_path):
    """The comparison has all samples, however many the tracks keep, and is the same in the compact form."""
    old, new = sides
    whole, _ = compare(tmp_path, old.path, new.path)
    thin, _ = compare(tmp_path, "--max-samples", 100, "--compact", old.path, new.path)
    assert sum(thread["samples"]["length"] for thread in thin["threads"][1:]) <= 100
    for column in ("weight", "stack"):
        assert thin["threads"][0]["samples"][column] == whole["threads"][0]["samples"][column]
    times = thin["threads"][0]["samples"].get("time") or list(itertools.accumulate(thin["threads"][0]["samples"]["timeDeltas"]))
    assert times == pytest.approx(whole["threads"][0]["samples"]["time"], abs=1e-4)
    safe, _ = compare(tmp_path, "--sanitize", old.path, new.path)
    assert safe["meta"]["product"].startswith("recording 2 compared with recording 1 ")


def test_base_is_the_first_argument(sides, tmp_path):
    old, new = sides
    profile, _ = compare(tmp_path, "--scale", "time", new.path, old.path)
    assert differences(profile)["sorting"] < -300
    assert profile["meta"]["product"].startswith("old compared with new ")


@pytest.mark.parametrize("copied", [False, True])
def test_a_recording_does_not_differ_from_itself(sides, tmp_path, copied):
    old, _ = sides
    other = shutil.copy(old.path, tmp_path / "copy.pyreel") if copied else old.path
    for options in ((), ("--scale", "work", "--weight", "cpu")):
        profile, _ = compare(tmp_path, *options, old.path, other)
        assert profile["threads"][0]["samples"]["length"] == 0
        assert row(profile, "Slower stacks") == "0.000 s more" and row(profile, "Faster stacks") == "0.000 s less"
    with opened(tmp_path / "diff.json") as profiler:
        assert profiler.ask("thread", "functions", "--thread", "t-0", "--include-idle", "--limit", "0")["functions"] == []


def test_what_else_differs_is_said(sides, tmp_path):
    """A recording of another Python on another host."""
    old, _ = sides
    _, messages = compare(tmp_path, "-q", old.path, f"{PROJECT}/tests/streams/threads-3.11/recording.pyreel")
    assert "warning: BASE and NEW ran on different hosts" in messages
    assert ("warning: BASE ran with Python" in messages) == (info(old.path)["python"] != "3.11.2")


@pytest.mark.parametrize("arguments, message", [
    (["--diff", "OLD"], "--diff compares two recordings; name BASE and NEW, in this order"),
    (["--diff", "OLD", "NEW", "NEW"], "--diff compares two recordings; name BASE and NEW, in this order"),
    (["--diff", "--weight", "samples", "OLD", "NEW"], "--diff compares times"),
    (["--scale", "work", "OLD", "NEW"], "--scale says how --diff compares; name --diff"),
    (["--diff", "OLD", "-"], "standard input (-) cannot be one of several recordings"),
])
def test_misuse(sides, tmp_path, arguments, message):
    names = {"OLD": sides[0].path, "NEW": sides[1].path}
    ended = run(CONVERTERS["gecko"], "-o", tmp_path / "out.json", *(names.get(word, word) for word in arguments))
    assert ended.code == 2 and message in ended.messages, ended
    assert not (tmp_path / "out.json").exists()


def test_both_recordings_are_needed(sides, tmp_path):
    """A merge leaves out what it cannot read. A comparison cannot."""
    (tmp_path / "none.pyreel").write_bytes(b"no recording")
    for paths in itertools.permutations([sides[0].path, tmp_path / "none.pyreel"]):
        ended = run(CONVERTERS["gecko"], "--diff", "-o", tmp_path / "out.json", *paths)
        assert ended.code == 1 and "cannot convert" in ended.messages and "none.pyreel" in ended.messages, ended
        assert not (tmp_path / "out.json").exists()
    ended = run(CONVERTERS["gecko"], "--diff", "-o", tmp_path / "out.json", "--threads", "nobody", *(s.path for s in sides))
    assert ended.code == 1, ended
