# SPDX-License-Identifier: MIT
"""Viewers, on recordings of every kind. go tool pprof, the machine's and the newest, in each of its modes: what it shows
is what the profile holds, and the profile holds what the recording holds. flamegraph.pl and speedscope: that they accept
the collapsed stacks, and count all samples."""

import collections
import contextlib
import html
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request

import pytest

import pprof_check
import pprof_output
import tachyon
from environment import CONVERTERS, PPROFS, as_root, need_flamegraph, need_pprof, python_of, python_of_this_machine
from pprof_output import Graph, by_line, samples_of
from recording import ENVIRONMENT, PATIENCE, Target, attach, info, run, run_record, succeed, wait_until
from viewers import speedscope

SECONDS = 0.6
ALL_ROWS = ("-nodecount=1000000", "-nodefraction=0", "-edgefraction=0")
COLUMNS = [name for name, _ in pprof_check.COLUMNS]

ODD_NAMES = '''
import threading, time

class Maß:
    def größer_als(self, ende):
        while time.monotonic() < ende:
            pass

thread = threading.Thread(target=Maß().größer_als, args=(time.monotonic() + 0.4,), name="Arbeiter „Ü“ 日本 7")
thread.start()
thread.join()
'''

Profiled = collections.namedtuple("Profiled", "path recordings profile samples")


# ---- recordings of every kind ----

def mix(version, *options):
    return version, options, ("mix", SECONDS)


RECORDED = {  # which Python, the options of pyreel-record, the program
    "3.11": mix("3.11"),
    "3.15": mix("3.15"),
    "sub-interpreters": ("3.15", (), ("in_interpreters", "few", SECONDS)),
    "async running": ("3.15", ("--async", "running"), ("columns", "tasks", SECONDS)),
    "async all": ("3.15", ("--async", "all"), ("columns", "tasks", SECONDS)),
    "cpu": mix("3.15", "-m", "cpu"),
    "gil": mix("3.11", "-m", "gil"),
    "exception": mix("3.15", "-m", "exception"),
    "opcodes": mix("3.15", "--opcodes"),
    "native": mix("3.15", "--native"),
    "blocking": mix("3.15", "--blocking"),
    "no GC": mix("3.11", "--no-gc"),
}
MADE = ["odd names", "Tachyon", "cut", "short", "empty", "several"]
CONVERTED = {  # options of pyreel-pprof
    "opcodes": ("--opcodes", "--columns"),
    "native": ("--functions",),
    "blocking": ("--qualify",),
}


KINDS = [*RECORDED, *MADE]
with_samples = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "empty"], indirect=True)
with_lines = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("empty", "native")], indirect=True)


class Makes:
    """Makes each kind once."""

    def __init__(self, folder, program):
        self.folder, self.program, self.made = folder, program, {}

    def __call__(self, kind):
        if kind not in self.made:
            self.made[kind] = None  # so that what fails is not tried for each test
            recordings = self.record(kind)
            out = os.path.join(self.folder, f"{kind}.pb.gz")
            options = CONVERTED.get(kind, ())
            ended = succeed(CONVERTERS["pprof"], "-q", *options, "-o", out, *recordings)
            profile, problems = pprof_check.examine(out)
            assert [problem for problem in problems if kind != "Tachyon" or not problem.startswith("time 0, ")] == []
            self.made[kind] = Profiled(out, recordings, profile, samples_of(profile))
        assert self.made[kind], "it could not be made before"
        return self.made[kind]

    def record(self, kind):
        path = os.path.join(self.folder, f"{kind}.pyreel")
        if kind in RECORDED:
            version, options, (program, *arguments) = RECORDED[kind]
            python = python_of(version)
            command = [*python.command, self.program(program), *arguments]
            self.run(path, *options, "--", *command, prefix=as_root() if python.root else ())
        elif kind == "odd names":
            source = os.path.join(self.folder, "mit Leerzeichen; größe.py")
            with open(source, "w", encoding="utf-8") as file:
                file.write(ODD_NAMES)
            self.run(path, "--", *python_of_this_machine().command, source)
        elif kind == "short":
            self.run(path, "-r", "4", "--no-jitter", "--", *python_of_this_machine().command, self.program("mix"), 0.3)
        elif kind == "Tachyon":
            tachyon.sampling("run", "--binary", "-a", "-o", path, self.program("mix"), SECONDS)
        elif kind == "several":
            return [recording for other in ("3.11", "3.15", "async running") for recording in self(other).recordings]
        elif kind == "empty":
            target = Target(*python_of_this_machine().command, self.program("spin"))
            try:
                attach(target, path, "-m", "exception", seconds=0.1)
            finally:
                target.close()
        else:
            assert kind == "cut"
            seconds = 1.5  # a block has one second
            self.run(path, "--", *python_of_this_machine().command, self.program("mix"), seconds)
            os.truncate(path, os.path.getsize(path) - 64)
            assert not info(path)["complete"] and info(path)["samples"] > 500
        return [path]

    def run(self, path, *arguments, **more):
        ended = run_record("-q", "-o", path, *arguments, **more)
        assert ended.code == 0, ended


