# SPDX-License-Identifier: MIT
"""Several recordings become one profile; a part of a recording is what it says."""

import collections
import concurrent.futures
import itertools
import json
import os
import re

import pytest

import gecko_check
import made_stream
import pprof_check
from environment import CONVERTERS
from golden import frozen
from plain_stream import dated, started_later
from recording import COUNTS, convert, counting, info, run, succeed

pytestmark = pytest.mark.short

GAP_NS = 500_000_000  # between the starts of two shards

Shard = collections.namedtuple("Shard", "path function info")


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Two recordings with the same file name, made at the same time; the second, which is named first, with a lower rate."""
    folder = tmp_path_factory.mktemp("merge")
    first = frozen("threads-3.11")
    made = []
    for number, function, data in ((1, "spin", first.read_bytes()),
                                   (2, "work", dated(frozen("plain-3.11").read_bytes(), info(first)["start_unix_ns"] + GAP_NS))):
        path = folder / f"shard-{number}" / "run.pyreel"
        path.parent.mkdir()
        path.write_bytes(data)
        made.append(Shard(path, function, info(path, "--verify")))
    return made[::-1]


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """A recording, and another one with the same samples, numbers and date."""
    folder = tmp_path_factory.mktemp("twins")
    path, twin = folder / "run.pyreel", folder / "twin.pyreel"
    path.write_bytes(frozen("plain-3.11").read_bytes())
    twin.write_bytes(started_later(path.read_bytes()))
    return [Shard(file, "work", info(file)) for file in (path, twin)]


RATES_DIFFER = ("pyreel-collapsed: warning: the recordings have different rates, so their numbers of samples cannot be "
                "compared; use --weight wall\n")


def rates_differ(shards):
    return len({shard.info["rate_hz"] for shard in shards}) > 1


def paths(shards):
    return [shard.path for shard in shards]


def collapsed_of(shards, *options):
    ended = succeed(CONVERTERS["collapsed"], "--ids", *counting(options), *paths(shards))
    assert ended.messages == (RATES_DIFFER if rates_differ(shards) and "wall" not in options else "")
    lines = [line.rpartition(" ") for line in ended.text.splitlines()]
    return {stack: int(count) for stack, _, count in lines}


def gecko_of(folder, shards, *options):
    output = folder / "merged.json.gz"
    succeed(CONVERTERS["gecko"], "-o", output, *options, *paths(shards))
    profile = gecko_check.load(output)
    assert gecko_check.problems(profile) == []
    return profile


def pprof_of(folder, shards, *options):
    output = folder / "merged.pb.gz"
    succeed(CONVERTERS["pprof"], "-o", output, *options, *paths(shards))
    profile, problems = pprof_check.examine(output)
    assert problems == []
    return profile


def samples_of(lines, words):
    return sum(count for stack, count in lines.items() if words in stack)


# ---- several ----

def test_collapsed_tells_recordings_apart(shards):
    lines = collapsed_of(shards)
    assert sum(lines.values()) == sum(shard.info["samples"] for shard in shards)
    for shard in shards:
        pid, name = shard.info["processes"][0]["pid"], f"{shard.path.parent.name}/run.pyreel"
        process = [stack for stack in lines if shard.function in stack]
        assert process
        assert all(stack.startswith(f"pid {pid}: ") and f" ({name});" in stack for stack in process)
        assert samples_of(lines, f" ({name});") == shard.info["samples"]


def test_time_is_that_of_each_recording(shards):
    lines = collapsed_of(shards, "--weight", "wall")
    for shard in shards:
        wall_s = sum(thread["wall_s"] for thread in shard.info["threads"])
        assert samples_of(lines, f"({shard.path.parent.name}/") / 1e6 == pytest.approx(wall_s, rel=0.01)


def test_pprof_has_a_label_for_the_recording(shards, tmp_path):
    summary = pprof_check.summary(pprof_of(tmp_path, shards))
    totals = collections.Counter()
    for stack, labels, values in summary["samples"]:
        totals[labels["recording"], "samples"] += values[0]
        totals[labels["recording"], "wall"] += values[1]
    for shard in shards:
        name = f"{shard.path.parent.name}/run.pyreel"
        assert totals[name, "samples"] == shard.info["samples"]
        wall_s = sum(thread["wall_s"] for thread in shard.info["threads"])
        assert totals[name, "wall"] / 1e9 == pytest.approx(wall_s, rel=0.01)


def test_gecko_puts_them_on_one_time_line(shards, tmp_path):
    profile = gecko_of(tmp_path, shards, "--weight", "wall")
    starts = {shard.function: shard.info["start_unix_ns"] for shard in shards}
    begin = min(starts.values())
    assert profile["meta"]["startTime"] == pytest.approx(begin / 1e6, abs=0.01)
    for shard in shards:
        threads = [thread for thread in profile["threads"] if thread["processName"].startswith(f"{shard.path.parent.name}/")]
        assert len({thread["pid"] for thread in threads}) == 1 and len(threads) == 2
        assert sum(thread["samples"]["length"] for thread in threads) == shard.info["samples"]
        first = min(thread["samples"]["time"][0] for thread in threads)
        offset = (shard.info["start_unix_ns"] - begin) / 1e6
        assert offset <= first < offset + 100  # two ticks of the slower one
        weights = sum(weight for thread in threads for weight in thread["samples"]["weight"])
        assert weights == pytest.approx(1000 * sum(thread["wall_s"] for thread in shard.info["threads"]), rel=0.001)
        assert {thread["samples"]["weightType"] for thread in threads} == {"tracing-ms"}
    assert max(starts.values()) - begin == GAP_NS


def test_the_same_pid_twice_is_two_processes(twins, tmp_path):
    samples = twins[0].info["samples"]
    lines = collapsed_of(twins)
    assert samples_of(lines, "(run);") == samples_of(lines, "(twin);") == samples
    profile = gecko_of(tmp_path, twins, *COUNTS)
    pids = collections.Counter()
    for thread in profile["threads"]:
        pids[thread["pid"]] += thread["samples"]["length"]
    pid = twins[0].info["processes"][0]["pid"]
    assert pids == {str(pid): samples, f"{pid}.1": samples}
    assert all(thread["samples"]["weight"] is None for thread in profile["threads"])
    by_recording = collections.Counter()
    for _, labels, values in pprof_check.summary(pprof_of(tmp_path, twins))["samples"]:
        by_recording[labels["recording"]] += values[0]
    assert by_recording == {"run": samples, "twin": samples}


def test_definitions_are_shared(twins, tmp_path):
    alone, twice = (pprof_of(tmp_path, these) for these in (twins[:1], twins))
    for table in ("function", "location"):
        assert len(alone[table]) == len(twice[table])


@pytest.mark.parametrize("name", ["gecko", "pprof", "collapsed"])
def test_a_damaged_recording_does_not_spoil_the_others(shards, tmp_path, name):
    whole, cut = shards[0].path, tmp_path / "cut.pyreel"
    data = shards[1].path.read_bytes()
    cut.write_bytes(data[:-10])
    nothing = tmp_path / "nothing.pyreel"
    nothing.write_bytes(b"")
    for strict, code in ([], 0), (["--strict"], 1):
        ended = convert(name, whole, "-o", tmp_path / "out", *strict, cut, nothing)
        assert ended.code == code, ended
        assert f"warning: {cut} is not complete: it is cut off" in ended.messages
        assert f"warning: {nothing} is left out: it is empty" in ended.messages
        assert str(whole) not in ended.messages
    if name == "collapsed":
        shown = (tmp_path / "out").read_text()
        assert f"{shards[0].function} (" in shown and f"{shards[1].function} (" in shown


def test_damage_costs_the_same_on_the_way_through_the_merge():
    """A part that is the whole is what the recording is, whatever is wrong with it."""
    data = frozen("plain-3.11").read_bytes()

    def difference(place):
        flipped = bytearray(data)
        flipped[place] ^= 1 << place % 8
        for damaged in (bytes(flipped), data[:place], data[:place] + data[place + 40:]):
            plain, merged = (convert("collapsed", "-", *COUNTS, *part, input=damaged) for part in ([], ["--to", "1000000"]))
            if (plain.code, plain.output, plain.messages) != (merged.code, merged.output, merged.messages):
                return f"byte {place}: {plain}, {merged}"
        return None

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [problem for problem in pool.map(difference, range(1, len(data), 7)) if problem]
    assert not found, f"{len(found)} problems: {found[0]}"


def test_one_that_is_named_twice_is_refused(shards, tmp_path):
    path = shards[0].path
    (tmp_path / "link.pyreel").symlink_to(path)
    for twin in (path, path.parent / ".." / path.parent.name / path.name, tmp_path / "link.pyreel"):
        ended = convert("collapsed", twin, path, shards[1].path)
        assert (ended.code, ended.text) == (1, ""), ended
        assert f"{path} and {twin} are the same recording, which would be counted twice" in ended.messages


@pytest.mark.parametrize("name", ["collapsed", "gecko", "pprof"])
def test_a_copy_of_a_recording_is_refused(shards, tmp_path, name):
    path, other = paths(shards)
    copy, cut, output = tmp_path / "copy.pyreel", tmp_path / "cut.pyreel", tmp_path / "out"
    copy.write_bytes(path.read_bytes())
    cut.write_bytes(path.read_bytes()[:-30])  # was copied before its recorder ended
    for twin in (copy, cut):
        for more in ([], ["--threads", "MainThread"]):
            ended = convert(name, path, "-o", output, *more, other, twin)
            assert (ended.code, ended.text) == (1, ""), ended
            assert re.search(f"{twin} and {path} are copies of the same recording", ended.messages)
            assert not output.exists()


def test_a_copy_of_a_recording_of_tachyon_is_refused(shards, tmp_path):
    made = [tmp_path / f"{number}.bin" for number in (1, 2, 3)]
    for source, file in zip((shards[0], shards[0], shards[1]), made):
        succeed(CONVERTERS["tachyon"], "-q", "-o", file, source.path)
    assert "are copies of the same recording" in convert("collapsed", made[0], made[1]).messages
    assert convert("collapsed", made[0], made[2]).code == 0


@pytest.mark.parametrize("name", ["collapsed", "gecko", "pprof"])
def test_names_that_are_not_utf8(shards, tmp_path, name):
    odd = tmp_path / os.fsdecode(b"odd \xff.pyreel")
    odd.write_bytes(shards[0].path.read_bytes())
    own = ["--roots", "recording,thread", *COUNTS] if name == "collapsed" else []
    ended = convert(name, shards[1].path, *own, "-o", tmp_path / "out", odd)
    warning = RATES_DIFFER if name == "collapsed" and rates_differ(shards) else ""
    assert (ended.code, ended.messages) == (0, warning), ended
    if name == "collapsed":
        assert "\nodd \\xff;MainThread;" in (tmp_path / "out").read_text(encoding="utf-8")
    elif name == "gecko":
        assert gecko_check.problems(gecko_check.load(tmp_path / "out")) == []
    else:
        profile, problems = pprof_check.examine(tmp_path / "out")
        assert problems == [] and b"odd \\xff" in profile["string_table"]


@pytest.mark.parametrize("name", ["collapsed", "gecko", "pprof"])
def test_the_order_of_the_recordings_does_not_matter(name, shards, tmp_path):
    """Also for recordings without a date, which are ordered by their names."""
    undated = [tmp_path / "one.bin", tmp_path / "other.bin"]
    for shard, path in zip(shards, undated):
        succeed(CONVERTERS["tachyon"], "-q", "-o", path, shard.path)
    outputs = []
    for inputs in itertools.permutations([*paths(shards), *undated]):
        succeed(CONVERTERS[name], "-q", "-o", tmp_path / "out", *inputs)
        outputs.append((tmp_path / "out").read_bytes())
    assert len(outputs) == 24 and len(set(outputs)) == 1


@pytest.mark.parametrize("options", ["--from 1000", "--to 0.000000001", "--threads Nobody", "--threads x*,?",
                                     "--from 1000 --threads MainThread --mode cpu", "--focus no_such_function",
                                     "--no-idle --from 1000"])
def test_an_empty_result_is_one_error_for_all_filters(shards, tmp_path, options):
    own, words = "--focus" in options or "--no-idle" in options, options.split()
    for name in ("collapsed",) if own else ("collapsed", "gecko", "pprof"):
        ended = convert(name, shards[0].path, *words, "-o", tmp_path / "out")
        assert (ended.code, ended.output) == (1, b"")
        assert ended.messages == (f"pyreel-{name}: no sample of {shards[0].path} matches {options}; pyreel-info without "
                                  "options shows times, threads and states\n")
        assert list(tmp_path.iterdir()) == []
    several = convert("collapsed", *paths(shards)[:2], *words)
    assert several.code == 1 and f"no sample of the recordings matches {options};" in several.messages


def test_one_without_a_date_begins_with_the_whole(shards, tmp_path):
    """Tachyon's files do not say when they were made."""
    undated = tmp_path / "undated.bin"
    succeed(CONVERTERS["tachyon"], "-q", "-o", undated, shards[0].path)
    dated, told = shards[1].path, []
    for inputs in ((dated, undated), (undated, dated)):
        succeed(CONVERTERS["gecko"], "-o", tmp_path / "out.json", *inputs)
        profile = gecko_check.load(tmp_path / "out.json")
        assert profile["meta"]["startTime"] == pytest.approx(shards[1].info["start_unix_ns"] / 1e6, abs=0.01)
        assert profile["meta"]["profilingEndTime"] < 60000
        part = succeed(CONVERTERS["collapsed"], "--to", "1", *inputs).text.splitlines()
        told.append(sum(int(line.rpartition(" ")[2]) for line in part))
    assert told[0] == told[1] > 0


