# SPDX-License-Identifier: MIT
"""Tachyon's files: what it records is converted as its own replay tells it, and it replays what we record."""

import collections
import os
import re
import subprocess
import tempfile

import pytest

import enough
import gecko_check
import made_stream
import pprof_check
import tachyon
from environment import CONVERTERS, as_root
from golden import frozen
from plain_stream import Recording
from recording import COUNTS, convert, end, info, succeed, wait_until

RECORDED = {  # how it records, and what pyreel-info says then
    "main-thread": ([], {"mode": "wall", "threads_option": "main"}),
    "all-threads": (["-a", "-r", "10khz"], {"mode": "wall", "threads_option": "all", "rate_hz": 10000}),
    "cpu": (["-a", "--mode", "cpu"], {"mode": "cpu"}),
    "gil": (["-a", "--mode", "gil"], {"mode": "gil"}),
    "exception": (["-a", "--mode", "exception"], {"mode": "exception"}),
    "opcodes": (["-a", "--opcodes"], {"instructions": True}),
    "native": (["-a", "--native"], {"instructions": False}),
    "plain": (["-a", "--compression", "none"], {}),
}
HOW = [pytest.param(how, marks=pytest.mark.short) if how == "all-threads" else how for how in RECORDED]


@pytest.fixture(scope="module")
def folder():
    """Where its Python sees our files, too."""
    folder = tempfile.mkdtemp(prefix="pyreel-tachyon-", dir="/tmp")
    yield folder
    subprocess.run([*(as_root() or ()), "rm", "-rf", folder], check=True)  # root's Python may have made some of it


@pytest.fixture(scope="module")
def theirs(folder, program):
    """theirs("cpu"): a file that it recorded so, once."""
    made = {}

    def make(how):
        if how not in made:
            path = os.path.join(folder, f"{how}.bin")
            tachyon.attach(path, program, *RECORDED[how][0])
            made[how] = path
        return made[how]

    return make


@pytest.fixture
def ours(folder, tmp_path):
    """ours(RECORDING): the Tachyon file that we make of it."""

    def make(path, *options):
        made = os.path.join(folder, f"{tmp_path.name}-{os.path.basename(path)}.bin")
        succeed(CONVERTERS["tachyon"], *options, "-o", made, path)
        return made

    return make


def difference(ours, theirs):
    return {"only ours": list((ours - theirs).items())[:3], "only theirs": list((theirs - ours).items())[:3]}


# ---- theirs, by us ----

@pytest.mark.parametrize("how", HOW)
def test_what_it_records_is_converted_as_it_replays_it(theirs, how):
    path = theirs(how)
    shown, told, own = tachyon.converted(path), info(path, "--verify"), tachyon.replayed(path)
    assert tachyon.with_frames(shown) == own, difference(tachyon.with_frames(shown), own)
    assert 0 < sum(own.values()) <= told["samples"] == sum(shown.values())
    assert told["format"] == "tachyon" and told["complete"] is True and told["python"].startswith("3.15.")
    assert {key: told[key] for key in RECORDED[how][1]} == RECORDED[how][1]


def test_its_process_is_known(folder, program):
    path = os.path.join(folder, "attached.bin")
    pid = tachyon.attach(path, program, samples=10)
    (process,) = info(path)["processes"]
    assert process["pid"] == pid


MAIN_THREAD = 32  # of a sample's status


@pytest.mark.parametrize("how", ["cpu", "opcodes", "native"])
def test_nothing_that_it_holds_is_lost_on_the_way(theirs, ours, program, how):
    """Through our events and back: places, opcodes, statuses, interpreters, times."""
    before, after = (tachyon.dump(path, program) for path in (theirs(how), ours(theirs(how))))
    kept = collections.Counter()
    mains = {tid for (tid, _, status, _), _ in before["samples"] if status & MAIN_THREAD}
    for (*thread, stack), count in before["samples"]:
        # In a sample that was torn it may not know which is the main thread; to us that is a matter of the thread.
        thread[2] |= MAIN_THREAD if thread[0] in mains else 0
        shown = [frame for frame in stack if not frame[0].endswith("_sync_coordinator.py")]
        if shown or not stack:
            kept[str([*thread, shown or [["~", tachyon.NO_FRAMES, None, None]]])] += count
    assert kept == {str(list(key)): count for key, count in after["samples"]}
    assert after["times"][-1] == before["times"][-1]
    for field in ("start_time_us", "sample_interval_us", "python_version", "mode"):
        assert after["info"][field] == before["info"][field], field
    if how == "opcodes":
        assert len({frame[3] for key, _ in after["samples"] for frame in key[3]}) > 5


