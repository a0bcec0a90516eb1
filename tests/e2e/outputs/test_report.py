# SPDX-License-Identifier: MIT
"""pyreel-report: its numbers are those of the recording, its text fits where it goes, and names stay names."""

import collections
import fcntl
import html
import json
import os
import pty
import re
import struct
import subprocess
import termios
import unicodedata

import pytest

import report_check
from environment import CONVERTERS, PROJECT
from recording import ENVIRONMENT, convert, info, read_terminal, run, run_record, succeed, whole
from report_check import hottest, report

REPORT = CONVERTERS["report"]
SECONDS = 0.7  # of CPU time
ESCAPE = re.compile(r"\x1b\[\d*m")
Told = collections.namedtuple("Told", "path spent source")


def record_told(command, source, path):
    ended = run_record("-q", "-o", path, "--", *command, source, SECONDS)
    assert ended.code == 0, ended
    return Told(path, json.loads(ended.text), source)


@pytest.fixture(scope="module")
def accounted(python, program, tmp_path_factory):
    """A recording of told.py under each Python, and the program's own account."""
    return record_told(python.command, program("told"), tmp_path_factory.mktemp("accounted") / "told.pyreel")


@pytest.fixture(scope="module")
def told(python3, program, tmp_path_factory):
    """The same under one Python, for what does not depend on Pythons."""
    return record_told([python3], program("told"), tmp_path_factory.mktemp("told") / "told.pyreel")