@pytest.fixture(scope="module")
def makes(program):
    folder = tempfile.mkdtemp(prefix="pyreel-pprof-", dir="/tmp")  # where a Python of a root folder sees it, too
    yield Makes(folder, program)
    shutil.rmtree(folder)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def profiled(makes, kind):
    return makes(kind)


@pytest.fixture(params=PPROFS)
def pprof(request):
    """pprof(ARGUMENT...): what it prints; it must succeed, and say nothing else."""
    program = need_pprof(request.param)

    def ask(*arguments):
        ended = succeed(program, *arguments)
        assert ended.errors == b"", ended
        return ended.text

    ask.program = program
    return ask


# ---- the profile and the recording ----

def test_a_recording_without_samples_is_a_profile(makes):
    assert makes("empty").samples == []


@with_samples
def test_the_sums_are_those_of_the_recording(profiled):
    figures = [info(recording) for recording in profiled.recordings]
    weights = {}
    for column in COLUMNS[1:]:
        ended = run(CONVERTERS["collapsed"], "--weight", column, *profiled.recordings)
        if ended.code == 0:  # else no recording knows that column
            weights[column] = sum(int(line.rpartition(" ")[2]) for line in ended.text.splitlines()) / 1e6
    assert pprof_check.compare(profiled.profile, figures, weights) == []


# ---- modes ----

def graph(profiled, column="wall", *, frame_of=pprof_output.by_name, samples=None):
    return Graph(profiled.samples if samples is None else samples, COLUMNS.index(column), frame_of)


def ask_for(column):
    return (f"-sample_index={column}", *(("-unit=ns",) if column != "samples" else ()), *ALL_ROWS)


def hottest(profiled, wanted=lambda name: True):
    """Of the functions that are wanted, the one that is in most samples."""
    total = graph(profiled, "samples").total
    return max(filter(wanted, total), key=lambda name: (total[name], name))


def exactly(name):
    return f"^{re.escape(name)}$"


def test_raw_has_every_sample(pprof, profiled):
    columns, samples = pprof_output.raw(pprof("-raw", profiled.path))
    default = pprof_check.text_at(profiled.profile, profiled.profile["default_sample_type"])
    assert columns.split() == [f"{name}/{unit}{'[dflt]' * (name == default)}" for name, unit in pprof_check.COLUMNS]
    assert samples == pprof_output.as_raw(profiled.samples)


def test_top_has_every_function(pprof, profiled):
    """The other columns are in the web server's page."""
    text = pprof("-top", *ask_for("wall"), profiled.path)
    expected = graph(profiled)
    assert pprof_output.top(text) == expected.rows()
    assert re.search(rf"^Showing nodes accounting for {expected.value}(ns)?, (100|0)% of {expected.value}(ns)? total$", text,
                     re.MULTILINE)
    assert "\nType: wall\n" in text


