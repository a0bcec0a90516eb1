# SPDX-License-Identifier: MIT
"""Damaged recordings: never a crash, a hang, or a silent wrong output; and all that is good is shown."""

import collections
import concurrent.futures
import json
import os
import struct

import pytest

import flame_output
import gecko_check
import pprof_check
import speedscope_check
from environment import CONVERTERS, SANITIZED
from golden import frozen
from recording import COUNTS, convert, info, succeed

MAGIC = 8
BLOCK = struct.Struct("<4sBBHIIII")  # sync, kind, codec, zero, sequence, stored size, plain size, checksum
EVENTS = 2


@pytest.fixture(scope="module", params=["plain-3.11", pytest.param("measures-3.15", marks=pytest.mark.short), "grouped-3.14"])
def small(request):
    """The bytes of a small recording, of more than one block of events: plain, with zstd and sums, and as it is written most often."""
    data = frozen(request.param).read_bytes()
    assert sum(kind == EVENTS for _, _, kind in blocks(data)) >= 2
    return data


def blocks(data):
    """Where each block begins and ends, and its kind."""
    found, at = [], MAGIC
    while at < len(data):
        _, kind, _, _, _, stored, _, _ = BLOCK.unpack_from(data, at)
        found.append((at, at + BLOCK.size + stored, kind))
        at = found[-1][1]
    assert at == len(data)
    return found


