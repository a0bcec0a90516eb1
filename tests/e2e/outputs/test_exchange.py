# SPDX-License-Identifier: MIT
"""What pyreel-report writes for other people's tools: --pstats, which Python's own module reads, and --jsonl."""

import collections
import json
import marshal
import os
import pty
import subprocess
import tempfile

import pytest

import gecko_schema
import made_stream
import stacks
import tachyon
from environment import CONVERTERS, PROJECT, as_root, pythons
from golden import STREAMS, frozen
from recording import collapsed, cpu_s_of, info, read_terminal, run, succeed

SCHEMA = os.path.join(PROJECT, "schemas", "report-jsonl.schema.json")


@pytest.fixture(scope="module")
def folder():
    """Where the Python 3.15 of a root folder sees our files, too."""
    folder = tempfile.mkdtemp(prefix="pyreel-exchange-", dir="/tmp")
    yield folder
    subprocess.run([*(as_root() or ()), "rm", "-rf", folder], check=True)  # root's Python may have made some of it


def report(*arguments):
    return succeed(CONVERTERS["report"], *arguments)


def pstats_of(path, folder, *options):
    out = os.path.join(folder, "out.pstats")
    assert report("--pstats", "--force", "-o", out, *options, path).messages == ""
    with open(out, "rb") as file:
        return marshal.load(file)


def weighed(path, *options):
    """{stack of (name, file) frames: number} of all threads, as pyreel-collapsed has them."""
    found = collections.Counter()
    for seen in stacks.of_collapsed(collapsed(path, "--full-paths", *options)).values():
        for stack, number in seen.items():
            found[tuple((frame[0], frame[1] if len(frame) > 1 else "~") for frame in stack)] += number
    return found


# ---- pstats ----

@pytest.fixture(params=["a program", "a function that calls itself"])
def path(request, tmp_path):
    if request.param == "a program":
        return frozen("calculator-3.14")
    frames = {name: (name, "/srv/app.py", line) for line, name in enumerate("fgh", 1)}
    stacks = [[frames[name] for name in names] for names in ["f"] * 3 + ["fg"] * 5 + ["fgg"] * 7 + ["fggh"] * 11 + ["fh"] * 13 + ["fghg"] * 17]
    made_stream.write(tmp_path / "made.pyreel", made_stream.Samples(stacks), pid=1, start_unix_ns=1)
    return tmp_path / "made.pyreel"


@pytest.mark.short
def test_functions_have_their_samples_and_times(path, folder):
    rows = pstats_of(path, folder)
    counts, times = weighed(path), weighed(path, "--weight", "wall")
    assert {(name, file) for file, _, name in rows} == {frame for stack in counts for frame in stack}
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for (file, _, name), row in rows.items():  # functions of one name in one file are one in `counts`
        for i in range(4):
            sums[name, file][i] += row[i]
    for name, file in sums:
        leaf, samples, own, whole = sums[name, file]
        frame = (name, file)
        assert leaf == sum(n for stack, n in counts.items() if stack[-1] == frame), frame
        assert own == pytest.approx(sum(n for stack, n in times.items() if stack[-1] == frame) / 1e6, abs=1e-3), frame
        if sum((key[2], key[0]) == frame for key in rows) == 1:
            assert samples == sum(n for stack, n in counts.items() if frame in stack), frame
            assert whole == pytest.approx(sum(n for stack, n in times.items() if frame in stack) / 1e6, abs=1e-3), frame
    assert sum(row[0] for row in rows.values()) == info(path)["samples"]
    assert sum(row[2] for row in rows.values()) == pytest.approx(sum(thread["wall_s"] for thread in info(path)["threads"]), abs=1e-4)


@pytest.mark.short
def test_functions_have_their_callers(path, folder):
    rows, counts = pstats_of(path, folder), weighed(path)
    edges = collections.Counter()
    for stack, number in counts.items():
        edges.update({pair: number for pair in set(zip(stack, stack[1:]))})
    found = {}
    for (file, _, name), (_, _, _, _, callers) in rows.items():
        for caller, (samples, leaf, own, whole) in callers.items():
            assert caller in rows and leaf <= samples and own <= whole + 1e-9
            found[(caller[2], caller[0]), (name, file)] = samples
    for edge in edges:
        if [sum((key[2], key[0]) == frame for key in rows) for frame in edge] == [1, 1]:
            assert found[edge] == edges[edge], edge
    assert found.keys() == edges.keys()


@pytest.mark.pythons("newest")
def test_lines_are_those_of_definitions(recorded, folder):
    rows = pstats_of(recorded.path, folder)
    with open(recorded.program) as file:
        source = [""] + file.read().splitlines()
    own = {name: line for path, line, name in rows if path == recorded.program and not name.startswith("<")}
    assert {"plain", "Mill.grind", "descend"} <= own.keys()
    for name, line in own.items():
        assert f"def {name.rpartition('.')[2]}(" in source[line]


READS = """
import pstats, sys
stats = pstats.Stats(sys.argv[1]).strip_dirs().sort_stats("cumulative")
stats.print_stats(20); stats.print_callers("descend"); stats.print_callees("rounds")
print("TOTAL", stats.total_tt, stats.prim_calls, type(stats).__name__)
stats.add(sys.argv[1]); stats.get_stats_profile()
"""


