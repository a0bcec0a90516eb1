# SPDX-License-Identifier: MIT
"""Viewers, on recordings of every kind. pprof, Debian's and the newest, in each of its modes: what it shows is what the
profile holds. flamegraph.pl and speedscope: that they accept the collapsed stacks, and count all samples."""

import collections
import contextlib
import html
import json
import os
import pathlib
import re
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

import made_stream
import pprof_check
import pprof_output
from environment import CONVERTERS, PPROFS, PROJECT, need_flamegraph, need_pprof
from pprof_output import Graph, by_line, samples_of
from recording import COUNTS, ENVIRONMENT, PATIENCE, cpu_s_of, info, run, succeed, wait_until
from viewers import speedscope

STREAMS = pathlib.Path(PROJECT) / "tests" / "streams"
ALL_ROWS = ("-nodecount=1000000", "-nodefraction=0", "-edgefraction=0")
COLUMNS = [name for name, _ in pprof_check.COLUMNS]
KINDS = ["plain-3.11", "threads-3.11", "names-3.11", "native-3.12", "blocking-3.12", "gil-mode-3.12", "cpu-mode-3.13",
         "exceptions-3.13", "exception-mode-3.14", "interpreters-3.14", "free-threaded-3.14", "async-running-3.14", "async-all-3.15",
         "gc-3.15", "measures-3.15", "opcodes-3.15", "tree-3.13", "weighted", "cut", "failed-samples", "spans"]
ONE_BY_ONE = ["tree-3.13", "async-all-3.15"]  # whose threads pyreel-info does not tell by their numbers alone
CONVERTED = {  # options of pyreel-pprof
    "opcodes-3.15": ("--opcodes", "--columns"),
    "native-3.12": ("--functions",),
    "blocking-3.12": ("--qualify",),
}
# Of all that pprof has a mode for: threads, tasks, interpreters, several processes.
MANY = ["interpreters-3.14", "async-running-3.14", "gil-thread-3.15"]
SOURCE = """def starts():
    for _ in range(9):
        grinds()

def grinds():
    while True:
        pass

starts()
"""

Profiled = collections.namedtuple("Profiled", "path recordings profile samples")


def profile_of(folder, recordings, *options):
    path = folder / "out.pb.gz"
    succeed(CONVERTERS["pprof"], "-q", *options, "-o", path, *recordings)
    profile, problems = pprof_check.examine(path)
    assert problems == []
    return Profiled(path, recordings, profile, samples_of(profile))


def paths_of(*kinds):
    return [STREAMS / kind / "recording.pyreel" for kind in kinds]


# ---- each kind ----

@pytest.mark.parametrize("kind", KINDS)
def test_viewers_have_every_sample(kind, tmp_path):
    """A sum of the recording is that of the profile, and pprof reads all that the profile has. flamegraph.pl and speedscope
    say nothing of a line that they ignore, except in their sums."""
    profiled = profile_of(tmp_path, paths_of(kind), *CONVERTED.get(kind, ()))
    weights = {}
    for column in COLUMNS[1:]:
        ended = run(CONVERTERS["collapsed"], "--weight", column, *profiled.recordings)
        if ended.code == 0:  # else no recording knows that column
            weights[column] = sum(int(line.rpartition(" ")[2]) for line in ended.text.splitlines()) / 1e6
    if kind not in ONE_BY_ONE:
        assert pprof_check.compare(profiled.profile, info(*profiled.recordings), weights) == []

    chosen = sum(int(line.rpartition(" ")[2]) for line in succeed(CONVERTERS["collapsed"], "-q", *profiled.recordings).text.splitlines()) / 1e6
    columns, samples = pprof_output.raw(ask(need_pprof("newest"), "-raw", profiled.path))
    default = pprof_check.text_at(profiled.profile, profiled.profile["default_sample_type"])
    assert (default == "cpu") == (chosen > 0 and chosen == weights.get("cpu")), "the weight of collapsed stacks"
    assert columns.split() == [f"{name}/{unit}{'[dflt]' * (name == default)}" for name, unit in pprof_check.COLUMNS]
    assert samples == pprof_output.as_raw(profiled.samples)

    path, count = tmp_path / "stacks.txt", sum(sample.values[0] for sample in profiled.samples)
    path.write_text(succeed(CONVERTERS["collapsed"], "-q", *COUNTS, *profiled.recordings).text, encoding="utf-8")
    assert speedscope(path)["total"] == count
    whole = f"<title>all ({count:,} samples, 100%)</title>"
    assert whole in flames(path)
    # A difference has a second count in each line. What is taken for one where there is none would be left out of a name.
    path.write_text(re.sub(r" (\d+)$", r" \1 \1", path.read_text(encoding="utf-8"), flags=re.MULTILINE), encoding="utf-8")
    assert whole in flames(path)


@pytest.mark.short
@pytest.mark.parametrize("mode", ["wall", "cpu", "gil"])
def test_cpu_time_of_what_a_mode_leaves_out_stays(mode, tmp_path):
    """It goes to a look that the mode keeps."""
    for kind in ("threads-3.11", "exceptions-3.13", "opcodes-3.15"):
        (path,) = paths_of(kind)
        known = cpu_s_of(info(path)["threads"])
        profiled = profile_of(tmp_path, [path], "--force", "--mode", mode)
        assert sum(sample.values[COLUMNS.index("cpu")] for sample in profiled.samples) / 1e9 == pytest.approx(known, abs=0.002), kind
        lines = succeed(CONVERTERS["collapsed"], "--weight", "cpu", "--mode", mode, path).text.splitlines()
        assert sum(int(line.rpartition(" ")[2]) for line in lines) / 1e6 == pytest.approx(known, abs=0.002), kind


