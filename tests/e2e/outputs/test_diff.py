# SPDX-License-Identifier: MIT
"""pyreel-diff, of recordings that never ran, whose sums are known. tests/oracle has it compare real runs."""

import json
import os
import pathlib
import pty
import re
import subprocess

import pytest

import flame_output
import made_stream
from environment import CONVERTERS, DIFF, PROJECT, missing
from golden import frozen
from recording import ENVIRONMENT, cpu_s_of, info, read_terminal, run, succeed

try:
    import jsonschema
except ImportError:
    jsonschema = None

pytestmark = pytest.mark.short

SCHEMA = pathlib.Path(PROJECT) / "schemas" / "diff.schema.json"
SECOND = 10**9


def diff(*arguments, code=0, **more):
    ended = run(DIFF, *arguments, **more)
    assert ended.code == code, ended
    return ended


def diff_json(*arguments, code=0, **more):
    """The JSON, which obeys its schema."""
    told = json.loads(diff("--json", *arguments, code=code, **more).output)
    if jsonschema is None:
        missing("python3-jsonschema")
    errors = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).iter_errors(told)
    assert not [f"{list(error.absolute_path)}: {error.message[:300]}" for error in errors]
    return told


def row_of(told, name, table="items"):
    rows = [row for row in told[table]["rows"] if row.get("name") == name]
    assert len(rows) == 1, (name, told)
    return rows[0]


MAIN = ("main", "/srv/app.py", 3)


def calls(name, count, file="/srv/app.py"):
    """So many samples of a function that main() calls, in pieces, so that they lie everywhere in the run."""
    return [[MAIN, (name, file, 10)]] * count


def rounds(**counts):
    """Two hundred rounds of functions."""
    return [stack for _ in range(200) for name, count in counts.items() for stack in calls(name, count)]