@pytest.mark.pythons("newest")
def test_pstats_of_each_python_reads_it(recorded, folder):
    rows = pstats_of(recorded.path, folder)
    readers = [list(python.command) for python in pythons() if not python.root] + [tachyon.command()]
    for reader in readers:
        ended = run(*reader, "-c", READS, os.path.join(folder, "out.pstats"))
        assert ended.code == 0 and ended.messages == "", ended
        total, leaves = ended.text.partition("TOTAL ")[2].split()[:2]
        assert float(total) == pytest.approx(sum(row[2] for row in rows.values()))
        assert int(leaves) == recorded.info["samples"]
        assert "(descend)" in ended.text and "was called by..." in ended.text


@pytest.mark.short
def test_weights_and_filters(folder):
    path = frozen("threads-3.11")
    told = info(path)
    cpu = pstats_of(path, folder, "--weight", "cpu")
    assert sum(row[2] for row in cpu.values()) == pytest.approx(cpu_s_of(told["threads"]), abs=1e-3)
    focused = pstats_of(path, folder, "--focus", "^spin ", "--hide", "^spin ")
    assert all(key[2] != "spin" for key in focused) and sum(row[0] for row in focused.values()) > 10
    main = pstats_of(path, folder, "--threads", "MainThread")
    (thread,) = [thread for thread in told["threads"] if thread["name"] == "MainThread"]
    assert sum(row[0] for row in main.values()) == thread["samples"]


@pytest.mark.short
def test_a_binary_file_is_refused_on_a_terminal():
    path = frozen("threads-3.11")
    reader, writer = pty.openpty()
    ended = run("bash", "-c", f"{CONVERTERS['report']} --pstats {path} >/dev/fd/{writer}", pass_fds=(writer,))
    os.close(writer)
    assert ended.code == 1 and "the output is binary and standard output is a terminal" in ended.messages
    assert read_terminal(reader) == b""


@pytest.mark.parametrize("arguments", [["--pstats", "--tree"], ["--pstats", "--jsonl"], ["--pstats", "--by", "line"],
                                       ["--jsonl", "--top", "3"], ["--jsonl", "--weight", "cpu"], ["--jsonl", "--by", "module"]],
                         ids=str)
def test_misuse(arguments):
    ended = run(CONVERTERS["report"], *arguments, frozen("threads-3.11"))
    assert (ended.code, ended.output) == (2, b"") and "Try 'pyreel-report --help'" in ended.messages


# ---- JSON lines ----

def lines_of(path, *options):
    """[recording, stack, ..., end] after a look at the schema."""
    lines = [json.loads(line) for line in report("--jsonl", *options, path).text.splitlines()]
    if gecko_schema.jsonschema is not None:
        with open(SCHEMA) as file:
            validator = gecko_schema.jsonschema.Draft202012Validator(json.load(file))
        for line in lines:
            assert [error.message for error in validator.iter_errors(line)] == [], line
    assert [lines[0]["type"], lines[-1]["type"]] == ["recording", "end"]
    assert {line["type"] for line in lines[1:-1]} <= {"stack"}
    return lines


def text_of(frame):
    return f"{frame['function']} ({frame['file']}{':%d' % frame['line'] if 'line' in frame else ''})" if "file" in frame else frame["function"]


@pytest.mark.pythons("newest")
def test_lines_are_the_stacks(recorded):
    first, *found, end = lines_of(recorded.path)
    counts, times = collections.Counter(), collections.Counter()
    for line in found:
        key = (f"{line['thread']} ({line['tid']})", *map(text_of, line["frames"]))
        counts[key] += line["samples"]
        times[key] += line["wall_ns"]
    wanted = {tuple(line.rpartition(" ")[0].split(";")): int(line.rpartition(" ")[2])
              for line in collapsed(recorded.path).splitlines()}
    assert +counts == wanted  # CPU time between looks has no sample
    assert (first["program"], first["python"]) == ("known.py", recorded.python.full_version)
    assert (end["samples"], end["stacks"]) == (recorded.info["samples"], len(found))
    threads = recorded.info["threads"]
    nobodys = {"wall": 0, "cpu": recorded.info["cpu_native_s"] + recorded.info["cpu_not_sampled_s"]}
    for name, of_none in nobodys.items():
        assert end[f"{name}_ns"] == sum(line[f"{name}_ns"] for line in found)
        of_threads = sum(thread[f"{name}_s"] for thread in threads)
        assert of_threads - 1e-3 <= end[f"{name}_ns"] / 1e9 <= of_threads + of_none + 1e-3, name
    busy = [int(line.rpartition(" ")[2]) for line in collapsed(recorded.path, "--no-idle").splitlines()]
    waits = collections.Counter()
    for line in found:
        waits[line["waits"]] += line["samples"]
    assert 0 < waits[None] <= sum(busy) <= waits[None] + waits["gil"]  # a thread that waits for the lock may still run
    assert waits["idle"] > 0 and waits.keys() <= {"idle", "gil", None}


def test_lines_of_each_kind_keep_the_schema():
    for path in STREAMS.glob("*/recording*.pyreel"):
        if run(CONVERTERS["report"], "--jsonl", path).code == 0:
            assert lines_of(path)[-1]["samples"] == info(path)["samples"]
            functions, paths = (report("--jsonl", *options, path).text.count("\n") for options in (["--by", "function"], ["--full-paths"]))
            assert functions <= paths


@pytest.mark.short
def test_lines_of_tasks(tmp_path):
    path = tmp_path / "tasks.pyreel"
    succeed(os.path.join(os.path.dirname(CONVERTERS["report"]), "..", "tests", "make-tasks"), path, "all")
    assert {(line["task"], line["thread"]) for line in lines_of(path)[1:-1]} == {
        ("fetch 1", "MainThread"), ("Task-2", "MainThread"), ("Task-3", None)}