def flames(path):
    """What flamegraph.pl draws; it cuts a long name between any two bytes."""
    ended = succeed(need_flamegraph(), path)
    assert ended.errors == b"", ended
    return ended.output.decode(errors="replace")


# ---- each mode ----

def ask(program, *arguments):
    """What a viewer prints; it must succeed, and say nothing else."""
    ended = succeed(program, *arguments)
    assert ended.errors == b"", ended
    return ended.text


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    """MANY, and a program whose file is there."""
    folder = tmp_path_factory.mktemp("many")
    made, source = folder / "made.pyreel", folder / "made source.py"
    source.write_text(SOURCE)
    stack = [("<module>", str(source), 9), ("starts", str(source), 3)]
    rows = [stack] * 5 + [[*stack, ("grinds", str(source), line)] for line in (6, 7) for _ in range(100 * line)]
    made_stream.write(made, made_stream.Samples(rows), pid=7, start_unix_ns=1_700_000_000_000_000_000)
    return profile_of(folder, [*paths_of(*MANY), made])


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return profile_of(tmp_path_factory.mktemp("other"), paths_of("threads-3.11"))


@pytest.fixture(params=PPROFS)
def pprof(request):
    """pprof(ARGUMENT...): what it prints."""
    program = need_pprof(request.param)

    def say(*arguments):
        return ask(program, *arguments)

    say.program = program
    return say


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


@pytest.mark.short
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


@pytest.mark.short
def test_tags_are_the_labels(pprof, profiled):
    assert pprof_output.tags(pprof("-tags", "-sample_index=samples", profiled.path)) == values_of_labels(profiled)


@pytest.mark.short
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
    for line in expected[name, files[name]]:
        assert f" {line}:{SOURCE.splitlines()[line - 1]}".rstrip() in text


def test_weblist_shows_the_source(pprof, profiled, tmp_path):
    """It disassembles what it can open: the interpreter must not be offered for that."""
    page = tmp_path / "w.html"
    succeed(pprof.program, "-weblist=^grinds$", f"-output={page}", profiled.path)
    assert "while True:" in page.read_text()


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


def test_the_difference_to_another_profile(pprof, profiled, other):
    text = pprof("-top", f"-diff_base={other.path}", *ask_for("wall"), profiled.path)
    expected = graph(profiled, samples=profiled.samples + negative(other.samples))
    assert pprof_output.top(text) == {name: row for name, row in expected.rows().items() if row != (0, 0)}


def negative(samples):
    return [sample._replace(values=tuple(-value for value in sample.values)) for sample in samples]


def test_normalize_gives_both_the_same_sum(pprof, profiled, other):
    """What is rounded is each sample. A profile is not compared with itself: pprof then drops each sample, because some
    columns keep their values and the others are 0."""
    text = pprof("-top", "-normalize", f"-diff_base={other.path}", *ask_for("wall"), profiled.path)
    before, after = graph(other), graph(profiled)
    factor = before.value / after.value
    shown = pprof_output.top(text)
    for name in before.total.keys() | after.total.keys():
        expected = after.total[name] * factor - before.total[name]
        assert shown.get(name, (0, 0))[1] == pytest.approx(expected, abs=1 + len(profiled.samples)), name
    (left,) = re.findall(r"Showing nodes accounting for (-?\d+)", text)
    assert abs(int(left)) <= len(profiled.samples)


def test_two_profiles_merge(pprof, profiled, other, tmp_path):
    out = tmp_path / "out"
    ended = run(pprof.program, "-proto", f"-output={out}", profiled.path, other.path)
    assert (ended.code, ended.text) == (0, ""), ended
    assert ended.messages == f"Generating report in {out}\n"
    merged = pprof_check.load(out)
    assert [pprof_check.type_of(merged, kind) for kind in merged["sample_type"]] == pprof_check.COLUMNS
    assert pprof_output.counted(samples_of(merged)) == pprof_output.counted(profiled.samples + other.samples)


# ---- the web server ----

class Server:
    """pprof -http, without a browser. It does not tell a port that it chose itself."""

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
        """Whether it does; it has ended where somebody else has taken the port."""
        if self.process.poll() is not None:
            return True
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
        while server.process.poll() is not None:
            said = server.stop()
            assert "address already in use" in said, said
            server = Server(program, path)
            wait_until(server.answers, "the web server of pprof")
        yield server
    finally:
        said = server.stop()
    assert said == f"Serving web UI on http://{server.address}\n"


@pytest.mark.short
def test_the_web_server_shows_the_profile(pprof, profiled, tmp_path):
    with served(pprof.program, profiled.path) as server:
        (tmp_path / "download").write_bytes(server.get("download"))
        downloaded = samples_of(pprof_check.load(tmp_path / "download"))
        assert pprof_output.counted(downloaded) == pprof_output.counted(profiled.samples)
        for column in COLUMNS:
            assert web_top(server.get("top", si=column, nf=0).decode()) == (
                graph(profiled, column).value, dict(largest(graph(profiled, column).rows())))
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
    frame = max(lines, key=lambda frame: (lines[frame], frame))
    page = web_text(server.get("source", f=exactly(frame.name), si="wall", unit="ns"))
    source = SOURCE.splitlines()[frame.line - 1]
    own, total = lines[frame]
    assert frame.name in page
    assert re.search(rf"<span class=line> *{frame.line}</span> <span class=\w+> *{f'{own}ns' if own else '[.]'} +{total}ns +"
                     rf"{re.escape(source.strip())} *</span>", page)