def test_tree_has_every_call(pprof, profiled):
    expected = graph(profiled)
    assert pprof_output.tree(pprof("-tree", *ask_for("wall"), profiled.path)) == (expected.rows(), expected.around())


@with_samples
def test_peek_has_the_calls_of_a_function(pprof, profiled):
    name, expected = hottest(profiled), graph(profiled)
    rows, around = pprof_output.tree(pprof(f"-peek={exactly(name)}", *ask_for("wall"), profiled.path))
    assert (rows, around) == ({name: expected.rows()[name]}, expected.around([name]))


def test_traces_have_every_stack(pprof, profiled):
    expected = collections.Counter()
    for sample in profiled.samples:
        names = tuple(frame.name for frame in reversed(sample.frames))
        expected[names, frozenset(sample.labels.items())] += sample.values[COLUMNS.index("wall")]
    assert pprof_output.traces(pprof("-traces", *ask_for("wall"), profiled.path)) == +expected


def values_of_labels(profiled, column="samples"):
    found = collections.defaultdict(collections.Counter)
    for sample in profiled.samples:
        for key, value in sample.labels.items():
            found[key][value] += sample.values[COLUMNS.index(column)]
    return found


def test_tags_are_the_labels(pprof, profiled):
    assert pprof_output.tags(pprof("-tags", "-sample_index=samples", profiled.path)) == values_of_labels(profiled)


@with_lines
def test_list_has_the_lines_of_a_function(pprof, profiled):
    files = {frame.name: frame.file for sample in profiled.samples for frame in sample.frames}
    name = hottest(profiled, lambda name: os.path.exists(files[name]))
    text = pprof(f"-list={exactly(name)}", *ask_for("wall"), profiled.path)
    expected = collections.defaultdict(lambda: collections.defaultdict(lambda: (0, 0)))
    for frame, values in graph(profiled, frame_of=by_line).rows().items():
        if frame.name == name and os.path.exists(frame.file):
            lines = expected[name, frame.file]
            lines[frame.line] = tuple(map(sum, zip(values, lines[frame.line])))
    shown = {where: lines for where, lines in pprof_output.routines(text).items() if os.path.exists(where[1])}
    assert shown == expected
    with open(files[name], encoding="utf-8") as file:
        source = file.read().splitlines()
    for line in expected[name, files[name]]:
        assert f" {line}:{source[line - 1]}".rstrip() in text


@with_samples
@pytest.mark.parametrize("key", ["thread", "thread_id"])
def test_tagfocus_keeps_a_thread(pprof, profiled, key):
    for value, _ in values_of_labels(profiled)[key].most_common(1):
        wanted = value if key == "thread_id" else exactly(value).replace(",", ".").replace(":", ".")
        ended = run(pprof.program, "-top", f"-tagfocus={key}={wanted}", *ask_for("wall"), profiled.path)
        assert ended.code == 0
        if key == "thread":  # it says of a number how it reads that
            assert ended.errors == b""
        kept = [sample for sample in profiled.samples if sample.labels[key] == value]
        assert pprof_output.top(ended.text) == graph(profiled, samples=kept).rows()


@with_samples
def test_tagroot_and_tagleaf_are_rows(pprof, profiled):
    text = pprof("-top", "-tagroot=thread", "-tagleaf=interpreter", *ask_for("samples"), profiled.path)
    rows = pprof_output.rooted(profiled.samples, "thread", "interpreter")
    assert pprof_output.top(text) == graph(profiled, "samples", samples=rows).rows()
    shown = pprof_output.top(text)
    for value, count in values_of_labels(profiled)["thread"].items():
        assert shown[value][1] >= count


def test_a_profile_does_not_differ_from_itself(pprof, profiled):
    text = pprof("-top", f"-diff_base={profiled.path}", *ask_for("wall"), profiled.path)
    assert pprof_output.top(text) == {}
    assert "Showing nodes accounting for 0, 0% of " in text


