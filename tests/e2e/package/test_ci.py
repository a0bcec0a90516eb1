# SPDX-License-Identifier: MIT
"""The recipes for CI in ci/: their steps run as a runner runs them, with test runs that pass, fail, and are stopped."""

import http.server
import io
import os
import pathlib
import re
import shutil
import signal
import sys
import threading
import zipfile

import pytest

import made_stream
from ci_runner import CI, GitHub, GitLab, Step, read_yaml
from environment import CONVERTERS, PROJECT, need_command, need_root
from recording import PATIENCE, collapsed, info, run, so_far, wait_until

STREAMS = pathlib.Path(PROJECT) / "tests" / "streams"
PYTHON = sys.executable  # it has pytest
# Each works until there is a file of its name: then it has been recorded.
TESTS = """
import os

import pytest


def work(name):
    while not os.path.exists(name):
        sum(range(1000))


@pytest.fixture
def prepared():
    work("prepared")


def test_numbers(prepared):
    work("test_numbers")


def test_that_may_fail():
    work("test_that_may_fail")
    assert {passes}
"""
# Says that it runs, works until there is a file `recorded`, and does nothing about signals: as a test run that hangs.
WORKS = """
import os, signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
print("ready", flush=True)
while not os.path.exists("recorded"):
    sum(range(1000))
"""


def suite(folder, passes):
    (folder / "test_app.py").write_text(TESTS.format(passes=passes))
    return f"{PYTHON} -m pytest -q -p no:cacheprovider test_app.py"


def folder_of(step):
    return pathlib.Path(os.readlink(f"/proc/{step.process.pid}/cwd"))


def wait_for_function(step, name):
    """Until a function of the test run is in its recording."""
    wait_until(lambda: any(so_far(path) and f";{name} (" in collapsed(path) for path in folder_of(step).glob("**/tests*.pyreel")), f"{name} in the recording")


def let_each_test_end(step):
    for name in ("prepared", "test_numbers", "test_that_may_fail"):
        wait_for_function(step, name)
        (folder_of(step) / name).touch()


def wait_for_work(step):
    step.wait_for_output(b"ready")
    wait_for_function(step, "<module>")


def let_it_end(step):
    wait_for_work(step)
    (folder_of(step) / "recorded").touch()


def stop_as_github(step):
    """SIGINT, then SIGTERM, then the whole tree is killed; between them the runner waits."""
    wait_for_work(step)
    step.signal(signal.SIGINT)
    step.wait_for_output(b"stopped by a signal")
    assert step.process.poll() is None  # it waits for the command
    step.signal(signal.SIGTERM)
    step.process.wait(PATIENCE)
    step.kill_tree()


def stop_as_gitlab(step):
    wait_for_work(step)
    os.killpg(step.process.pid, signal.SIGTERM)
    step.said += step.process.stdout.read()  # to the end: all processes that have it are gone


def kill_at_once(step):
    """As when the machine has no memory left."""
    wait_for_work(step)
    step.kill_tree()


# ---- GitHub ----

@pytest.mark.parametrize("passes", [True, pytest.param(False, marks=pytest.mark.short)], ids=["passes", "fails"])
def test_github_records_a_test_run(passes, tmp_path):
    runner = GitHub(tmp_path)
    assert runner.use("record", while_it_runs=let_each_test_end, run=suite(runner.job, passes), options="--disturb 100") == (0 if passes else 1), runner.text
    assert ("2 passed" if passes else "1 failed, 1 passed") in runner.text
    assert runner.use("keep") == 0
    (kept,) = (runner.artifacts / "pyreel-tests").iterdir()
    assert info(kept, "--verify")["complete"]
    summary = runner.summary.read_text()
    for title, row in (("Time by test", "test_numbers"), ("Time by test", "test_that_may_fail"), ("Time by fixture", "prepared")):
        assert re.search(rf"### {title}\n\n[^#]*\| `{row}` \|", summary), summary
    assert re.search(r"tests\.pyreel: .*, complete\n", summary) and "Hottest functions by self CPU time" in summary


@pytest.mark.parametrize("stop, code", [(stop_as_github, 128 + signal.SIGTERM), (kill_at_once, -signal.SIGKILL)])
def test_github_stops_a_test_run(stop, code, tmp_path):
    runner = GitHub(tmp_path)
    (runner.job / "works.py").write_text(WORKS)
    assert runner.use("record", while_it_runs=stop, run=f"{PYTHON} works.py", options="--disturb 100") == code
    assert runner.use("keep") == 0
    (kept,) = (runner.artifacts / "pyreel-tests").iterdir()
    told = info(kept)
    assert told["samples"] > 0 and told["complete"] == (stop is stop_as_github)
    assert "works.py" in runner.summary.read_text()


