# SPDX-License-Identifier: MIT
"""Figures of the recorder's own work: printed by --stats, kept in each recording, shown by pyreel-info, and true."""

import os
import re
import signal

import pytest

from environment import pythons
from recording import attach, collapsed, convert, info, run_record, succeed, whole

LINE = re.compile(r"  (\S.*?|  +\S.*?) +(\d+)(?: +([\d.]+) (%|per sample|per call))?")
OF_THE_STREAM = ["blocks written", "  bytes before compression", "  bytes after compression"]  # which no recording can know


def printed(messages):
    """The lines that --stats printed, below the summary."""
    lines = messages.splitlines()
    summary = [i for i, line in enumerate(lines) if line.startswith("pyreel-record: ")]
    assert summary, messages
    return lines[summary[-1] + 1 :]


def parsed(lines):
    matches = [LINE.fullmatch(line) for line in lines]
    assert all(matches), lines
    return [(match[1], int(match[2])) for match in matches]


def shown(path):
    """The lines of pyreel-info that tell the figures."""
    text = succeed(*convert("info", path).command).text
    _, found, section = text.partition("\ncounters\n")
    return section.splitlines() if found else []


def stacks_of(figures):
    return figures["cache_full"] + figures["cache_partial"] + figures["cache_missed"]


def thrown_away(told):
    """At most so many stacks are of looks that turned out not to be one moment, of a look that came after the end of each
    process, of threads that did not run yet, and of looks at which something failed."""
    looks = told["figures"].get("looks_again", 0) + len(told["processes"]) + told["failed"]
    return looks * len(told["threads"]) + sum(told["figures"].get(name, 0) for name in ("states_without_thread", "states_joined"))


def check(told):
    """What must hold of any recording's figures."""
    figures = told["figures"]
    assert figures["samples"] == told["samples"]
    inside = figures["samples"] - figures.get("samples_outside", 0)
    assert inside <= stacks_of(figures) <= inside + thrown_away(told)
    assert figures["cache_unmoved"] <= figures["cache_full"]
    assert stacks_of(figures) - figures["cache_unmoved"] <= figures["batched_tried"]
    assert figures["batched_right"] <= figures["batched_tried"]
    retries = sum(value for name, value in figures.items() if name.startswith("retries_"))
    assert figures["batched_right"] + retries <= figures["batched_tried"]
    assert 0 < figures["reads"] <= figures["pieces"] < figures["bytes_read"]
    assert 0 < figures["code_reads"]
    assert figures["idle_ticks"] <= told["ticks"]
    assert sum(value for name, value in figures.items() if name.startswith("failed_")) == told["failed"]


# ---- what is counted ----

@pytest.mark.short
def test_the_figures_add_up_under_each_python(recorded):
    check(recorded.info)
    figures = recorded.info["figures"]
    assert figures["cache_full"] > 0.3 * figures["samples"], "two threads wait nearly all the time"
    assert figures["frames_cached"] > figures["frames_read"]
    assert figures["code_hits"] > figures["code_reads"]


def test_a_stack_that_is_taken_is_a_sample(spinning, tmp_path):
    attach(spinning, tmp_path / "a.pyreel")
    told = whole(tmp_path / "a.pyreel")
    check(told)
    assert told["samples"] > 20
    assert told["figures"]["cache_missed"] < 0.5 * told["samples"]


@pytest.mark.short
def test_without_the_cache_each_stack_is_found_anew(spinning, tmp_path):
    attach(spinning, tmp_path / "a.pyreel", "--no-cache")
    told = whole(tmp_path / "a.pyreel")
    check(told)
    figures = told["figures"]
    assert 0 <= figures["cache_missed"] - told["samples"] <= thrown_away(told)
    assert told["samples"] > 20
    assert [figures[name] for name in ("cache_full", "cache_unmoved", "cache_partial", "idle_ticks", "frames_cached")] == [0] * 5


def test_a_sleeping_program_is_hardly_read(start, python3, tmp_path):
    target = start(python3, "-c", "import os, time; print('ready', os.getpid(), flush=True); time.sleep(60)")
    attach(target, tmp_path / "a.pyreel")
    told = whole(tmp_path / "a.pyreel")
    check(told)
    assert told["figures"]["idle_ticks"] > 0.5 * told["ticks"] > 0
    assert told["figures"]["cache_unmoved"] > 0.5 * told["samples"]
    assert told["figures"]["reads"] < told["samples"]