def test_the_difference_to_another_profile(pprof, profiled, makes):
    other = makes("no GC")
    text = pprof("-top", f"-diff_base={other.path}", *ask_for("wall"), profiled.path)
    expected = graph(profiled, samples=profiled.samples + negative(other.samples))
    assert pprof_output.top(text) == {name: row for name, row in expected.rows().items() if row != (0, 0)}


def negative(samples):
    return [sample._replace(values=tuple(-value for value in sample.values)) for sample in samples]


def test_normalize_gives_both_the_same_sum(pprof, profiled, kind, makes):
    """What is rounded is each sample. A profile is not compared with itself: pprof then drops each sample, because some
    columns keep their values and the others are 0."""
    other = makes("3.15" if kind == "no GC" else "no GC")
    text = pprof("-top", "-normalize", f"-diff_base={other.path}", *ask_for("wall"), profiled.path)
    before, after = graph(other), graph(profiled)
    factor = before.value / after.value if after.value else 0
    shown = pprof_output.top(text)
    for name in before.total.keys() | after.total.keys():
        expected = after.total[name] * factor - before.total[name]
        assert shown.get(name, (0, 0))[1] == pytest.approx(expected, abs=1 + len(profiled.samples)), name
    (left,) = re.findall(r"Showing nodes accounting for (-?\d+)", text)
    assert abs(int(left)) <= (len(profiled.samples) if after.value else before.value)


def test_two_profiles_merge(pprof, profiled, makes, tmp_path):
    other, out = makes("3.11"), tmp_path / "out"
    ended = run(pprof.program, "-proto", f"-output={out}", profiled.path, other.path)
    assert (ended.code, ended.text) == (0, ""), ended
    assert ended.messages == f"Generating report in {out}\n"
    merged = pprof_check.load(out)
    assert [pprof_check.type_of(merged, kind) for kind in merged["sample_type"]] == pprof_check.COLUMNS
    assert pprof_output.counted(samples_of(merged)) == pprof_output.counted(profiled.samples + other.samples)


# ---- the web server ----

