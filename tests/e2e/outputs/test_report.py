# SPDX-License-Identifier: MIT
"""pyreel-report: its numbers are those of the recording, its text fits where it goes, and names stay names."""

import collections
import fcntl
import html
import os
import pty
import re
import struct
import subprocess
import termios
import unicodedata

import pytest

import made_stream
import enough
from environment import CONVERTERS
from golden import frozen
from recording import ENVIRONMENT, convert, cpu_s_of, info, read_terminal, run, succeed
from report_check import hottest, report

pytestmark = pytest.mark.short

REPORT = CONVERTERS["report"]
ESCAPE = re.compile(r"\x1b\[\d*m")


@pytest.fixture(scope="module")
def told(python3, program, tmp_path_factory):
    return enough.record(tmp_path_factory.mktemp("told") / "told.pyreel", python3, program("told"))


@pytest.fixture(scope="module")
def hostile(python3, program, tmp_path_factory):
    return enough.record(tmp_path_factory.mktemp("report") / "hostile.pyreel", python3, program("hostile"), samples=800)


def on_terminal(*arguments, columns=80, **environment):
    """What pyreel-report prints on a terminal of so many columns."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    values = {key: value for key, value in ENVIRONMENT.items() if key != "COLUMNS"}
    child = subprocess.Popen([REPORT, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=inner, stderr=inner,
                             env={**values, "TERM": "xterm-256color", **environment})
    os.close(inner)
    said = read_terminal(outer)
    os.close(outer)
    assert child.wait() == 0, said
    return said.decode().replace("\r\n", "\n")


def width(line):
    """Columns on a terminal, by the tables of this Python."""
    line = ESCAPE.sub("", line)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


# ---- numbers ----

@pytest.mark.parametrize("case", ["threads-3.11", "calculator-3.14", "exceptions-3.13", "measures-3.15"])
def test_sums_are_those_of_pyreel_info(case):
    figures, found = info(frozen(case)), report(frozen(case))
    assert found["totals"]["samples"] == figures["samples"]
    threads = {thread["name"]: thread for thread in figures["threads"]}
    assert {group["thread"] for group in found["groups"]} == set(threads)
    for group in found["groups"]:
        thread = threads[group["thread"]]
        assert group["samples"] == thread["samples"]
        assert group["wall_s"] == pytest.approx(thread["wall_s"], abs=1e-6)
        assert group["cpu_s"] == pytest.approx(thread["cpu_s"], abs=1e-6)


@pytest.mark.parametrize("weight", ["samples", "wall", "cpu", "gil"])
def test_each_weight_adds_up(told, weight):
    found = report("--weight", weight, told)
    key = weight if weight == "samples" else f"{weight}_s"
    assert found["weight"]["name"] == weight
    assert found["sections"][0]["all"] == pytest.approx(found["totals"][key], abs=1e-6)
    for by in ("line", "file", "module", "thread", "process", "task"):
        assert report("--weight", weight, "--by", by, told)["sections"][0]["all"] == found["sections"][0]["all"]


@pytest.mark.parametrize("weight, unit", [("samples", 1), ("wall", 1e-6), ("cpu", 1e-6)])
def test_functions_have_what_the_stacks_have(told, weight, unit):
    """As pyreel-collapsed tells them."""
    own, total = collections.Counter(), collections.Counter()
    for line in succeed(CONVERTERS["collapsed"], "--weight", weight, "--roots", "none", told).text.splitlines():
        names = [frame.partition(" (")[0] for frame in line.rpartition(" ")[0].split(";")]
        own[names[-1]] += int(line.rpartition(" ")[2]) * unit
        total.update({name: int(line.rpartition(" ")[2]) * unit for name in set(names)})
    rows = hottest(report("--weight", weight, told))
    for name in ("small", "large", "both", "direct", "main"):
        assert rows[name]["self"] == pytest.approx(own[name], abs=1e-4), name
        assert rows[name]["total"] == pytest.approx(total[name], abs=1e-4), name


def test_a_thread_that_waits_is_told_apart(told):
    found = report(told)
    assert found["weight"] == {**found["weight"], "name": "cpu", "without_waits": False}
    # On a busy machine, the first look is late, and the time before it is a group, too.
    assert [(group["thread"], group["quiet"]) for group in found["groups"] if group["thread"] != "<not sampled>"] == [
        ("MainThread", False), ("waiter", True)]


def test_callers_and_callees_share_out_the_whole(told):
    total = hottest(report(told))["large"]["total"]
    (section,) = report("--callers", "large", told)["sections"]
    callers = {row["name"]: row["total"] for row in section["rows"]}
    assert set(callers) == {"both", "direct"}
    assert sum(callers.values()) == pytest.approx(total, abs=1e-6)
    (section,) = report("--callees", "both", told)["sections"]
    assert {"small", "large"} <= {row["name"] for row in section["rows"]}


def test_the_tree_adds_up(told):
    (section,) = report("--tree", told)["sections"]
    below = collections.Counter()
    for row in section["rows"]:
        below[row["parent"]] += row["total"]
    assert below[-1] == pytest.approx(section["all"], abs=1e-6)
    for place, row in enumerate(section["rows"]):
        assert row["parent"] < place
        assert row["self"] + below[place] == pytest.approx(row["total"], abs=1e-6)


def test_several_recordings_are_one_report(told, hostile):
    found = report(told, hostile)
    assert found["recording"]["recordings"] == 2
    assert found["totals"]["samples"] == info(told)["samples"] + info(hostile)["samples"]
    assert len({group["process"] for group in found["groups"]}) == 2


def test_each_process_has_a_row(told, hostile):
    """With the CPU time that pyreel-info shows."""
    (table,) = report("--by", "process", told, hostile)["sections"]
    assert table["title"] == "Processes by CPU time"
    spent = {row["name"].split()[1]: row["total"] for row in table["rows"]}
    for path in (told, hostile):
        told_of = info(path)
        threads, of_none = told_of["threads"], told_of["cpu_native_s"] + told_of["cpu_not_sampled_s"]
        assert -1e-3 <= spent[str(threads[0]["pid"])] - cpu_s_of(threads) <= of_none + 1e-3


# ---- text ----

def test_the_first_screen_says_where_the_time_goes(told):
    lines = succeed(REPORT, told).text.splitlines()
    first = [line for line in lines if re.match(r" +\d", line)][0]
    assert re.match(r" +\d+\.\d{3} +\d+\.\d +\d+\.\d{3} +\d+\.\d  large +told\.py:\d+$", first), first
    assert lines.index(first) < 15
    last = [line for line in lines if not line.startswith("<not sampled>")][-1]  # the time before a late first look
    assert re.fullmatch(r"waiter waited \d+ % of \d+\.\d s", last)
    assert lines[0].startswith("program ") and any(line.startswith("times      CPU time") for line in lines)


@pytest.mark.parametrize("options", [[], ["--weight", "wall"], ["--tree"], ["--callers", "large"], ["--by", "line"], ["--by", "thread"]], ids=" ".join)
@pytest.mark.parametrize("columns", [40, 61, 80, 133])
def test_lines_fit_the_terminal(told, hostile, options, columns):
    for path in (told, hostile) if "--callers" not in options else (told,):
        text = on_terminal(*options, path, columns=columns)
        assert max(map(width, text.splitlines())) <= columns
        assert "\x1b[1m" in text


def test_a_pipe_has_80_columns_and_no_colours(told, hostile):
    for path in (told, hostile):
        text = succeed(REPORT, path).text
        assert "\x1b" not in text
        assert max(map(width, text.splitlines())) <= 80
    assert "\u2514" in succeed(REPORT, "--tree", told).text


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}], ids=str)
def test_colours_can_be_refused(told, environment):
    assert "\x1b" not in on_terminal(told, **environment)


@pytest.mark.parametrize("options", [["--top", "50"], ["--tree"], ["--by", "thread"]], ids=" ".join)
def test_a_locale_without_utf8_gets_ascii(hostile, options):
    ended = subprocess.run([REPORT, *options, hostile], capture_output=True, env={**ENVIRONMENT, "LC_ALL": "C"})
    assert ended.returncode == 0 and ended.stdout.isascii()
    assert b"caf\\xe9" in ended.stdout or options == ["--by", "thread"] and b"\\u" in ended.stdout


# ---- names ----

ALLOWED = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*")


@pytest.mark.parametrize("name", ["report", "info"])
def test_no_name_reaches_a_terminal_as_a_command(hostile, name):
    options = {"report": ([], ["--tree"], ["--by", "line"], ["--by", "thread"], ["--markdown"], ["--annotate", "/made/0/"],
                          ["--callees", "spin"]), "info": ([],)}[name]
    for some in options:
        ended = run(CONVERTERS[name], *some, hostile)
        assert ALLOWED.fullmatch(ended.text) and ALLOWED.fullmatch(ended.messages), some
        assert ended.code == 0 or "--annotate" in some


def cells(line):
    """The cells of a row of a table, as GitHub takes it apart."""
    return re.split(r"(?<!\\)\|", line)[1:-1]


def test_names_in_markdown_stay_names(hostile):
    text = succeed(REPORT, "--markdown", "--top", "50", hostile).text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) > 10 and {len(cells(row)) for row in rows} <= {2, 3, 5, 6}
    names = []
    for row in rows:
        for cell in cells(row):
            cell = cell.strip()
            code = re.fullmatch(r"`([^`|\\]+)`|<code>([^<>`|]*)</code>", cell)
            assert code or re.fullmatch(r"[\d.%]*|---:?|self s|total s|function|thread|where", cell), cell
            names += [code[1] or html.unescape(code[2])] if code else []
    assert "a|b`c``d<img src=x onerror=alert(1)>" in names and "```" in names
    assert "<img" not in re.sub(r"`[^`]*`", "", text)


def test_json_has_names_as_they_are(hostile):
    names = set(hottest(report(hostile)))
    assert {"a|b`c``d<img src=x onerror=alert(1)>", "\u202egnirts\u2066\u200b", "```"} <= names


def test_an_expression_matches_the_name_of_a_function_alone(told):
    for wanted, found in (("^large$", True), ("^large \\(.*\\.py\\)$", True), ("^arge$", False), ("^large \\($", False)):
        ended = run(REPORT, "--json", "--focus", wanted, told)
        assert (ended.code == 0) == found, ended
        hidden = report("--hide", wanted, told)["sections"][0]["rows"]
        assert ("large" in [row["name"] for row in hidden]) != found
        assert (run(REPORT, "--callees", wanted, told).code == 0) == found


# ---- source ----

def source_rows(found):
    (section,) = found["sections"]
    return section, {row["line"]: row for row in section["rows"]}


def test_source_has_the_time_of_each_line(told, program):
    (path,) = {row["path"] for row in report(told)["sections"][0]["rows"] if row["name"] == "large"}
    folder, own = os.path.dirname(path), os.path.dirname(program("told"))
    section, rows = source_rows(report("--annotate", "large", "--path-map", f"{folder}={own}", told))
    with open(program("told")) as file:
        lines = [""] + file.read().splitlines()
    assert section["note"] is None and all(row["text"] == lines[number] for number, row in rows.items())
    loop = next(number for number, line in enumerate(lines) if line == "def large(until):")
    assert min(rows) == loop
    total = hottest(report(told))["large"]["total"]
    assert sum(row["self"] for row in rows.values()) == pytest.approx(total, abs=1e-6)
    section, rows = source_rows(report("--annotate", "told.py", "--path-map", f"{folder}={own}", told))
    assert section["note"] is None and len(rows) > 10


def test_without_the_text_there_are_the_lines_and_the_reason(told, tmp_path):
    (path,) = {row["path"] for row in report(told)["sections"][0]["rows"] if row["name"] == "large"}
    name = os.path.basename(path)
    section, rows = source_rows(report("--annotate", "large", "--path-map", f"{os.path.dirname(path)}={tmp_path}", told))
    assert "not found" in section["note"] and all(row["text"] == "" for row in rows.values()) and rows
    (tmp_path / name).write_text("# another program\n")
    section, rows = source_rows(report("--annotate", "large", "--path-map", f"{os.path.dirname(path)}={tmp_path}", told))
    assert "changed" in section["note"] and rows
    text = succeed(REPORT, "--annotate", "large", "--path-map", f"{os.path.dirname(path)}={tmp_path}", told).text
    assert "No source: the file has changed since the recording." in text


def test_the_source_of_made_up_code_is_the_file_that_the_user_names(tmp_path):
    """Code of exec() has a name and no file; its text may be written down after the recording."""
    path, text = tmp_path / "made.pyreel", tmp_path / "cell.py"
    made_stream.write(path, made_stream.Samples([[("<module>", "<dynamic-code>", 1), ("hot", "<dynamic-code>", 2)]] * 9), pid=1,
                      start_unix_ns=1_700_000_000 * 10**9)
    section, rows = source_rows(report("--annotate", "<dynamic-code>", path))
    assert "--path-map 'NAME=FILE.py'" in section["note"] and rows
    text.write_text("def hot():\n    x = 1\n")
    for wanted in ("<dynamic-code>", "hot"):
        section, rows = source_rows(report("--annotate", wanted, "--path-map", f"<dynamic-code>={text}", path))
        assert section["note"] is None and rows[2]["text"] == "    x = 1" and rows[2]["self"] > 0
    text.write_text("x = 1\n")
    assert "changed" in source_rows(report("--annotate", "hot", "--path-map", f"<dynamic-code>={text}", path))[0]["note"]


# ---- what can be wrong ----

def test_a_name_that_several_functions_have_is_asked_back(told):
    ended = convert("report", told, "--callers", "a")
    assert ended.code == 1 and re.search(r"--callers a names \d+ functions; .*: .* \(.*:\d+\)", ended.messages)
    ended = convert("report", told, "--callees", "no_such_function")
    assert ended.code == 1 and "the recording has no such function" in ended.messages
    line = hottest(report(told))["large"]["line"]
    by_line = report("--callers", f"told.py:{line + 1}", told)["sections"]
    assert by_line == report("--callers", "large", told)["sections"]


def test_filters_that_leave_nothing_are_named(told):
    for options in (["--focus", "nothing_like_it"], ["--from", "300"], ["--threads", "nobody"]):
        for more in ([], ["--tree"], ["--json"], ["--by", "thread"]):
            ended = convert("report", told, *options, *more)
            assert (ended.code, ended.output) == (1, b"")
            assert f"matches {' '.join(options)}" in ended.messages


def test_filters_are_those_of_the_converters(told):
    assert set(hottest(report("--hide", "^(small|large) ", told))).isdisjoint({"small", "large"})
    focused = report("--focus", "^small ", told)
    assert focused["sections"][0]["all"] == pytest.approx(hottest(report(told))["small"]["total"], abs=1e-6)
    assert {group["thread"] for group in report("--threads", "Main*", told)["groups"]} == {"MainThread"}
    assert "part       only what --to 50% keeps" in succeed(REPORT, "--to", "50%", told).text


def test_a_cut_recording_has_a_report(tmp_path):
    data = frozen("threads-3.11").read_bytes()
    for share in (0.3, 0.6, 0.9):
        cut = tmp_path / "cut.pyreel"
        cut.write_bytes(data[:int(len(data) * share)])
        ended = convert("report", cut)
        assert ended.code == 0 and "is not complete" in ended.messages, ended
        assert "damage     parts of the recording are missing" in ended.text
        assert report(cut)["recording"]["complete"] is False


@pytest.mark.parametrize("options, words", [
    (["--json", "--markdown"], "different outputs"), (["--min", "2%"], "--min is for --tree"), (["--by", "line", "--tree"], "--by and --sort"),
    (["--path-map", "/a=/b"], "--path-map is for --annotate"), (["--top", "0"], "--top"), (["--top", "5", "--tree"], "--top is for tables"), (["--by", "colour"], "--by"),
    (["--tree", "--callers", "main"], "different reports"), (["--annotate", "main", "--callees", "main"], "different reports"),
], ids=str)
def test_options_that_do_not_fit_are_refused(told, options, words):
    ended = convert("report", told, *options)
    assert ended.code == 2 and words in ended.messages