def recorded_by_gecko(path):
    succeed(CONVERTERS["gecko"], path)
    return f"{path}.json.gz"


@pytest.mark.parametrize("how", [HOW[1], "opcodes"])
def test_its_files_make_good_profiles(theirs, how, tmp_path):
    path = theirs(how)
    samples = info(path)["samples"]
    profile = gecko_check.load(recorded_by_gecko(path))
    assert gecko_check.problems(profile) == []
    assert sum(thread["samples"]["length"] for thread in profile["threads"]) >= samples
    succeed(CONVERTERS["pprof"], "-o", tmp_path / "out.pb.gz", path)
    message, problems = pprof_check.examine(tmp_path / "out.pb.gz")
    assert [problem for problem in problems if not problem.startswith("time 0, ")] == []  # it has no date
    assert sum(values[0] for _, _, values in pprof_check.summary(message)["samples"]) == samples
    comments = pprof_check.summary(message)["comments"]
    assert any("Python 3.15" in text for text in comments) and not any("cut off" in text for text in comments)
    (rows,) = [part["entries"] for part in profile["meta"]["extra"]]
    assert {row["label"]: row["value"] for row in rows}["Recording"] == "complete: it does not say what ended it"


@pytest.mark.parametrize("name", CONVERTERS)
def test_a_pipe_gives_what_its_file_gives(theirs, name, tmp_path):
    path = theirs("all-threads")
    convert(name, path, "-o", tmp_path / "out")
    with open(path, "rb") as file:
        piped = convert(name, "-", "-o", "-", input=file.read())
    assert (piped.code, piped.messages) == (0, "")
    assert piped.output == (tmp_path / "out").read_bytes() != b""


def test_its_statuses_can_be_asked_for(theirs):
    path = theirs("all-threads")
    everything, held = tachyon.converted(path), succeed(CONVERTERS["collapsed"], *COUNTS, "--mode", "gil", path).text
    assert 0 < sum(int(line.rpartition(" ")[2]) for line in held.splitlines()) < sum(everything.values())
    refused = convert("collapsed", path, "--mode", "cpu")
    assert refused.code == 1 and "its samples do not say" in refused.messages


# ---- ours, by them ----

@pytest.mark.short
@pytest.mark.pythons("oldest and newest")
def test_it_replays_what_we_record(recorded, ours):
    own, shown = tachyon.replayed(ours(recorded.path)), tachyon.converted(recorded.path)
    assert own == shown, difference(shown, own)
    assert sum(own.values()) == recorded.info["samples"]


def count_frames(stacks):
    counts = collections.Counter()
    for stack, samples in stacks:
        counts[stack] += samples
    return counts


MARKS = re.compile(r"\.(?:(?:isra|constprop|part|lto_priv|llvm)\.\d|localalias).*")  # of copies and parts of C functions


@pytest.mark.pythons("oldest and newest")
def test_it_finds_every_field_that_we_recorded(python, program, ours, tmp_path):
    path = enough.record(tmp_path / "a.pyreel", *python.command, program("mix"), 600, prefix=python.prefix,
                         options=["--opcodes", "--native", "--compression", "none"])
    dumped = tachyon.dump(ours(path), program)
    known = {frame[3] for key, _ in dumped["samples"] for frame in key[3] if frame[3]}
    told = count_frames((tuple((file, name, tuple(place) if place else None, opcode) for file, name, place, opcode
                               in key[3]), count) for key, count in dumped["samples"])

    def as_told(frame):
        place = (frame.line, frame.end_line, frame.column, frame.end_column) if frame.line else None
        opcode = frame.instruction if frame.instruction in known else None
        name = frame.function if frame.file else MARKS.sub("", frame.function)
        return frame.file or "~", name, place, opcode

    empty = (("~", tachyon.NO_FRAMES, None, None),)
    wanted = count_frames((tuple(map(as_told, stack)) or empty, count)
                          for stack, count in Recording(path).stacks.items())
    assert told == wanted, difference(wanted, told)
    assert len(known) > 5
    recorded, replayed = info(path), dumped["info"]
    assert replayed["sample_count"] == recorded["samples"]
    assert replayed["mode"] == 0 and replayed["sample_interval_us"] == 1000
    assert replayed["python_version"] == [3, 15, 0 if python.minor != 15 else int(python.full_version.split(".")[2])]
    assert abs(replayed["duration_sec"] - recorded["duration_s"]) < 0.01
    threads = {(thread["tid"], thread["main"]) for thread in recorded["threads"] if thread["samples"]}
    assert {(key[0], bool(key[2] & 32)) for key, _ in dumped["samples"]} == threads