def make(path, stacks, pid=1, **more):
    made_stream.write(path, made_stream.Samples(stacks), pid=pid, start_unix_ns=1_700_000_000 * SECOND + pid, **more)
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs of a program, and two in which sort() takes three times as long."""
    folder, made = tmp_path_factory.mktemp("runs"), {}
    for pid, (name, sort) in enumerate((("old-1", 2), ("new-1", 6), ("new-2", 6), ("old-2", 2)), start=101):
        made[name] = make(folder / f"{name}.pyreel", rounds(parse=2, sort=sort, store=2, report=3), pid)
    return made


def test_a_recording_is_equal_to_itself(runs):
    told = diff_json("--fail-over", "0%", "--paths", runs["old-1"], runs["old-1"])
    assert told["scale"] == pytest.approx(1) and told["items"]["grew"] == told["items"]["shrank"] == 0
    assert all(row["total"]["growth"] == pytest.approx(0) for row in told["items"]["rows"] + told["paths"]["rows"])


def test_amounts_are_those_of_info():
    paths = {"before": frozen("threads-3.11"), "after": frozen("grouped-3.14")}
    told = diff_json("--weight", "cpu", "--min", "0", *paths.values())
    for side, path in paths.items():
        cpu_s = cpu_s_of(info(path)["threads"])
        assert told[side]["amount"] == pytest.approx(cpu_s, rel=1e-4)
        assert told[side]["runs"][0]["samples"] == info(path)["samples"]
        assert sum(row["self"][side] for row in told["items"]["rows"]) == pytest.approx(cpu_s, rel=1e-4)


@pytest.mark.parametrize("before, after, name", [
    ("'worker [idle]'", "'worker [busy]'", "worker MainThread"),
    ("'dask worker [tcp://127.0.0.1:38949]'", "'dask worker [tcp://127.0.0.1:4711]'", "dask worker MainThread"),
    ("'pool worker-1'", "'pool worker-2 (request 7)'", "pool worker MainThread"),
    ("python3.13 app.py [a]", "python3.13 app.py [b]", "app.py MainThread"),
])
def test_a_thread_is_the_same_whatever_its_process_says_of_the_moment(tmp_path, before, after, name):
    paths = [make(tmp_path / side, rounds(parse=2, store=2), pid, command=command)
             for pid, (side, command) in enumerate((("before", before), ("after", after)), start=1)]
    told = diff_json("--by", "thread", "--min", "0", *paths)
    assert [row["name"] for row in told["items"]["rows"]] == [name]
    assert row_of(told, name)["self"]["before"] == pytest.approx(row_of(told, name)["self"]["after"])


def test_text_says_what_changed(runs):
    ended = diff("--fail-over", "5%", "--before", runs["old-1"], runs["old-2"], "--after", runs["new-1"], runs["new-2"], code=1)
    assert re.search(r"^grew .* sort \(.*app\.py:\d+\)$", ended.text, re.M), ended
    assert re.search(r"Grew by more than 5%:.* sort \(.*app\.py:\d+\) total \+\d+(\.\d)?% \(surely ", ended.messages), ended
    assert re.search(r"^\d+ functions? surely grew, \d+ surely shrank\.", ended.text, re.M), ended
    assert "\x1b" not in ended.text


def test_paths_lead_to_the_function(runs):
    told = diff_json("--paths", "--before", runs["old-1"], runs["old-2"], "--after", runs["new-1"], runs["new-2"])
    grew = [[frame["name"] for frame in row["frames"]] for row in told["paths"]["rows"] if row["total"]["verdict"] == "grew"]
    assert ["main", "sort"] in grew


def test_markdown_is_a_table(runs):
    text = diff("--markdown", "--before", runs["old-1"], runs["old-2"], "--after", runs["new-1"], runs["new-2"]).text
    assert re.search(r"^\| grew \| self \|.* sort \(.*app\.py:\d+\) \|$", text, re.M), text
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_a_terminal_has_colours_and_rows_that_fit(runs):
    for more, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        terminal, other = pty.openpty()
        with subprocess.Popen([DIFF, runs["old-1"], runs["new-1"]], stdout=other, stderr=subprocess.PIPE,
                              env={**ENVIRONMENT, "TERM": "xterm", **more}) as process:
            os.close(other)
            said = read_terminal(terminal).decode()
        os.close(terminal)
        assert process.returncode == 0 and ("\x1b[" in said) == coloured
        assert max(len(re.sub(r"\x1b\[\d*m", "", line)) for line in said.splitlines()) <= 80, said


def test_a_part_is_compared_by_work(runs):
    told = diff_json("--from", "20%", "--before", runs["old-1"], runs["old-2"], "--after", runs["new-1"], runs["new-2"])
    assert told["compared_by"] == "work" and told["whole"]["verdict"] == "not judged"
    assert row_of(told, "sort")["total"]["verdict"] == "grew"


def test_the_beginning_of_runs_is_no_whole_run(runs):
    """What runs have done in the same part of a second is compared by work, and per second of that part."""
    told = diff_json("--to", "0.2", "--fail-over", "5%", runs["old-1"], runs["old-2"])
    assert told["compared_by"] == "work" and told["whole"]["verdict"] == "not judged" and not told["failed"]
    assert told["before"]["duration_s"] == told["after"]["duration_s"] == 0.2
    assert diff_json("--to", "1h", runs["old-1"], runs["old-2"])["compared_by"] == "time"


def test_a_cut_file_is_compared_as_far_as_it_is_good(runs, tmp_path):
    cut = tmp_path / "cut.pyreel"
    cut.write_bytes(runs["new-1"].read_bytes()[:-200])
    ended = diff("--json", runs["old-1"], cut)
    assert "is not complete" in ended.messages and json.loads(ended.output)["compared_by"] == "work"
    diff("--strict", runs["old-1"], cut, code=1)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    return {name: make(folder / f"{name}.pyreel", stacks, pid) for pid, (name, stacks) in enumerate({
        "base": rounds(load=10, work=20, save=10),
        "slow": rounds(load=10, work=30, save=10),
        "lost": rounds(load=10, save=10),
        "other": [[("run", "/srv/b.py", 1)]] * 100,
    }.items(), start=1)}


def test_sums_are_exact(made):
    told = diff_json(made["base"], made["slow"])
    assert told["weight"] == "wall" and told["compared_by"] == "time"  # there is no CPU time in them
    assert told["before"]["amount"] == pytest.approx(8) and told["after"]["amount"] == pytest.approx(10)
    work, main = row_of(told, "work"), row_of(told, "main")
    assert work["self"]["before"] == pytest.approx(4) and work["self"]["after"] == pytest.approx(6)
    assert work["self"]["before_share"] == pytest.approx(0.5) and work["self"]["after_share"] == pytest.approx(0.6)
    assert work["self"]["growth"] == pytest.approx(0.5) and work["self"]["verdict"] == "grew"
    assert main["self"]["before"] == 0 and main["total"]["after"] == pytest.approx(10)
    assert row_of(told, "load")["self"]["verdict"] == "same"


def test_new_and_lost_functions(made):
    lost, new = diff_json(made["base"], made["lost"]), diff_json(made["lost"], made["base"], "--fail-over", "5%", code=1)
    assert row_of(lost, "work")["self"]["verdict"] == "shrank" and row_of(lost, "work")["self"]["growth"] == -1
    assert row_of(new, "work")["self"]["verdict"] == "grew" and row_of(new, "work")["self"]["growth"] is None
    assert not row_of(new, "work")["fails"] and row_of(new, "main")["fails"]  # work may have got another name
    text = diff(made["base"], made["lost"]).text
    assert re.search(r"^shrank +4\.000 +0\.000 .* gone .* work", text, re.M)


def test_by_module_and_thread(made):
    assert row_of(diff_json("--by", "module", made["base"], made["slow"]), "app")["total"]["after"] == pytest.approx(10)
    assert row_of(diff_json("--by", "thread", made["base"], made["slow"]), "app.py MainThread")["total"]["verdict"] == "same"
    lines = diff_json("--by", "line", made["base"], made["slow"])["items"]["rows"]
    assert {(row["name"], row["line"]) for row in lines} == {("main", 3), ("load", 10), ("work", 10), ("save", 10)}


def test_functions_of_another_folder_are_the_same(made, tmp_path):
    moved = make(tmp_path / "moved.pyreel", [[(name, "/opt/new/app.py", line + 5) for name, _, line in stack]
                                             for stack in rounds(load=10, work=30, save=10)], 9)
    for sides in ([made["base"], moved], ["--before", made["base"], made["base"], "--after", moved, moved]):
        told = diff_json(*sides)
        assert len(told["items"]["rows"]) == 4 and row_of(told, "work")["self"]["growth"] == pytest.approx(0.5)


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """Two runs of v1.py, and two of v2.py, which has one more function."""
    folder, made = tmp_path_factory.mktemp("versions"), {}
    for pid, (name, more) in enumerate((("v1", {}), ("v2", {"extra": 10}), ("v1", {}), ("v2", {"extra": 10})), start=1):
        script = f"/srv/{name}.py"
        stacks = [[(function, script if file == MAIN[1] else file, line + pid) for function, file, line in stack]
                  for stack in rounds(load=10, work=20, **more)]
        make(made.setdefault(name, folder / name).with_suffix(f".{pid}.pyreel"), stacks, pid, command=f"python3 {name}.py")
    return [sorted(folder.glob(f"{name}.*")) for name in ("v1", "v2")]


def test_main_scripts_of_two_names_are_one_file(versions):
    (v1, *more_v1), (v2, *more_v2) = versions
    for sides in ([v1, v2], ["--before", v1, *more_v1, "--after", v2, *more_v2]):
        told = diff_json(*sides)
        assert told["one_script"] == ["/srv/v1.py", "/srv/v2.py"]
        assert {row["name"] for row in told["items"]["rows"]} == {"main", "load", "work", "extra"}
        assert row_of(told, "work")["self"]["verdict"] == "same" and row_of(told, "extra")["self"]["before"] == 0
        assert row_of(told, "work")["path"] == "/srv/v1.py" and row_of(told, "extra")["path"] == "/srv/v2.py"
    for by, name in (("file", "v1.py"), ("module", "v1")):
        assert [row["name"].rpartition("/")[2] for row in diff_json("--by", by, v1, v2)["items"]["rows"]] == [name]
    said = "v1.py and v2.py are compared as one file: each is the main script of its side."
    assert said in diff(v1, v2).text.replace("\n", " ") and said in diff("--markdown", v1, v2).text.replace("\\", "")


def test_a_flame_graph_says_it_too(versions, tmp_path):
    succeed(CONVERTERS["flame"], "-o", tmp_path / "both.html", "--before", versions[0][0], "--after", versions[1][0])
    assert dict(flame_output.load(tmp_path / "both.html")["facts"])["Main scripts"].startswith("compared as one file")


def test_main_scripts_of_one_name_need_no_word(made):
    assert diff_json(made["base"], made["slow"])["one_script"] is None
    assert "main script" not in diff(made["base"], made["slow"]).text


def test_how_many_runs_would_tell_is_said(tmp_path):
    before, after = (make(tmp_path / name, rounds(load=10, work=work, save=10), pid)
                     for pid, (name, work) in enumerate((("before", 50), ("after", 52)), start=1))
    told = diff_json(before, after)
    work = row_of(told, "work")["self"]
    assert work["verdict"] == "same" and 2 <= work["recordings"] <= 100, work
    text = diff(before, after).text.replace("\n", " ")
    assert f"so many recordings of each side: work (app.py:1) +4.0% by {work['recordings']}" in text, text
    assert "How much runs differ is assumed" in text
    two = diff("--before", before, before, "--after", after, after).text.replace("\n", " ")
    assert "in four of five" in two.lower() and "is assumed" not in two
    equal = diff_json(before, before)
    assert all(row[part]["recordings"] is None for row in equal["items"]["rows"] for part in ("self", "total"))
    assert "recordings of each side:" not in diff(before, before).text.replace("\n", " ")


def test_filters(made):
    assert row_of(diff_json("--focus", "work", made["base"], made["slow"]), "work")["self"]["after_share"] == 1
    assert "matches" in diff("--focus", "nothing", made["base"], made["slow"], code=1).messages
    assert "main" not in [row["name"] for row in diff_json("--hide", "main", made["base"], made["slow"])["items"]["rows"]]


def test_rows_are_counted_and_cut(made, tmp_path):
    """Of rows that did not change, a text has only the largest unless more are asked for."""
    text = diff("--top", "1", made["base"], made["slow"]).text
    assert "... and 2 more (--top 0 shows all)" in text
    assert diff_json("--min", "26%", made["base"], made["slow"])["items"]["small"] == 2
    many = make(tmp_path / "many.pyreel", rounds(**{f"f{number}": 2 for number in range(9)}), 9)
    for options, rows, rest in (([], 5, "... and 4 more"), (["--top", "7"], 7, "... and 2 more"), (["--top", "0"], 9, None)):
        text = diff(*options, many, many).text
        assert len(re.findall(r"^~ .* f\d \(", text, re.M)) == rows and (rest is None or rest in text), text
        assert "No function surely changed. 10 differ no more" in text.replace("\n", " ")


def test_what_cannot_be_compared(made, tmp_path):
    empty, text = tmp_path / "empty.pyreel", tmp_path / "text.pyreel"
    empty.write_bytes(b"")
    text.write_text("no recording\n")
    assert "no function in common" in diff(made["base"], made["other"], code=1).messages
    assert "--weight cpu cannot be applied" in diff("--weight", "cpu", made["base"], made["slow"], code=1).messages
    for bad in (empty, text, tmp_path / "missing.pyreel"):
        assert bad.name in diff(made["base"], bad, code=1).messages


def test_help_fits_a_terminal():
    lines = diff("--help").text.splitlines()
    assert max(map(len, lines)) <= 80 and any("--fail-over PERCENT" in line for line in lines)


@pytest.mark.parametrize("arguments", [
    ["A"], ["A", "B", "C"], [], ["--before", "A"], ["--before", "A", "--after"], ["--after", "B"],
    ["--json", "--markdown", "A", "B"], ["--confidence", "100%", "A", "B"], ["--min", "x", "A", "B"],
    ["--fail-over", "-5%", "A", "B"], ["--weight", "gil", "A", "B"], ["--by", "opcode", "A", "B"], ["--top", "-1", "A", "B"],
])
def test_misuse(arguments):
    assert "Try 'pyreel-diff --help'." in diff(*arguments, code=2).messages


def test_the_output_replaces_only_an_earlier_one(made, tmp_path):
    mine, output = tmp_path / "mine.txt", tmp_path / "out.txt"
    mine.write_text("my notes\n")
    diff("-o", mine, made["base"], made["slow"], code=1)
    for options in ([], ["--json"], ["--markdown"], []):
        diff(*options, "-o", output, made["base"], made["slow"])
    assert mine.read_text() == "my notes\n" and output.read_text().startswith("before")


def test_hostile_names_stay_text(tmp_path):
    name = "<script>|`a`\x1b[31m\\|[x](y)"
    stacks = rounds(load=10) + [[MAIN, (name, "/srv/a\x1bpp.py", 4)]] * 500
    bad = make(tmp_path / "bad.pyreel", stacks)
    text, markdown = diff(bad, bad).text, diff("--markdown", bad, bad).text
    assert "\x1b" not in text + markdown and "\\x1b[31m" in text
    assert "<script>" not in markdown
    assert row_of(diff_json(bad, bad), name)["self"]["after"] == pytest.approx(0.5)