def test_a_date_may_come_late(shards, tmp_path):
    """A pipe can't be looked at before, and one without a date comes first."""
    undated, dated = tmp_path / "undated.bin", shards[1].path
    succeed(CONVERTERS["tachyon"], "-q", "-o", undated, shards[0].path)
    command = f"exec {CONVERTERS['collapsed']} --to 1 {{}} {{}}".format
    told = []
    for words in ((undated, f"<(cat {dated})"), (f"<(cat {dated})", undated), (undated, dated)):
        lines = succeed("bash", "-c", command(*words)).text.splitlines()
        told.append(sum(int(line.rpartition(" ")[2]) for line in lines))
    assert told[0] == told[1] == told[2] > 0


def test_a_whole_of_undated_ones_says_what_is_cut(shards, tmp_path):
    good, bad = tmp_path / "good.bin", tmp_path / "bad.bin"
    succeed(CONVERTERS["tachyon"], "-q", "-o", good, shards[0].path)
    bad.write_bytes(good.read_bytes()[:-20])
    for inputs, cut in (([good], False), ([good, bad], True)):
        convert("pprof", *inputs, "-q", "-o", tmp_path / "out.pb.gz", "--from", "0.01")
        profile, _ = pprof_check.examine(tmp_path / "out.pb.gz")
        assert any("cut off" in text for text in pprof_check.summary(profile)["comments"]) == cut, inputs