@pytest.mark.pythons("newest")
@pytest.mark.parametrize("output", ["--flamegraph", "--heatmap", "--gecko", "--jsonl", "--pstats"])
def test_all_that_it_makes_can_be_made_of_ours(recorded, ours, output):
    out, samples = tachyon.replay(ours(recorded.path), output)
    assert samples == recorded.info["samples"]
    page = os.path.join(out, "index.html") if os.path.isdir(out) else out
    with open(page, "rb") as file:
        assert b"grind" in file.read() or output == "--heatmap"


@pytest.mark.pythons("newest")
def test_it_replays_a_part_of_what_we_record(recorded, ours):
    length, threads = recorded.info["duration_s"], recorded.info["threads"]
    parts = [["--from", length / 3, "--to", length / 3 * 2], ["--threads", max(threads, key=lambda t: t["samples"])["tid"]]]
    for part in (*parts, parts[0] + parts[1]):
        made = ours(recorded.path, *part)
        own, shown = tachyon.replayed(made), tachyon.converted(recorded.path, *part)
        assert own == shown, difference(shown, own)
        wanted = info(recorded.path, *part)
        assert 0 < sum(own.values()) == wanted["samples"] < recorded.info["samples"]
        from_s = wanted["part"]["from_s"]
        assert from_s < info(made)["duration_s"] <= from_s + wanted["duration_s"] + 0.05  # it ends with its last sample


@pytest.mark.parametrize("mode, case", [("cpu", "cpu-mode-3.13"), ("gil", "gil-mode-3.12"), ("exception", "exception-mode-3.14")])
def test_modes_go_along(ours, mode, case):
    made = ours(frozen(case))
    assert info(made)["mode"] == mode
    own = tachyon.replayed(made)
    assert own == tachyon.converted(frozen(case))
    assert sum(own.values()) > 5


DEPTHS = (255, 256, 257, 1000)


def test_of_deep_stacks_both_ends_are_shown(folder, tmp_path):
    stacks = [[(f"f{line}", "f.py", line) for line in range(1, depth + 1)] for depth in DEPTHS]
    made_stream.write(tmp_path / "a.pyreel", made_stream.Samples(stacks), pid=1, start_unix_ns=1)
    made = os.path.join(folder, "deep.bin")
    ended = convert("tachyon", tmp_path / "a.pyreel", "-o", made)
    assert ended.code == 0
    assert "more than the 256 frames" in ended.messages
    frames = [f"f.py:f{line}:{line}" for line in range(1, 1001)]
    wanted = [frames[:depth] if depth <= 256 else [*frames[:127], "<frames left out>", *frames[depth - 128:depth]] for depth in DEPTHS]
    assert tachyon.replayed(made) == {(1, tuple(stack)): 1 for stack in wanted}


# ---- what is not whole ----

def test_one_whose_recorder_was_killed_is_refused(program, start, folder, tmp_path):
    for how_much, word in (("little", "it is empty"), ("much", "was never finished")):
        path = os.path.join(folder, f"killed-{how_much}.bin")
        target = start(*tachyon.command(), program("tachyon_write"), path, how_much)
        end(target.pid)
        wait_until(lambda: not target.running, "its end")
        assert (os.path.getsize(path) > 0) == (how_much == "much")
        for name in CONVERTERS:
            ended = convert(name, path, "-o", tmp_path / "out")
            assert (ended.code, ended.output) == (1, b"")
            assert word in ended.messages
        assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", [pytest.param("collapsed", marks=pytest.mark.short), *(name for name in CONVERTERS if name != "collapsed")])
def test_one_that_is_cut_off_or_changed_is_refused_or_converted(theirs, name, tmp_path):
    with open(theirs("plain"), "rb") as file:
        data = file.read()
    for size in range(1, len(data), len(data) // 20):
        ended = convert(name, "-", "-o", tmp_path / "out", input=data[:size])
        assert ended.code == 1 and ended.messages, size
    for at in range(0, len(data), len(data) // 40):
        changed = bytearray(data)
        changed[at] ^= 0x55
        ended = convert(name, "-", "-o", tmp_path / "out", input=bytes(changed))
        assert ended.code in (0, 1) and bool(ended.code) == bool(ended.messages), at
