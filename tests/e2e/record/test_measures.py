# SPDX-License-Identifier: MIT
"""What a recording says of a process beside its stacks: memory and CPU time by the clock, the generation of each garbage
collection, and the build. What the program says of itself is the truth."""

import bisect
import collections
import json
import signal

import pytest

from environment import as_root
from plain_stream import Bytes, Recording
from recording import ALL_TICKS, attach, collapsed, run_record, succeed, wait_until, whole

BIG = 200 << 20


def start_ns(recorded):
    return Bytes(recorded.header[7]).number()


def known(recorded, amount):
    """The amounts of the measures. Of a process that has ended less is known."""
    amounts = [getattr(measure, amount) for measure in recorded.measures]
    return [amount for amount in amounts if amount is not None]


def agree(recorded, moments):
    """How many measures were checked: each lies between what the program said before the measure before it and after the
    one after it. The recorder may lose the processor between an amount and its time."""
    begin_ns, unit_ns = start_ns(recorded), Bytes(recorded.header[9]).number()
    before, cpu, resident, after = zip(*moments)
    times = [begin_ns + measure.time_ns for measure in recorded.measures]
    checked = 0
    for earlier_ns, measure, later_ns in zip(times, recorded.measures[1:], times[2:]):
        low, high = bisect.bisect_left(after, earlier_ns) - 1, bisect.bisect_right(before, later_ns)
        if low < 0 or high >= len(moments) or measure.resident_bytes is None:
            continue  # the program had not begun, or had ended
        checked += 1
        near = resident[low:high + 1]
        assert cpu[low] - 2 * unit_ns <= measure.cpu_ns <= cpu[high] + 2 * unit_ns, (measure, moments[low], moments[high])
        if None not in near:
            assert min(near) - (4 << 20) <= measure.resident_bytes <= max(near) + (4 << 20), (measure, near)
    return checked


def check(recorded, moments):
    assert agree(recorded, moments) >= 3, (recorded.measures, moments[::50])
    times = [measure.time_ns for measure in recorded.measures]
    assert times == sorted(times)
    assert min(known(recorded, "resident_bytes")) < BIG < max(known(recorded, "resident_bytes"))
    for amounts in known(recorded, "cpu_ns"), known(recorded, "recorder_cpu_ns"):
        assert amounts == sorted(amounts) and amounts[0] < amounts[-1], amounts


@pytest.mark.short
def test_measures_are_what_the_program_says_of_itself(python, program, tmp_path):
    path = tmp_path / "a.pyreel"
    prefix = as_root() if python.root else ()
    ended = run_record("-q", "-o", path, "--compression", "none", "--", *python.command, program("uses"), prefix=prefix)
    assert ended.code == 0, ended
    moments = json.loads(ended.output)
    recorded = Recording(path)
    check(recorded, moments)

    told = whole(path)
    (process,) = told["processes"]
    assert process["measures"] == len(recorded.measures)
    assert process["most_resident_bytes"] == max(known(recorded, "resident_bytes"))
    cpu_ns = known(recorded, "cpu_ns")
    assert process["cpu_s"] == pytest.approx((cpu_ns[-1] - cpu_ns[0]) / 1e9)
    assert told["recorder_cpu_s"] == pytest.approx(known(recorded, "recorder_cpu_ns")[-1] / 1e9)
    assert process["cpu_s"] >= 0.5 * (moments[-1][1] - moments[0][1]) / 1e9


@pytest.mark.pythons("oldest and newest")
def test_measures_of_a_program_that_runs_already(python, program, start, start_recorder, tmp_path):
    """The CPU time is that of the whole life of the process."""
    prefix = as_root() if python.root else ()
    path = tmp_path / "a.pyreel"
    target = start(*prefix, *python.command, program("uses"), "waits")
    recorder = start_recorder("-p", target.pid, "-o", path, "--compression", "none", prefix=prefix)
    wait_until(path.exists, "the recording begins")
    succeed(*prefix, "kill", "-USR1", target.pid)
    moments = json.loads(target.read_line())
    recorder.signal(signal.SIGINT)
    assert recorder.wait().code == 0
    recorded = Recording(path)
    check(recorded, moments)
    assert known(recorded, "cpu_ns")[0] >= 100_000_000, "CPU time of before the recording counts"
    (process,) = whole(path)["processes"]
    assert process["cpu_s"] < known(recorded, "cpu_ns")[-1] / 1e9 - 0.1