def test_a_whole_lasts_as_long_as_the_longest(shards, tmp_path):
    undated, short = tmp_path / "undated.bin", frozen("gc-3.15")
    succeed(CONVERTERS["tachyon"], "-q", "-o", undated, shards[0].path)
    lasts = [info(path)["duration_s"] for path in (undated, short)]
    succeed(CONVERTERS["pprof"], "-q", "-o", tmp_path / "out.pb.gz", undated, short)
    profile, _ = pprof_check.examine(tmp_path / "out.pb.gz")
    assert profile["duration_nanos"] / 1e9 >= max(lasts) - 0.01


@pytest.mark.parametrize("others", [0, 1], ids=["alone", "with another"])
def test_a_profile_lasts_on_after_the_last_tick(others, shards, tmp_path):
    """Tachyon's files tell how long they last, and no reason of their end."""
    recording, undated = tmp_path / "slow.pyreel", tmp_path / "slow.bin"
    made_stream.write(recording, made_stream.Samples([[("f", "f.py", 1)]] * 2), pid=1, start_unix_ns=shards[0].info["start_unix_ns"],
                      rest_units=2500)
    succeed(CONVERTERS["tachyon"], "-q", "-o", undated, recording)
    succeed(CONVERTERS["pprof"], "-q", "-o", tmp_path / "out.pb.gz", undated, *paths(shards)[:others])
    profile, _ = pprof_check.examine(tmp_path / "out.pb.gz")
    assert profile["duration_nanos"] / 1e9 >= 2.5