def test_a_job_without_python_has_no_recording(tmp_path):
    runner = GitHub(tmp_path)
    assert runner.use("record", run="echo done; exit 3") == 3
    assert runner.use("keep") == 0 and "there is no recording" in runner.text
    assert not runner.artifacts.exists()


@pytest.fixture
def rounds(tmp_path):
    """Recordings of a program that never ran, and of one in which sort() takes twice as long: the comparison is sure."""
    made = {}
    for pid, (name, count) in enumerate((("old", 20), ("again", 20), ("slow", 40)), start=1):
        made[name] = tmp_path / f"{name}.pyreel"
        stacks = [[("main", "/srv/app.py", 3), (function, "/srv/app.py", 10)]
                  for _ in range(200) for function, looks in (("load", 10), ("sort", count), ("save", 10)) for _ in range(looks)]
        made_stream.write(made[name], made_stream.Samples(stacks), pid=pid, start_unix_ns=(1_700_000_000 + pid) * 10**9)
    return made


def test_github_compares_with_the_base_branch(rounds, tmp_path):
    """A push to the base branch leaves its recordings; pull requests are compared with these."""
    def workflow(folder, event, **shards):
        runner = GitHub(tmp_path / folder, event, cache=tmp_path / "cache")
        for shard, recording in shards.items():
            (runner.artifacts / f"pyreel-{shard}").mkdir(parents=True)
            shutil.copy(rounds[recording], runner.artifacts / f"pyreel-{shard}" / f"{shard}.pyreel")
        runner.new_job("compare")
        return runner, runner.use("compare", fail_over="50%")

    runner, code = workflow("base", "push", a="old")
    assert code == 0 and "no recording of this name" in runner.summary.read_text(), runner.text
    for folder, recording, expected in (("same", "again", 0), ("slower", "slow", 1)):
        runner, code = workflow(folder, "pull_request", a=recording, b="old")
        assert code == expected, runner.text
        summary = runner.summary.read_text()
        assert "### a\n" in summary and "### b\n\nThe base branch has no recording of this name.\n" in summary
        assert (re.search(r"grew\W.*\bsort\b", summary) is not None) == (code == 1), summary
        names = {path.name for path in (runner.artifacts / "profile").iterdir()}
        assert {"profile.html", "profile.pb.gz", "comparison-a.html", "comparison.md", "summary.txt"} == names
        assert "<html" in (runner.artifacts / "profile" / "profile.html").read_text()
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_shards_make_one_profile(rounds, tmp_path):
    runner = GitHub(tmp_path)
    (runner.artifacts / "pyreel-all").mkdir(parents=True)
    for name in ("old", "slow"):
        shutil.copy(rounds[name], runner.artifacts / "pyreel-all")
    assert runner.use("compare") == 0
    profile = run(CONVERTERS["info"], "--summary", *sorted((runner.job / "pyreel").iterdir())).text
    assert (runner.artifacts / "profile" / "summary.txt").read_text().split() == [
        word.replace(f"{runner.job}/", "") for word in profile.split()]


# ---- GitLab ----

@pytest.mark.parametrize("more, what_happens, code", [("exit 0", let_it_end, 0), ("exit 4", let_it_end, 4), ("", stop_as_gitlab, None), ("", kill_at_once, None)],
                         ids=["passes", "fails", "runs out of time", "is killed"])
def test_gitlab_records_a_test_run(more, what_happens, code, tmp_path):
    (tmp_path / "works.py").write_text(WORKS)
    stops = code is None
    runner = GitLab(tmp_path, PYREEL_RUN=f"{PYTHON} works.py; {more}", PYREEL_OPTIONS="--disturb 100", CI_NODE_INDEX="" if stops else "2")
    ended, kept = runner.run(".pyreel-record", while_it_runs=what_happens)
    assert ended != 0 if stops else ended == code, runner.text
    assert [path.name for path in kept] == ["tests.pyreel" if stops else "tests-2.pyreel"]
    assert info(kept[0])["complete"] == (what_happens is not kill_at_once)
    assert "## Profile of the tests" in runner.text


class Artifacts(http.server.BaseHTTPRequestHandler):
    """Gives the artifacts of a job to whom may have them."""

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("JOB-TOKEN"), self.headers.get("PRIVATE-TOKEN")))
        good = self.headers.get("JOB-TOKEN") == "secret" and self.server.archive
        self.send_response(200 if good else 401)
        self.end_headers()
        if good:
            self.wfile.write(self.server.archive)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Artifacts)
    made.asked, made.archive = [], b""
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()