@pytest.fixture(scope="module")
def hostile(python3, program, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "hostile.pyreel"
    assert run_record("-q", "-o", path, "--", python3, program("hostile")).code == 0
    return path


def on_terminal(*arguments, columns=80, **environment):
    """What pyreel-report prints on a terminal of so many columns."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    values = {key: value for key, value in ENVIRONMENT.items() if key not in ("COLUMNS", "NO_COLOR")}
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

def test_sums_are_those_of_pyreel_info(accounted):
    figures, found = whole(accounted.path), report(accounted.path)
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
    found = report("--weight", weight, told.path)
    key = weight if weight == "samples" else f"{weight}_s"
    assert found["weight"]["name"] == weight
    assert found["sections"][0]["all"] == pytest.approx(found["totals"][key], abs=1e-6)
    for by in ("line", "file", "module", "thread", "process", "task"):
        assert report("--weight", weight, "--by", by, told.path)["sections"][0]["all"] == found["sections"][0]["all"]


def test_it_is_what_the_program_says_of_itself(accounted):
    """In CPU time, and so whatever else the machine does."""
    found = report(accounted.path)
    assert found["weight"] == {**found["weight"], "name": "cpu", "without_waits": False}
    rows = hottest(found, 0)
    for name, key in (("small", "self"), ("large", "self"), ("both", "total"), ("direct", "total")):
        assert rows[name][key] == pytest.approx(accounted.spent[name], rel=0.2, abs=0.03), (name, accounted.spent)
    assert found["groups"][0]["thread"] == "MainThread"
    assert [group["quiet"] for group in found["groups"]] == [False, True]


def test_callers_and_callees_share_out_the_whole(told):
    total = hottest(report(told.path))["large"]["total"]
    (section,) = report("--callers", "large", told.path)["sections"]
    callers = {row["name"]: row["total"] for row in section["rows"]}
    assert set(callers) == {"both", "direct"}
    assert sum(callers.values()) == pytest.approx(total, abs=1e-6)
    assert callers["both"] == pytest.approx(told.spent["large"] - told.spent["direct"], rel=0.2, abs=0.03)
    (section,) = report("--callees", "both", told.path)["sections"]
    assert {"small", "large"} <= {row["name"] for row in section["rows"]}


def test_the_tree_adds_up(told):
    (section,) = report("--tree", told.path)["sections"]
    below = collections.Counter()
    for row in section["rows"]:
        below[row["parent"]] += row["total"]
    assert below[-1] == pytest.approx(section["all"], abs=1e-6)
    for place, row in enumerate(section["rows"]):
        assert row["parent"] < place
        assert row["self"] + below[place] == pytest.approx(row["total"], abs=1e-6)


def test_several_recordings_are_one_report(told, hostile):
    found = report(told.path, hostile)
    assert found["recording"]["recordings"] == 2
    assert found["totals"]["samples"] == info(told.path)["samples"] + info(hostile)["samples"]
    assert len({group["process"] for group in found["groups"]}) == 2


def test_each_process_has_a_row(told, hostile):
    """With the CPU time that pyreel-info shows."""
    (table,) = report("--by", "process", told.path, hostile)["sections"]
    assert table["title"] == "Processes by CPU time"
    spent = {row["name"].split()[1]: row["total"] for row in table["rows"]}
    for path in (told.path, hostile):
        threads = info(path)["threads"]
        assert spent[str(threads[0]["pid"])] == pytest.approx(sum(row["cpu_s"] for row in threads), abs=1e-3)


# ---- text ----

def test_the_first_screen_says_where_the_time_goes(told):
    lines = succeed(REPORT, told.path).text.splitlines()
    first = [line for line in lines if re.match(r" +\d", line)][0]
    assert re.match(r" +\d+\.\d{3} +\d+\.\d +\d+\.\d{3} +\d+\.\d  large +told\.py:\d+$", first), first
    assert lines.index(first) < 15
    assert re.fullmatch(r"waiter waited (9\d|100) % of \d+\.\d s", lines[-1])
    assert lines[0].startswith("program ") and any(line.startswith("times      CPU time") for line in lines)


@pytest.mark.parametrize("options", [[], ["--weight", "wall"], ["--tree"], ["--callers", "large"], ["--by", "line"], ["--by", "thread"]], ids=" ".join)
@pytest.mark.parametrize("columns", [40, 61, 80, 133])
def test_lines_fit_the_terminal(told, hostile, options, columns):
    for path in (told.path, hostile) if "--callers" not in options else (told.path,):
        text = on_terminal(*options, path, columns=columns)
        assert max(map(width, text.splitlines())) <= columns
        assert "\x1b[1m" in text


def test_a_pipe_has_80_columns_and_no_colours(told, hostile):
    for path in (told.path, hostile):
        text = succeed(REPORT, path).text
        assert "\x1b" not in text
        assert max(map(width, text.splitlines())) <= 80
    assert "\u2514" in succeed(REPORT, "--tree", told.path).text


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}], ids=str)
def test_colours_can_be_refused(told, environment):
    assert "\x1b" not in on_terminal(told.path, **environment)


@pytest.mark.parametrize("options", [["--top", "50"], ["--tree"], ["--by", "thread"]], ids=" ".join)
def test_a_locale_without_utf8_gets_ascii(hostile, options):
    ended = subprocess.run([REPORT, *options, hostile], capture_output=True, env={**ENVIRONMENT, "LC_ALL": "C"})
    assert ended.returncode == 0 and ended.stdout.isascii()
    assert b"caf\\xe9" in ended.stdout or options == ["--by", "thread"] and b"\\u" in ended.stdout


# ---- names ----

ALLOWED = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*")


@pytest.mark.sanitized("names that are commands, markup and other scripts")
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


@pytest.mark.sanitized("names that are commands, markup and other scripts")
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


# ---- source ----

def source_rows(found):
    (section,) = found["sections"]
    return section, {row["line"]: row for row in section["rows"]}


def test_source_has_the_time_of_each_line(told):
    (path,) = {row["path"] for row in report(told.path)["sections"][0]["rows"] if row["name"] == "large"}
    folder, own = os.path.dirname(path), os.path.dirname(told.source)
    section, rows = source_rows(report("--annotate", "large", "--path-map", f"{folder}={own}", told.path))
    with open(told.source) as file:
        lines = [""] + file.read().splitlines()
    assert section["note"] is None and all(row["text"] == lines[number] for number, row in rows.items())
    loop = next(number for number, line in enumerate(lines) if line == "def large(until):")
    assert min(rows) == loop
    total = hottest(report(told.path))["large"]["total"]
    assert sum(row["self"] for row in rows.values()) == pytest.approx(total, abs=1e-6)
    section, rows = source_rows(report("--annotate", "told.py", "--path-map", f"{folder}={own}", told.path))
    assert section["note"] is None and len(rows) > 10


def test_without_the_text_there_are_the_lines_and_the_reason(told, tmp_path):
    (path,) = {row["path"] for row in report(told.path)["sections"][0]["rows"] if row["name"] == "large"}
    name = os.path.basename(path)
    section, rows = source_rows(report("--annotate", "large", "--path-map", f"{os.path.dirname(path)}={tmp_path}", told.path))
    assert "not found" in section["note"] and all(row["text"] == "" for row in rows.values()) and rows
    (tmp_path / name).write_text("# another program\n")
    section, rows = source_rows(report("--annotate", "large", "--path-map", f"{os.path.dirname(path)}={tmp_path}", told.path))
    assert "changed" in section["note"] and rows
    text = succeed(REPORT, "--annotate", "large", "--path-map", f"{os.path.dirname(path)}={tmp_path}", told.path).text
    assert "No source: the file has changed since the recording." in text


# ---- what can be wrong ----

def test_a_name_that_several_functions_have_is_asked_back(told, tmp_path):
    ended = convert("report", told.path, "--callers", "a")
    assert ended.code == 1 and re.search(r"--callers a names \d+ functions; .*: .* \(.*:\d+\)", ended.messages)
    ended = convert("report", told.path, "--callees", "no_such_function")
    assert ended.code == 1 and "the recording has no such function" in ended.messages
    line = hottest(report(told.path))["large"]["line"]
    by_line = report("--callers", f"told.py:{line + 1}", told.path)["sections"]
    assert by_line == report("--callers", "large", told.path)["sections"]


def test_filters_that_leave_nothing_are_named(told):
    for options in (["--focus", "nothing_like_it"], ["--from", "300"], ["--threads", "nobody"]):
        for more in ([], ["--tree"], ["--json"], ["--by", "thread"]):
            ended = convert("report", told.path, *options, *more)
            assert (ended.code, ended.output) == (1, b"")
            assert f"matches {' '.join(options)}" in ended.messages


def test_filters_are_those_of_the_converters(told):
    assert set(hottest(report("--hide", "^(small|large) ", told.path))).isdisjoint({"small", "large"})
    focused = report("--focus", "^small ", told.path)
    assert focused["sections"][0]["all"] == pytest.approx(hottest(report(told.path))["small"]["total"], abs=1e-6)
    assert {group["thread"] for group in report("--threads", "Main*", told.path)["groups"]} == {"MainThread"}
    assert "part       only what --to 50% keeps" in succeed(REPORT, "--to", "50%", told.path).text


@pytest.mark.sanitized("a recording that was cut at any byte")
def test_a_cut_recording_has_a_report(told, tmp_path):
    data = told.path.read_bytes()
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
    ended = convert("report", told.path, *options)
    assert ended.code == 2 and words in ended.messages


def test_the_document_of_the_json_is_held():
    """The schema has an example of everything that the tests print; a member without a rule is an error."""
    with open(os.path.join(PROJECT, "schemas", "report.schema.json")) as file:
        schema = json.load(file)
    assert schema["additionalProperties"] is False
    broken = {"format": "pyreel-report", "version": 1}
    if report_check.jsonschema:
        assert list(report_check.validator().iter_errors(broken))