def test_figures_of_all_processes_are_added(record_becoming, python3, tmp_path):
    """Each program that a process becomes is read by its own unwinder; check() misses the stacks of one that is not added."""
    other = next((p.command[0] for p in reversed(pythons()) if not p.root and not p.own), python3)
    told = record_becoming(tmp_path / "a.pyreel", other, 0)
    assert len(told["processes"]) == 2
    check(told)


MUCH_CODE = """
import itertools, os
print("ready", os.getpid(), flush=True)
names = {}
for i in itertools.count():
    exec(f"def f{i}():\\n    sum(range(20000))\\ndef g{i}():\\n    f{i}()\\ng{i}()", names)
    if i % 1000 == 0:
        names.clear()
"""


def test_only_what_is_in_samples_is_in_the_file(start, python3, tmp_path):
    """Stacks that moved while they were copied are thrown away, and so is what only they had."""
    path = tmp_path / "a.pyreel"

    def seen():
        return {frame.split(" (")[0] for line in collapsed(path).splitlines() for frame in line.rsplit(" ", 1)[0].split(";")[1:]}

    def named():
        return {name for name in seen() if re.fullmatch(r"[fg]\d+", name)}

    attach(start(python3, "-c", MUCH_CODE), path, "-r", "5khz", until=lambda _: len(named()) > 3)
    told = whole(path)
    assert told["figures"]["code_reads"] > len(named())
    assert told["functions"] == len(seen() | {"<not sampled>"})  # which has CPU time and no sample


# ---- where it is shown ----

@pytest.mark.short
def test_info_shows_what_was_printed(spinning, tmp_path):
    ended = attach(spinning, tmp_path / "a.pyreel", "--stats")
    told = whole(tmp_path / "a.pyreel")
    lines = printed(ended.messages)
    section = shown(tmp_path / "a.pyreel")
    assert lines[: len(section)] == section
    assert [value for _, value in parsed(section)] == list(told["figures"].values())
    of_stream = parsed(lines[len(section) :])
    assert [words for words, _ in of_stream] == OF_THE_STREAM
    assert [value for _, value in of_stream] == [told["blocks"], told["plain_bytes"], told["bytes"]]
    assert told["bytes"] == os.path.getsize(tmp_path / "a.pyreel")


def test_lines_are_aligned_and_compared(spinning, tmp_path):
    lines = printed(attach(spinning, tmp_path / "a.pyreel", "--stats").messages)
    ends = {re.match(r".*? \d+(?= |$)", line.rstrip()).end() for line in lines}
    assert len(ends) == 1, lines
    values = dict(parsed(lines))
    assert values["samples"] > 0
    (calls,) = [line for line in lines if line.startswith("  system calls")]
    assert float(LINE.fullmatch(calls)[3]) == pytest.approx(values["system calls that read memory"] / values["samples"], abs=0.006)
    shares = [float(LINE.fullmatch(line)[3]) for line in lines if re.match(r"  stacks (unchanged|partly|read in full) ", line)]
    assert sum(shares) == pytest.approx(100, abs=0.2)


def test_nothing_is_printed_unless_asked_for(spinning, tmp_path):
    ended = attach(spinning, tmp_path / "a.pyreel")
    assert printed(ended.messages) == []
    assert whole(tmp_path / "a.pyreel")["figures"]["samples"] > 0
    assert attach(spinning, tmp_path / "b.pyreel", "--quiet", "--stats").messages == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_recording_that_was_stopped_has_figures(spinning, start_recorder, tmp_path, number):
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("--stats", "-p", spinning.pid, "-o", path)
    recorder.wait_for_samples(path)
    recorder.signal(number)
    ended = recorder.wait()
    assert ended.code == 0, ended
    check(whole(path))
    assert printed(ended.messages)[: len(shown(path))] == shown(path) != []


def test_a_recording_into_a_pipe_has_figures(start_recorder, python3, program, tmp_path):
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("--stats", "-o", "-", "--", python3, program("dies"), 0, "told",
                              prefix=("sh", "-c", '"$@" | cat > "$0"', path))
    recorder.wait_for_samples(path)
    ended = recorder.wait()
    check(whole(path))
    assert parsed(printed(ended.messages))[0] == ("samples", info(path)["samples"])


def test_a_recording_without_figures_shows_none(tmp_path):
    path = tmp_path / "a.pyreel"
    path.write_bytes(run_record("-o", "-", "--", "true").output)
    assert "figures" not in info(path)
    assert shown(path) == []
