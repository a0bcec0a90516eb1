# SPDX-License-Identifier: MIT
"""What a recording says of event loops that run one callback, and the markers "Loop blocked" of the Firefox Profiler that come
of it, against what the program notes of each callback. It holds at any rate, however busy the machine is."""

import collections
import json

import pytest

import gecko_check
from plain_stream import Bytes, Recording
from recording import convert, run_record

Callback = collections.namedtuple("Callback", "before begin end after")
OFF = 1_500_000  # ns: a unit of time, and what is between the loop's clock and ours
BUSY = ["chain", "steps", "many", "gather", "streams", "executor", "timers"]
BLOCKED = ["callback", "second", "crowded", "step", "handler", "signals", "thread"]
RATES = {"all ticks": (), "1 %": ("--disturb", "1")}


@pytest.fixture
def looped(python, program, tmp_path):
    """looped("chain", *options): the noted callbacks, what the recording proves, the markers, as (begin, end), and the times
    of looks, in ns since the recording began."""

    def record(kind, *options):
        path, out = tmp_path / "loops.pyreel", tmp_path / "loops.json"
        done = run_record("--force", "--compression", "none", *options, "-o", path, "--", *python.command, program("loops"),
                          kind, prefix=python.prefix)
        assert done.code == 0, done
        recorded = Recording(path)
        begin = Bytes(recorded.header[7]).number()
        noted = [Callback(*(moment - begin for moment in moments)) for moments in json.loads(done.text)]
        proved = [(since, last) for (_, since), last in recorded.callbacks.items()]
        assert convert("gecko", path, "--force", "-o", out).code == 0
        markers = [(columns["startTime"][i] * 1e6, columns["endTime"][i] * 1e6)
                   for columns in (thread["markers"] for thread in gecko_check.load(out)["threads"])
                   for i, data in enumerate(columns["data"]) if data["type"] == "Loop blocked"]
        return noted, proved, markers, recorded.ticks

    return record


def outside(spans, noted):
    """The spans that are not within one callback."""
    return [(since, last) for since, last in spans
            if last - since > 2 * OFF and not any(c.before - OFF <= since and last <= c.after + OFF for c in noted)]


def missed(noted, markers, looks):
    """The callbacks of 100 ms whose looks show them for 60 ms at least, and that no marker tells."""
    def shown(c):
        within = [look for look in looks if c.begin + OFF < look < c.end - OFF]
        return len(within) >= 3 and max(within) - min(within) >= 60_000_000  # on a busy machine looks may lie close together

    return [c for c in noted if c.end - c.begin >= 100_000_000 and shown(c) and
            not any(c.before - OFF <= since and last <= c.after + OFF for since, last in markers)]


@pytest.mark.parametrize("rate", RATES.values(), ids=RATES)
@pytest.mark.parametrize("kind", BUSY + BLOCKED)
@pytest.mark.pythons("newest")
def test_a_callback_is_proved_or_not_told(looped, kind, rate):
    noted, proved, markers, looks = looped(kind, *rate)
    assert not outside(proved, noted) and not outside(markers, noted)
    assert not missed(noted, markers, looks)
    assert kind in BUSY or sum(c.end - c.begin >= 60_000_000 for c in noted) >= 6


@pytest.mark.parametrize("kind", ["many", "step"])
@pytest.mark.parametrize("which", ["running", "all"])
def test_with_tasks_as_without(looped, kind, which):
    noted, proved, markers, looks = looped(kind, "--async", which)
    assert not outside(proved, noted) and not outside(markers, noted)
    assert not missed(noted, markers, looks)


@pytest.mark.short
@pytest.mark.parametrize("kind", ["chain", "callback"])
@pytest.mark.pythons("each version")
def test_each_version_has_the_variables(looped, kind):
    noted, proved, markers, looks = looped(kind)
    assert not outside(proved, noted) and not missed(noted, markers, looks)
    assert kind == "chain" or markers, (noted, proved, looks)