def test_nothing_readable_is_a_failure(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text("no recording")
    ended = convert("collapsed", tmp_path / "a", tmp_path / "b")
    assert (ended.code, ended.output) == (1, b"")
    assert "none of the recordings could be read" in ended.messages


def test_one_that_is_not_there_is_a_failure(shards, tmp_path):
    ended = convert("collapsed", tmp_path / "absent", *paths(shards))
    assert (ended.code, ended.output) == (1, b"")
    assert f"cannot open {tmp_path / 'absent'}" in ended.messages


@pytest.mark.parametrize("name", ["gecko", "pprof"])
def test_the_output_of_several_has_to_be_named(shards, name):
    ended = convert(name, *paths(shards))
    assert ended.code == 2
    assert "several recordings have no default output; name one with -o FILE" in ended.messages


def test_tachyon_takes_one(shards):
    ended = convert("tachyon", *paths(shards))
    assert (ended.code, ended.output) == (2, b"") and "one recording at a time" in ended.messages


# ---- several, listed ----

def listed(*arguments):
    """The exit code, and the rows of the table by file."""
    ended = run(CONVERTERS["info"], *arguments)
    return ended.code, {line.split()[0]: line.split()[1:] for line in ended.text.splitlines()}


def test_info_lists_several(shards):
    code, rows = listed(*paths(shards))
    assert code == 0 and list(rows) == ["file", *map(str, paths(shards)), "total"]
    for shard in shards:
        told = shard.info
        assert rows[str(shard.path)] == [told["started"], f"{told['duration_s']:.3f}", f"{told['rate_hz']:g}", str(told["samples"]),
                                         "2", str(told["missed"]), str(told["bytes"]), "yes"]
    sums = [sum(shard.info[key] for shard in shards) for key in ("samples", "missed", "bytes")]
    assert rows["total"][:3] == ["2", "of", "2"] and rows["total"][-3:] == ["2", "of", "2"]
    assert [int(cell) for cell in rows["total"][4:8]] == [sums[0], 4, *sums[1:]]
    assert float(rows["total"][3]) == pytest.approx(sum(shard.info["duration_s"] for shard in shards), abs=0.002)


def test_info_lists_several_as_json(shards):
    told = info(shards[0].path, shards[1].path)
    assert [recording.pop("file") for recording in told["recordings"]] == [str(shards[1].path), str(shards[0].path)]
    assert told["recordings"] == [shards[1].info, shards[0].info]
    totals = told["totals"]
    for key in ("duration_s", "samples", "ticks", "missed", "failed", "bytes"):
        assert totals.pop(key) == pytest.approx(sum(shard.info[key] for shard in shards), abs=1e-5)
    assert totals == {"files": 2, "shown": 2, "whole": 2, "threads": 4}


def test_info_lists_a_part_of_each(shards):
    options = ["--from", "25%", "--to", "75%", "--threads", "MainThread"]
    parts = {str(shard.path): info(shard.path, *options) for shard in shards}
    code, rows = listed(*options, *paths(shards))
    assert code == 0 and " ".join(rows["part"]) == "from 25 % to 75 %, threads MainThread"
    for path, part in parts.items():
        assert rows[path][1:5] == [f"{part['duration_s']:.3f}", f"{part['rate_hz']:g}", str(part["samples"]), "1"]
    for recording in info(*paths(shards), *options)["recordings"]:
        assert recording["part"] == parts[recording["file"]]["part"]


def test_info_lists_what_cannot_be_read_with_the_reason(shards, tmp_path):
    copy = tmp_path / "copy.pyreel"
    copy.write_bytes(shards[0].path.read_bytes())
    bad = {"none.pyreel": "No such file", "text.pyreel": "it is not a pyreel recording",
           "copy.pyreel": f"it is the same recording as {shards[0].path}"}
    (tmp_path / "text.pyreel").write_text("no recording\n")
    files = [*paths(shards), *(tmp_path / name for name in bad)]
    code, rows = listed(*files)
    assert code == 1 and rows["total"][:3] == ["2", "of", "5"]
    for name, reason in bad.items():
        assert reason in " ".join(rows[str(tmp_path / name)])
    ended = run(CONVERTERS["info"], "--json", *files)
    told = json.loads(ended.text)
    assert ended.code == 1 and [("error" in recording) for recording in told["recordings"]] == [False, False, True, True, True]
    assert told["totals"]["samples"] == sum(shard.info["samples"] for shard in shards)


def test_info_lists_what_is_cut_or_damaged(shards, tmp_path):
    data = shards[0].path.read_bytes()
    (tmp_path / "cut.pyreel").write_bytes(data[:-30])
    at = len(data) - 300  # in the last block with samples
    (tmp_path / "damaged.pyreel").write_bytes(data[:at] + b"damage" + data[at + 6:])
    for name, word in (("cut", "no"), ("damaged", "damaged")):
        files = [shards[1].path, tmp_path / f"{name}.pyreel"]
        code, rows = listed(*files)
        assert code == 0 and rows[str(files[1])][-1] == word and rows["total"][-3:] == ["1", "of", "2"]
        for option in ("--strict", "--verify"):
            assert listed(option, *files)[0] == 1
            assert listed(option, *paths(shards))[0] == 0


@pytest.mark.parametrize("name", ["gecko", "pprof", "collapsed"])
def test_no_recording_is_overwritten(shards, name):
    before = shards[1].path.read_bytes()
    ended = convert(name, shards[0].path, shards[1].path, "-o", shards[1].path)
    assert ended.code == 1
    assert "is the recording itself" in ended.messages
    assert shards[1].path.read_bytes() == before


def test_a_mode_that_one_does_not_have_is_a_failure(shards):
    path = frozen("cpu-mode-3.13")
    ended = convert("collapsed", path, "--mode", "gil", *paths(shards))
    assert ended.code == 1
    assert f"cannot convert {path}: " in ended.messages and "-m gil" in ended.messages


# ---- a part ----

def test_the_parts_add_up(shards):
    shard = shards[1]
    whole = collapsed_of([shard])
    parts = collections.Counter()
    for times in (["--to", "0.4"], ["--from", "0.4", "--to", "0.8"], ["--from", "0.8"]):
        part = collapsed_of([shard], *times)
        assert 0 < sum(part.values()) < sum(whole.values())
        parts.update(part)
    assert parts == whole


def test_times_are_within_the_part(shards, tmp_path):
    begin, end = 0.6, 0.9  # both shards run then
    profile = gecko_of(tmp_path, shards, "--from", begin, "--to", end)
    times = [time for thread in profile["threads"] for time in thread["samples"]["time"]]
    assert begin * 1000 <= min(times) and max(times) <= end * 1000  # times are rounded
    assert {thread["processName"].partition(": ")[0] for thread in profile["threads"]} == {"shard-1/run.pyreel", "shard-2/run.pyreel"}
    assert profile["meta"]["profilingStartTime"] == begin * 1000
    assert profile["meta"]["profilingEndTime"] == pytest.approx(end * 1000, abs=2)
    pprof = pprof_of(tmp_path, shards, "--from", begin, "--to", end)
    assert sum(values[0] for _, _, values in pprof_check.summary(pprof)["samples"]) == len(times)
    assert int(pprof["duration_nanos"]) == pytest.approx((end - begin) * 1e9, abs=1e6)


def test_threads_by_name_and_number(shards, tmp_path):
    shard = shards[1]
    main, worker = shard.info["threads"]
    assert main["main"] and main["samples"] and worker["samples"]
    assert sum(collapsed_of([shard], "--threads", "MainThread").values()) == main["samples"]
    assert sum(collapsed_of([shard], "--threads", worker["tid"]).values()) == worker["samples"]
    both = collapsed_of([shard], "--threads", f"MainThread,{worker['tid']}")
    assert both == collapsed_of([shard])
    profile = gecko_of(tmp_path, [shard], "--threads", worker["tid"])
    assert [thread["tid"] for thread in profile["threads"]] == [worker["tid"]]
    assert collapsed_of([shard], "--threads", f"Nobody, Main*,{worker['tid']}") == both
    assert collapsed_of([shard], "--threads", "[A-M]ain?hread") == collapsed_of([shard], "--threads", "MainThread")


def test_info_of_a_part(shards):
    shard = shards[1]
    main, worker = shard.info["threads"]
    assert shard.info["part"] is None
    for options in (["--from", 0.4, "--to", 0.8], ["--to", 0.5, "--threads", "MainThread"], ["--from", 0.9],
                    ["--threads", worker["tid"]]):
        part = info(shard.path, *options)
        given = dict(zip(options[::2], options[1::2]))
        assert part["samples"] == sum(collapsed_of([shard], *options).values()) > 0
        assert part["samples"] < shard.info["samples"]
        begin, end = given.get("--from", 0), given.get("--to", shard.info["duration_s"])
        assert part["duration_s"] == pytest.approx(end - begin, abs=1e-5)
        assert (part["ticks"] < shard.info["ticks"]) == ("--from" in given or "--to" in given)
        assert part["part"] == {"from_s": begin, "to_s": given.get("--to"),
                                "threads": str(given["--threads"]) if "--threads" in given else None}
        assert part["threads"] and all(thread["samples"] for thread in part["threads"])
    text = convert("info", shard.path, "--from", 0.4, "--to", 0.8, "--threads", "MainThread").text
    assert re.search(r"^part +from 0\.400 s to 0\.800 s, threads MainThread$", text, re.MULTILINE), text
    assert not re.search(r"^part", convert("info", shard.path).text, re.MULTILINE)


def test_times_with_units_and_percentages(shards):
    shard = shards[1]
    length = shard.info["duration_s"]
    for given, meant in ((["--from", "400ms", "--to", "0m0.8"], ["--from", 0.4, "--to", 0.8]),
                         (["--from", "25%", "--to", "0.9s"], ["--from", f"{length * 0.25:.9f}", "--to", 0.9]),
                         (["--from", "25%", "--to", "100%"], ["--from", f"{length * 0.25:.9f}"])):
        assert collapsed_of([shard], *given) == collapsed_of([shard], *meant)
    part = info(shard.path, "--from", "25%", "--to", "75%")
    assert part["duration_s"] == pytest.approx(length / 2, abs=1e-5)
    assert part["part"]["from_s"] == pytest.approx(length / 4, abs=1e-5)


def test_a_percentage_of_several_is_that_of_their_time_line(shards, tmp_path):
    halves = [sum(collapsed_of(shards, *half).values()) for half in (["--to", "50%"], ["--from", "50%"])]
    assert all(halves) and sum(halves) == sum(shard.info["samples"] for shard in shards)
    first, second = sorted(shards, key=lambda shard: shard.info["start_unix_ns"])
    later = (second.info["start_unix_ns"] - first.info["start_unix_ns"]) / 1e9
    end = max(first.info["duration_s"], second.info["duration_s"] + later)
    profile = gecko_of(tmp_path, shards, "--from", "50%")
    assert profile["meta"]["profilingStartTime"] == pytest.approx(end * 500, abs=0.01)


def test_a_percentage_needs_a_length(shards, tmp_path):
    data = shards[0].path.read_bytes()
    piped = convert("collapsed", "-", "--to", "50%", input=data)
    assert (piped.code, piped.output) == (1, b"")
    assert "standard input is read only once, so its length is not known" in piped.messages and "1m30" in piped.messages
    late = convert("collapsed", shards[0].path, "--from", "90%", "--to", "0.1")
    assert (late.code, late.output) == (1, b"") and "--to must be later than --from" in late.messages
    cut = tmp_path / "cut.pyreel"
    cut.write_bytes(data[:-30])
    last_s = info(cut)["duration_s"]
    assert 0 < last_s <= shards[0].info["duration_s"]
    assert info(cut, "--to", "50%")["part"]["to_s"] == pytest.approx(last_s / 2, abs=1e-5)


def test_a_part_of_a_pipe(shards):
    data = shards[0].path.read_bytes()
    piped = convert("collapsed", "-", "--from", "0.2", "--threads", "MainThread", input=data)
    assert piped.code == 0
    assert piped.output == convert("collapsed", shards[0].path, "--from", "0.2", "--threads", "MainThread").output != b""


@pytest.mark.parametrize("options", [["--from", "x"], ["--to", "0"], ["--from", "2", "--to", "1"], ["--threads", ""],
                                     ["--from", "50%", "--to", "40%"], ["--to", "0%"], ["--from", "101%"], ["--from", "1m2h"]], ids=" ".join)
def test_misuse(shards, options):
    ended = convert("collapsed", shards[0].path, *options)
    assert (ended.code, ended.output) == (2, b"")
