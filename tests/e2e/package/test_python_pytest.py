# SPDX-License-Identifier: MIT
"""pytest --pyreel, with the pytest that runs this, and with xdist."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest

from environment import Python, missing
from recording import PATIENCE, collapsed, whole
from test_python_package import environment_of

ITSELF = Python("itself", "3", "3", (sys.executable,))
# Each works until it was seen in the recording of its process, however busy the machine is.
TESTS = """
import os, subprocess, time
import pytest

def spin():
    end = time.perf_counter() + 0.1
    while time.perf_counter() < end:
        sum(range(1000))

def seen(*words):
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    path = f"tests-{worker}.pyreel" if worker else "tests.pyreel"
    def lines():
        return subprocess.run(["pyreel-collapsed", "-q", path], capture_output=True, text=True).stdout.splitlines()
    while not any(all(word in line for word in words) for line in lines()):
        spin()

@pytest.fixture
def prepared():
    seen("::test_prepared>;", ";prepared (")
    yield

def test_prepared(prepared):
    pass

@pytest.mark.parametrize("name", ["one", "two"])
def test_each(name):
    seen(f"::test_each[{name}]>;", ";test_each (")

class TestGroup:
    def test_method(self):
        seen("::TestGroup::test_method>;", ";TestGroup.test_method (")

def test_fails():
    assert not "this"
"""
NAMES = {"test_prepared", "test_each[one]", "test_each[two]", "TestGroup::test_method"}


@pytest.fixture
def run_tests(tmp_path):
    def run(*options, code=1):
        (tmp_path / "test_app.py").write_text(TESTS)
        ours = {name: value for name, value in environment_of(ITSELF).items() if not name.startswith("PYTEST_")}  # also that of our workers
        done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "pyreel.pytest_plugin", *options], cwd=tmp_path,
                              env=ours, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr
    return run


def labels_in(*paths):
    """The names of the tests that have time."""
    return {label for path in paths for label in re.findall(r"<task test_app\.py::([^>]+)>;", collapsed(path))}


@pytest.mark.short
def test_the_time_of_each_test(run_tests, tmp_path):
    said = run_tests("--pyreel", "--pyreel-options=--disturb 100")
    assert "1 failed, 4 passed" in said and "pyreel report --weight wall --by task tests.pyreel" in said and "\ntests.pyreel: " in said
    assert labels_in(tmp_path / "tests.pyreel") >= NAMES
    assert whole(tmp_path / "tests.pyreel")["complete"] and os.listdir(tmp_path).count("tests.pyreel") == 1


def test_each_worker_has_a_recording(run_tests, tmp_path):
    if not importlib.util.find_spec("xdist"):
        missing("no pytest-xdist")
    (tmp_path / "tests-gw7.pyreel").write_text("of another run")
    (tmp_path / "tests-gwen.pyreel").write_text("no worker's")
    said = run_tests("-n", "2", "--pyreel=tests.pyreel", "--pyreel-options=--disturb 100")
    files = ["tests-gw0.pyreel", "tests-gw1.pyreel"]
    assert "1 failed, 4 passed" in said and f"--by task {' '.join(files)}" in said
    assert sorted(path.name for path in tmp_path.glob("*.pyreel")) == [*files, "tests-gwen.pyreel"]
    assert labels_in(*(tmp_path / name for name in files)) >= NAMES
    for name in files:
        whole(tmp_path / name)


@pytest.mark.short
@pytest.mark.parametrize("options, words", [(["--pyreel", "test_app.py"], "takes test_app.py for the file of the recording"),
                                            (["--pyreel", "--pyreel-options=--no-such"], "'--no-such'"),
                                            (["--pyreel", "--pyreel-options=--no-such", "-n2"], "'--no-such'")])
def test_misuse_is_said_once(run_tests, options, words):
    if "-n2" in options and not importlib.util.find_spec("xdist"):
        missing("no pytest-xdist")
    assert run_tests(*options, code=pytest.ExitCode.USAGE_ERROR).count(words) == 1


def test_nothing_happens_without_the_option(run_tests, tmp_path):
    said = run_tests("-k", "fails")
    assert "pyreel report" not in said and not list(tmp_path.glob("*.pyreel"))