class Server:
    """pprof -http, without a browser."""

    def __init__(self, program, path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = "127.0.0.1:%d" % free.getsockname()[1]
        self.process = subprocess.Popen([program, f"-http={self.address}", "-no_browser", path], env=ENVIRONMENT,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def get(self, page, **query):
        url = f"http://{self.address}/ui/{page}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            return answer.read()

    def answers(self):
        assert self.process.poll() is None, self.process.stdout.read().decode()
        with contextlib.suppress(urllib.error.URLError):
            return bool(self.get("download"))
        return False

    def stop(self):
        """Its process alone; what it said."""
        self.process.terminate()
        return self.process.communicate(timeout=PATIENCE)[0].decode()


@contextlib.contextmanager
def served(program, path):
    server = Server(program, path)
    try:
        wait_until(server.answers, "the web server of pprof")
        yield server
    finally:
        said = server.stop()
    assert said == f"Serving web UI on http://{server.address}\n"


def test_the_web_server_shows_the_profile(pprof, profiled, tmp_path):
    with served(pprof.program, profiled.path) as server:
        (tmp_path / "download").write_bytes(server.get("download"))
        downloaded = samples_of(pprof_check.load(tmp_path / "download"))
        assert pprof_output.counted(downloaded) == pprof_output.counted(profiled.samples)
        for column in COLUMNS:
            assert web_top(server.get("top", si=column, nf=0).decode()) == (
                graph(profiled, column).value, dict(largest(graph(profiled, column).rows())))
        if profiled.samples:
            assert web_flames(server.get("flamegraph", si="wall").decode()) == pprof_output.stacks(profiled.samples, 1)
            shows_the_calls(server, profiled)
            shows_the_source(server, profiled)


def largest(rows, count=500):
    return sorted(rows.items(), key=lambda row: (-abs(row[1][0]), -abs(row[1][1]), row[0]))[:count]


def web_top(page):
    total, rows = re.search(r"makeTopTable\( *(-?\d+) *, (.*)\);?\n", page).groups()
    return int(total), {row["Name"]: (row["Flat"], row["Cum"]) for row in json.loads(rows) or ()}


def web_flames(page):
    """{(root, ..., leaf): value} of either version's flame graph."""
    found = collections.Counter()
    if match := re.search(r"stackViewer\((\{.*\})", page):
        graph = json.loads(match[1])
        names = [source["FullName"] for source in graph["Sources"]]
        for stack in graph["Stacks"]:
            found[tuple(names[number] for number in stack["Sources"][1:])] += stack["Value"]
        return +found

    def walk(node, above):
        children = node.get("c") or ()
        found[above] += node["v"] - sum(child["v"] for child in children)
        for child in children:
            walk(child, (*above, child["f"]))

    walk(json.loads(json.loads(f'"{re.search(r"""JSON.parse[(]"(.*)"[)]""", page)[1]}"')), ())
    return +found


def web_text(page):
    return html.unescape(page.decode())


def shows_the_calls(server, profiled):
    """It shows lines, and looks for the name both in the functions and in the text of the lines."""
    def text_of(frame):
        return f"{frame.name} {frame.file}:{frame.line}"

    name = hottest(profiled, lambda name: not name.startswith("<"))
    page = web_text(server.get("peek", f=f"^{re.escape(name)}", si="wall", unit="ns"))
    expected = graph(profiled, frame_of=text_of).rows()
    rows, _ = pprof_output.tree(re.search(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)[1])
    assert rows and rows == {text: values for text, values in expected.items() if text.startswith(name)}


def shows_the_source(server, profiled):
    lines = {frame: values for frame, values in graph(profiled, frame_of=by_line).rows().items()
             if frame.line and os.path.exists(frame.file)}
    if not lines:
        return
    frame = max(lines, key=lambda frame: (lines[frame], frame))
    page = web_text(server.get("source", f=exactly(frame.name), si="wall", unit="ns"))
    with open(frame.file, encoding="utf-8") as file:
        source = file.read().splitlines()[frame.line - 1]
    own, total = lines[frame]
    assert frame.name in page
    assert re.search(rf"<span class=line> *{frame.line}</span> <span class=\w+> *{f'{own}ns' if own else '[.]'} +{total}ns +"
                     rf"{re.escape(source.strip())} *</span>", page)


# ---- collapsed stacks ----

@pytest.fixture
def stacks_file(profiled, tmp_path):
    """The collapsed stacks of the recordings, and how many samples they have."""
    path = tmp_path / "stacks.txt"
    path.write_text(collapsed_of(profiled.recordings), encoding="utf-8")
    return path, sum(sample.values[0] for sample in profiled.samples)


def collapsed_of(recordings):
    return succeed(CONVERTERS["collapsed"], "-q", *recordings).text


def flames(path):
    """What flamegraph.pl draws. It says nothing of a line that it ignored, except here."""
    ended = succeed(need_flamegraph(), path)
    assert ended.errors == b"", ended
    return ended.text


@with_samples
def test_flamegraph_draws_every_sample(stacks_file):
    path, samples = stacks_file
    assert f"<title>all ({samples:,} samples, 100%)</title>" in flames(path)


a_few_kinds = pytest.mark.parametrize("kind", ["async all", "odd names", "several"], indirect=True)


@a_few_kinds
def test_flamegraph_draws_a_difference(stacks_file):
    """A line has a second count. What flamegraph.pl takes for one where there is none would be left out of a name."""
    path, samples = stacks_file
    twice = re.sub(r" (\d+)$", r" \1 \1", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    path.write_text(twice, encoding="utf-8")
    assert f"<title>all ({samples:,} samples, 100%)</title>" in flames(path)


@a_few_kinds
def test_speedscope_counts_every_sample(stacks_file):
    path, samples = stacks_file
    assert speedscope(path)["total"] == samples
