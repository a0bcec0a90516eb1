# SPDX-License-Identifier: MIT
"""tests/tools/run-document: which commands a document has, what it misses in their outputs, and what it writes into a document."""

import os
import re
import subprocess
import sys

import pytest

from environment import BUILD, PROJECT, TOOLS
from recording import process_state, wait_until

sys.path.insert(0, TOOLS)
import document  # noqa: E402

RUN_DOCUMENT = os.path.join(TOOLS, "run-document")
NO_FUNCTIONS = set()


def run_document(path, *options):
    return subprocess.run([sys.executable, RUN_DOCUMENT, *options, path], capture_output=True, text=True, env={**os.environ, "PYREEL_BUILD": BUILD})


def console(*lines):
    return "\n".join(["# A page", "", "```console", *lines, "```", "Text.", ""])


def command(shown, text="pyreel-report x.pyreel", varies=()):
    return document.Command(1, text, 0, 0, shown.split("\n"), list(varies))


def missing(shown, real, functions=NO_FUNCTIONS, **more):
    return list(document.missing_of(command(shown, **more), real.split("\n"), functions))


def test_commands_of_a_document():
    lines = ["```sh", "$ no session", "```", "<!-- varies: a b, c -->", "", "```console", "$ one", "1", "$ two \\", "> more", ">", "2", "", "3", "```",
             "```console", "$ three", "```"]
    found = [(c.line, c.text, c.shown, c.varies) for c in document.commands_of(lines)]
    assert found == [(7, "one", ["1"], ["a b", "c"]), (9, "two \\\nmore\n", ["2", "", "3"], ["a b", "c"]), (17, "three", [], [])]


def test_a_session_that_begins_with_output_is_refused():
    with pytest.raises(ValueError, match="line 2: "):
        list(document.commands_of(["```console", "one", "$ two", "```"]))


@pytest.mark.parametrize("shown, real", [
    ("samples    585 in 297 ticks", "samples    1 in 2 ticks"),
    ("  self s     %  function", "self s % function"),  # spaces
    ("no words here at all", "1 no words\n  here at 3 all"),  # breaks of lines, and numbers between
    (" 2.277  49.5  fibonacci", " 1.1  20.0  primes"),  # fibonacci is not the document's own
    ("...", "anything"),
    ("", "anything"),
    ('"reached_hz": 1.5', '{"reached_hz": 7}'),
])
def test_the_same_shape(shown, real):
    assert missing(shown, real) == []


@pytest.mark.parametrize("shown, real, said", [
    ("samples    585 in 297 ticks", "sample    585 in 297 ticks", "the label 'samples'"),
    ("pyreel-record: 585 samples", "pyreel-gecko: 585 samples", "the label 'pyreel-record'"),
    ('"reached_hz": 1.5', '{"reached": 7}', "the label 'reached_hz'"),
    ("  self s     %  function", "self s % where", "the line 'self s     %  function'"),
    ("python3", "python", "the line 'python3'"),
    (" 2.277  49.5  Orders.store", " 2.277  49.5  Orders.load", "of 1 names of functions store"),
    (" 2  store\n 1  load\n 1 send", " 2  load", "of 3 names of functions send, store"),
])
def test_another_shape(shown, real, said):
    assert missing(shown, real, {"store", "load", "send"}) == [said]


def test_half_of_the_names_are_enough():
    assert missing(" 2  store\n 1  load", " 2  load\n 1  send", {"store", "load", "send"}) == []


def test_what_varies_is_not_compared():
    assert missing("1 function surely grew\nso it is", "2 function\nso", varies=["surely", "so it"]) == []


def test_an_exit_code_is_compared():
    assert missing("3", "3", text="pyreel-info x; echo $?") == []
    assert missing("3", "1", text="pyreel-info x; echo $?") == ["the exit code: ['3'], and now ['1']"]


def test_an_output_is_cut_as_before():
    assert document.cut(list("abcdef"), ["1", "2", "...", "3"]) == ["a", "b", "...", "f"]
    assert document.cut(list("abc"), ["1", "2", "...", "3"]) == ["a", "b", "c"]
    assert document.cut(list("abc"), ["1"]) == ["a", "b", "c"]


def test_commands_share_a_shell_and_a_folder(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(console("$ mkdir sub; cd sub; word=here", "$ echo $word, ${PWD#$HOME}; ls ~/examples", "old", "...", "$ false || echo $?"))
    ended = run_document(path, "--update")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert path.read_text() == console("$ mkdir sub; cd sub; word=here", "$ echo $word, ${PWD#$HOME}; ls ~/examples", "here, /sub", "...", "$ false || echo $?", "1")


def test_nothing_of_the_machine_gets_into_a_document(tmp_path):
    """Folders, days, numbers of processes and threads."""
    path = tmp_path / "page.md"
    path.write_text(console("$ pyreel-record -q -o app-$$.pyreel -- python3 examples/mixed.py 0.2; ls *.pyreel", "$ pyreel-info ~/app-*.pyreel",
                            "$ echo $PWD/x 2031-01-02T03:04:05Z; command -v python3"))
    assert run_document(path, "--update").returncode == 0
    text = path.read_text()
    assert "\napp-4242.pyreel\n" in text
    assert re.search(r"^python +CPython 3\.\d+\.\d+, pid 4243$", text, re.M)
    assert re.search(r"^recorded +2026-11-26T12:00:00Z on vm, ", text, re.M)
    assert re.search(r"^ +4243 +4243 .* MainThread$", text, re.M)
    assert re.search(r"^ +4243 +4244 .* price-updater$", text, re.M)
    assert "\n~/x 2026-11-26T12:00:00Z\npython3\n" in text


@pytest.mark.parametrize("session, said", [
    (["$ true", "$ sh -c 'exit 3'"], ":5: exit code 3: sh -c 'exit 3'"),
    (["$ sleep 60"], ":4: not ended after 1 s"),
    (["$ exit 0", "$ true"], ":4: ended the shell"),
    ([f"$ echo {PROJECT}/README.md"], f":4: the output has the folder {PROJECT}"),
    (["$ echo two", "one"], ":4: no longer printed: the line 'one'"),
    (["$ no-such-program"], ":4: exit code 127"),
    (["$ yes | head -1", "$ false | cat"], ":5: exit code 1"),
])
def test_a_document_that_is_not_true(tmp_path, session, said):
    path = tmp_path / "page.md"
    path.write_text(console(*session))
    ended = run_document(path, "--seconds", "1" if "60" in session[0] else "60")
    assert ended.returncode == 1 and f"{path}{said}" in ended.stderr


def test_an_update_of_a_session_that_fails_writes_nothing(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(console("$ echo two", "one", "$ false"))
    assert run_document(path, "--update").returncode == 1
    assert path.read_text() == console("$ echo two", "one", "$ false")


def test_what_runs_in_the_background_ends_with_the_session(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(console("$ sleep 61.25 & echo", "$ echo $! > pid; cp pid " + str(tmp_path)))
    assert run_document(path).returncode == 0
    pid = (tmp_path / "pid").read_text().strip()
    wait_until(lambda: process_state(pid) in ("", "Z"), "the process has ended")