def for_each(work, items):
    """Does the work for all items, as many at once as there are processors; all that failed are told together."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [problem for problem in pool.map(work, items) if problem]
    assert not problems, f"{len(problems)} problems:\n" + "\n".join(problems[:10])


def places(name, begin, end):
    """Bytes of a recording at which one converter is tried. All converters share a reader, which tests/tools/damage.c tries
    with sanitizers: so they need not be tried at each byte."""
    return range(begin, end, (7 if name == "collapsed" else 47) * (11 if SANITIZED else 1))


def shown_by_collapsed(output):
    lines = [line.rpartition(" ") for line in output.decode().splitlines()]
    return collections.Counter({path: int(count) for path, _, count in lines})


def shown_by_tachyon(output):  # test_tachyon.py has its own reader look at such files
    return shown_by_collapsed(succeed(CONVERTERS["collapsed"], *COUNTS, "-", input=output).output)


def shown_by_info(output):
    return collections.Counter({(t["pid"], t["tid"]): t["samples"] for t in json.loads(output)["threads"]})


def shown_by_report(output):
    first, *rows, last = map(json.loads, output.splitlines())
    assert (first["type"], last["type"], last["stacks"]) == ("recording", "end", len(rows))
    return collections.Counter({(row["tid"], row["waits"], json.dumps(row["frames"])): row["samples"] for row in rows})


def shown_by_flame(file):
    return flame_output.stacks(flame_output.load(file), "samples")


def shown_by_gecko(file):
    profile = gecko_check.load(file)
    problems = gecko_check.problems(profile)
    assert not problems, problems
    counts = collections.Counter()
    for thread in profile["threads"]:
        if thread["samples"]["length"]:
            for stack, count in gecko_check.stacks(profile, thread, lambda *frame: frame).items():
                counts[thread["tid"], stack] += count
    return counts


def shown_by_pprof(file):
    profile, problems = pprof_check.examine(file)
    assert not problems, problems
    counts = collections.Counter()
    for stack, labels, values in pprof_check.summary(profile)["samples"]:
        counts[labels["thread_id"], tuple(stack)] += values[0]
    return counts


READ_BYTES = {"collapsed": shown_by_collapsed, "tachyon": shown_by_tachyon, "info": shown_by_info, "report": shown_by_report}
READ_FILES = {"flame": shown_by_flame, "gecko": shown_by_gecko, "pprof": shown_by_pprof}
OPTIONS = {"collapsed": COUNTS, "info": ["--json"], "report": ["--jsonl", "-o", "-"]}
COUNTING = [name for name in CONVERTERS if name in READ_BYTES or name in READ_FILES]  # speedscope shows times only
FUZZED = ("flame", "gecko", "report")  # tests/fuzz damages recordings with sanitizers, and has these read them
DAMAGED = [name if name in FUZZED else pytest.param(name, marks=pytest.mark.sanitized("damaged recordings")) for name in COUNTING]


def shown(name, output, folder, number):
    """What an output says as {stack: samples}; raises when it is not well formed."""
    if name in READ_BYTES:
        return READ_BYTES[name](output)
    file = folder / f"{number}"
    file.write_bytes(output)
    try:
        return READ_FILES[name](file)
    finally:
        file.unlink()


class Judge:
    """Runs one converter on damaged copies of a recording, and says what is wrong with its answer."""

    def __init__(self, name, data, folder):
        self.name, self.data, self.folder = name, data, folder
        self.options = OPTIONS.get(name, ["-o", "-"])
        self.good = convert(name, "-", *self.options, input=data)
        assert (self.good.code, self.good.messages) == (0, "")
        self.whole = shown(name, self.good.output, folder, "whole")
        assert sum(self.whole.values()) > 20

    def answer(self, damaged, what):
        """The exit code and what was shown; None and the problem when the answer is bad."""
        try:
            ended = convert(self.name, "-", *self.options, input=damaged)
        except Exception as error:  # a hang, or a sanitizer's report
            return None, f"{what}: {error}"
        if ended.code not in (0, 1):
            return None, f"{what}: exit code {ended.code}: {ended.messages}"
        if ended.code == 1:
            fine = ended.output == b"" and f"pyreel-{self.name}: " in ended.messages
            return (1, collections.Counter()) if fine else (None, f"{what}: fails, but how: {ended}")
        if not ended.messages:
            same = ended.output == self.good.output
            return (0, self.whole) if same else (None, f"{what}: not a word, and another output")
        if "warning" not in ended.messages:
            return None, f"{what}: no warning in {ended.messages!r}"
        try:
            counts = shown(self.name, ended.output, self.folder, what)
        except Exception as error:
            return None, f"{what}: the output is broken: {error!r}"
        more = {stack: count for stack, count in counts.items() if count > self.whole[stack]}
        return (None, f"{what}: shows what never was: {more}") if more else (0, counts)


@pytest.mark.short
@pytest.mark.parametrize("name", CONVERTERS)
def test_an_empty_file(name):
    ended = convert(name, "-", "-o", "-", input=b"")
    assert (ended.code, ended.output) == (1, b"")
    assert "empty" in ended.messages or "not a pyreel recording" in ended.messages, ended


@pytest.mark.parametrize("name", DAMAGED)
def test_cut_anywhere(small, tmp_path, name):
    judge = Judge(name, small, tmp_path)
    layout = blocks(small)
    header_end = layout[0][1]
    shown_at = {}

    def cut(size):
        code, found = judge.answer(small[:size], f"cut at {size}")
        if code is None:
            return found
        if code == 1 and size >= header_end:
            return f"cut at {size}: nothing is converted, though the header is whole"
        if code == 0 and found is judge.whole:
            return f"cut at {size}: not a word about it"
        shown_at[size] = sum(found.values())
        return None

    for_each(cut, sorted({*places(name, 1, len(small)), *(at for block in layout for at in block[:2] if at < len(small))}))
    counts = [shown_at[size] for size in sorted(shown_at)]
    assert counts == sorted(counts), "a longer piece shows less"
    for begin, end, kind in layout:
        if kind == EVENTS:
            assert shown_at[end] > shown_at[begin], f"the block at byte {begin} is whole and not shown"
    assert shown_at[layout[-1][0]] == sum(judge.whole.values()), "all but the end is there and not shown"


@pytest.mark.parametrize("name", DAMAGED)
def test_one_flipped_bit_anywhere(small, tmp_path, name):
    judge = Judge(name, small, tmp_path)
    header_end = blocks(small)[0][1]

    def flip(place):
        damaged = bytearray(small)
        damaged[place] ^= 1 << place % 8
        code, found = judge.answer(bytes(damaged), f"bit {place % 8} of byte {place} flipped")
        if code is None:
            return found
        if code == 1 and place >= header_end:
            return f"byte {place}: nothing is converted, though the header is whole"
        if code == 0 and found is judge.whole:
            return f"byte {place}: not a word about it"
        return None

    for_each(flip, places(name, 0, len(small)))


@pytest.mark.parametrize("name", COUNTING)
def test_a_lost_block_costs_what_is_in_it(small, tmp_path, name):
    judge = Judge(name, small, tmp_path)
    events = [block for block in blocks(small) if block[2] == EVENTS]
    for begin, end, _ in events[1:]:
        code, found = judge.answer(small[:begin] + small[end:], f"block at {begin} taken out")
        assert code == 0, found
        assert 0 < sum(found.values()) < sum(judge.whole.values())


def test_times_of_damaged_recordings_are_well_formed(small):
    """speedscope's file has times in place of samples: they are never more than the whole recording has."""
    def seconds(ended):
        file = json.loads(ended.output)
        assert speedscope_check.problems(file) == []
        return sum(speedscope_check.shown_seconds(file, profile) for profile in file["profiles"])

    def damage(place):
        damaged = bytearray(small)
        damaged[place] ^= 1 << place % 8
        for what, data in (("cut", small[:place]), ("flipped", bytes(damaged))):
            try:
                ended = convert("speedscope", "-", "-o", "-", input=data)
                if ended.code not in (0, 1) or (ended.code == 1) != (ended.output == b"") or not ended.messages:
                    return f"{what} at {place}: {ended}"
                if ended.code == 0 and seconds(ended) > whole + 0.001:
                    return f"{what} at {place}: {seconds(ended)} s of {whole} s"
            except Exception as error:
                return f"{what} at {place}: {error!r}"
        return None

    whole = seconds(convert("speedscope", "-", "-o", "-", input=small))
    assert whole > 1
    for_each(damage, places("speedscope", 1, len(small)))