def test_gitlab_compares_with_the_base_branch(rounds, server, tmp_path):
    (tmp_path / "pyreel").mkdir()
    shutil.copy(rounds["slow"], tmp_path / "pyreel" / "tests.pyreel")
    runner = GitLab(tmp_path, PYREEL_FAIL_OVER="50%", CI_JOB_NAME="pyreel-compare", CI_API_V4_URL=f"http://127.0.0.1:{server.server_port}/api/v4")
    code, kept = runner.run(".pyreel-compare")
    assert code == 0 and "the base branch has no recordings" in runner.text and "secret" not in runner.text
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.write(rounds["old"], "pyreel/tests.pyreel")
        files.writestr("../../outside.pyreel", "no")
        files.writestr("pyreel-report/profile.html", "<html>")
    server.archive = archive.getvalue()
    code, kept = runner.run(".pyreel-compare", CI_MERGE_REQUEST_TARGET_BRANCH_NAME="next")
    assert code == 1 and re.search(r"grew\W.*\bsort\b", runner.text), runner.text
    assert {path.name for path in kept} == {"pyreel", "pyreel-report"}
    assert [path for path, *_ in server.asked] == [f"/api/v4/projects/42/jobs/artifacts/{ref}/download?job=pyreel-compare" for ref in ("main", "next")]
    assert sorted(path.name for path in (tmp_path / "pyreel-base").iterdir()) == ["outside.pyreel", "tests.pyreel"]


# ---- the script itself ----

def script(folder, *arguments, prefix=(), **environment):
    step = Step([*prefix, str(CI / "pyreel-ci"), *map(str, arguments)], folder, environment)
    return step.wait(), step.text


@pytest.mark.short
def test_too_few_samples_stop_the_comparison(tmp_path):
    (tmp_path / "pyreel").mkdir()
    shutil.copy(STREAMS / "grouped-3.14" / "recording.pyreel", tmp_path / "pyreel" / "tests.pyreel")
    code, text = script(tmp_path, "compare", "--min-kept", "95%")
    assert code == 3 and "has 92.0 % of the samples that were due" in text
    assert script(tmp_path, "compare", "--min-kept", "90%")[0] == 0


def test_a_machine_that_cannot_record_runs_the_tests(tmp_path):
    prefix = [*need_root(), need_command("unshare"), "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    code, text = script(tmp_path, "record", "-r", "100", "--", "sh", "-c", "echo tests; exit 5", prefix=prefix)
    assert code == 5 and "/proc is not mounted here" in text and text.endswith("The command runs without\ntests\n")
    assert list((tmp_path / "pyreel").iterdir()) == []


@pytest.mark.short
def test_misuse_is_said(tmp_path):
    for arguments in ([], ["x"], ["record", "true"], ["summary", "x"], ["fetch"], ["compare", "x"], ["compare", "--min-kept"]):
        code, text = script(tmp_path, *arguments)
        assert code == 2 and text.startswith("pyreel-ci: ") and "--help" in text, arguments
    assert script(tmp_path, "--help")[1].startswith("usage: pyreel-ci ")
    assert script(tmp_path, "compare") == (1, "pyreel-ci: there is no recording in pyreel/\n")


KEYS = {"name", "if", "shell", "env", "run", "working-directory", "uses", "with"}


@pytest.mark.short
@pytest.mark.parametrize("path", sorted((CI / "github").glob("*/action.yml")), ids=lambda path: path.parent.name)
def test_actions_have_what_github_asks_for(path):
    action = read_yaml(path)
    assert set(action) == {"name", "description", "inputs", "runs"} and action["runs"].pop("using") == "composite"
    assert all(set(row) <= {"description", "required", "default"} and row["description"] for row in action["inputs"].values())
    (steps,) = action["runs"].values()
    for step in steps:
        assert set(step) <= KEYS and ("run" in step and step["shell"] == "bash") != ("uses" in step and "with" in step)
        # What a user gives reaches a shell in variables only: else it would be part of the script.
        assert "${{" not in step.get("run", "")
        for name in re.findall(r"inputs\.([\w-]+)", str(step)):
            assert name in action["inputs"]
        for found in re.findall(r'"\$GITHUB_ACTION_PATH/(\S+)"', step.get("run", "")):
            assert os.access(path.parent / found, os.X_OK)


@pytest.mark.short
def test_the_manifest_gives_the_sidecar_what_it_needs():
    pod = read_yaml(pathlib.Path(PROJECT) / "examples" / "kubernetes.yaml")
    assert (pod["apiVersion"], pod["kind"]) == ("v1", "Pod") and pod["spec"]["shareProcessNamespace"] is True
    (sidecar,) = [row for row in pod["spec"]["containers"] if row["name"] == "pyreel"]
    assert sidecar["securityContext"]["capabilities"] == {"drop": ["ALL"]} and pod["spec"]["securityContext"]["runAsUser"] == 1000
    assert all("runAsUser" not in row.get("securityContext", {}) for row in pod["spec"]["containers"])