@pytest.mark.pythons("newest")
def test_measures_at_a_low_rate_come_as_often(python, program, tmp_path):
    path = tmp_path / "a.pyreel"
    prefix = as_root() if python.root else ()
    ended = run_record("-q", "-r", "1", "-o", path, "--compression", "none", "--", *python.command, program("uses"),
                       prefix=prefix)
    assert ended.code == 0, ended
    check(Recording(path), json.loads(ended.output))


# ---- garbage collections ----

def check_generations(python, record_until, path, *command, options=()):
    """The recording says of each collection that it has seen the generation that gc.callbacks say; without the lock, of none."""
    def collects_much(_):
        lines = collapsed(path).splitlines()
        return sum(int(line.rpartition(" ")[2]) for line in lines if ";collects_each (" in line and ";<GC>" in line) > 500

    done = record_until(path, collects_much, "-q", *ALL_TICKS, "-r", "4k", *options, "--compression", "none",
                        "--", *python.command, *command, prefix=python.prefix)
    said, recorded = json.loads(done.text), Recording(path)
    if not python.has_lock:
        assert not recorded.collections
        return
    begin_ns, right, wrong = start_ns(recorded), collections.Counter(), collections.Counter()
    for generation, first_ns, last_ns in said:
        shown = collections.Counter(shown for time_ns, shown in recorded.collections if first_ns < begin_ns + time_ns < last_ns)
        if shown.total() < 4:
            continue  # a look that is made later than its time may be of the next collection
        (right if shown.most_common(1)[0][0] == generation else wrong)[generation] += 1
    # Ticks that were due while a read waited, on a busy machine for a whole collection, are as the look behind them.
    assert set(right) == {0, 1, 2} and wrong.total() < right.total(), (right, wrong, said)


@pytest.mark.short
def test_collections_have_their_generation(python, program, record_until, tmp_path):
    check_generations(python, record_until, tmp_path / "a.pyreel", program("generations"))


@pytest.mark.pythons("newest")
@pytest.mark.parametrize("which", ["running", "all"])
def test_collections_of_tasks_have_their_generation(python, program, record_until, tmp_path, which):
    check_generations(python, record_until, tmp_path / "a.pyreel", program("generations"), "task", options=("--async", which))


# ---- the build ----

def build_id_in(path):
    """The build id that a linker wrote into a file, found by how its note begins."""
    with open(path, "rb") as file:
        data = file.read(1 << 16)
    head = b"\3\0\0\0GNU\0"  # kind of note, name
    at = data.find(head)
    if at < 0:
        return None
    size = int.from_bytes(data[at - 4:at], "little")
    return data[at + len(head):at + len(head) + size].hex()


@pytest.mark.pythons("each build")
def test_the_build_is_said(python, start, tmp_path):
    path = tmp_path / "a.pyreel"
    code = "import os, sys, sysconfig as s, time; print('ready', os.getpid());" \
           "print(hasattr(sys, 'gettotalrefcount'), bool(s.get_config_var('Py_GIL_DISABLED')), s.get_config_var('Py_ENABLE_SHARED'), flush=True);" \
           "time.sleep(600)"
    target = start(*python.command, "-c", code)
    debug, free_threaded, shared = target.read_line().split()
    attach(target, path, prefix=as_root() if python.root else ())
    told = whole(path)
    (process,) = told["processes"]
    assert (str(process["debug"]), str(process["free_threaded"])) == (debug, free_threaded)
    if shared == "0":  # the program has the CPython, and no library
        assert process["build_id"] == build_id_in(python.root + process["executable"].removeprefix(python.root))
    assert told["processors"] >= told["cores"] >= 1