def lost_in_gecko(path):
    """What a person reads there, under "show more"."""
    profile = gecko_check.load(path)
    rows = profile["meta"]["extra"][0]["entries"]  # of the whole profile; merged recordings have sections of their own
    return {row["label"]: row["value"] for row in rows}["Lost samples"]


def lost_in_pprof(path):
    profile, _ = pprof_check.examine(path)
    (line,) = [text for text in pprof_check.summary(profile)["comments"] if " lost; " in text]
    return int(line.partition(" failed, ")[2].split()[0])


def test_every_output_tells_how_many_samples_are_lost(small, tmp_path):
    begin, end, _ = [block for block in blocks(small) if block[2] == EVENTS][1]
    whole, damaged = tmp_path / "whole.pyreel", tmp_path / "damaged.pyreel"
    whole.write_bytes(small)
    damaged.write_bytes(small[:begin + 30] + bytes([small[begin + 30] ^ 1]) + small[begin + 31:])
    lost = info(whole)["samples"] - info(damaged)["samples"]
    assert lost > 0
    assert {key: info(damaged)["damage"][key] for key in ("lost_samples", "estimated", "bytes")} == {
        "lost_samples": lost, "estimated": False, "bytes": end - begin}
    assert f"damage      {end - begin} bytes skipped, {lost} samples lost; " in convert("info", damaged).text
    assert "damage " not in convert("info", whole).text
    for inputs in ([damaged], [frozen("threads-3.11"), damaged]):
        succeed(CONVERTERS["gecko"], "-q", "-o", tmp_path / "out.json", *inputs)
        assert lost_in_gecko(tmp_path / "out.json") == lost
        succeed(CONVERTERS["pprof"], "-q", "-o", tmp_path / "out.pb.gz", *inputs)
        assert lost_in_pprof(tmp_path / "out.pb.gz") == lost
    cut = tmp_path / "cut.pyreel"
    cut.write_bytes(small[:end - 1])
    damage = info(cut)["damage"]
    assert damage["estimated"] is True and damage["lost_samples"] > 0
    cut.write_bytes(small[:end])  # nothing is torn, and nothing says how many there were
    assert info(cut)["damage"]["estimated"] is True


@pytest.mark.parametrize("name", COUNTING)
def test_bytes_that_do_not_belong_are_passed_over(small, tmp_path, name):
    judge = Judge(name, small, tmp_path)
    for at in [begin for begin, _, _ in blocks(small)][1:] + [len(small)]:
        code, found = judge.answer(small[:at] + b"nonsense" * 100 + small[at:], f"nonsense at {at}")
        assert code == 0, found
        assert found == judge.whole


@pytest.mark.parametrize("name", COUNTING)
def test_strict_fails_on_damage(small, tmp_path, name):
    damaged = bytearray(small)
    damaged[-1] ^= 1
    for data in (bytes(damaged), small[:-1], small + b"more"):
        ended = convert(name, "-", "--strict", "-o", tmp_path / "out", input=data)
        assert ended.code == 1, ended
        assert "warning" in ended.messages
