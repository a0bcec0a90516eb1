# SPDX-License-Identifier: MIT
"""Programs of others that make processes, recorded with -f: a server with workers, a test run in parallel, make."""

import re
import signal
import urllib.request

from environment import missing, need_command, pythons
from recording import PATIENCE, info, pids_in, run, wait_until

APPLICATION = """
def answer():
    return sum(range(200_000))

def app(environ, start_response):
    answer()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"ok"]
"""


def is_served(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE) as reply:
            return reply.read() == b"ok"
    except OSError:
        return False


def python_with(module):
    """A Python of this machine that has a module."""
    for python in pythons():
        if not python.root and run(*python.command, "-c", f"import {module}").code == 0:
            return python.command[0]
    return missing(f"no Python has {module}")


def test_gunicorn(start_recorder, tmp_path):
    python = python_with("gunicorn")
    (tmp_path / "served.py").write_text(APPLICATION)
    path = tmp_path / "server.pyreel"
    recorder = start_recorder("-f", "-o", path, "--", python, "-m", "gunicorn", "-w", "2", "-b", "127.0.0.1:0", "served:app", cwd=tmp_path)
    port = re.search(r"http://127\.0\.0\.1:(\d+)", recorder.wait_for_message("Listening at"))[1]
    wait_until(lambda: is_served(port), "gunicorn answers")
    recorder.wait_for(path, lambda found: len(found["processes"]) == 3, "both workers")
    wait_until(lambda: all(is_served(port) for _ in range(50)) and pids_in(path, "answer"), "samples in answer()")
    recorder.signal(signal.SIGTERM)
    ended = recorder.wait()
    assert b"Traceback" not in ended.errors, ended
    found = info(path)
    master, *workers = found["processes"]
    assert len(workers) == 2 and {worker["parent"] for worker in workers} == {master["pid"]}
    assert pids_in(path, "answer") <= {worker["pid"] for worker in workers}


# Works until a file is there.
STEP = """
import os

def step():
    while not os.path.exists("enough"):
        sum(range(1000))
"""


def record_steps(start_recorder, folder, count, *command):
    """Records a program that has so many steps at once, each in a process of its own."""
    path = folder / "steps.pyreel"
    recorder = start_recorder("-f", "-o", path, "--", *command, cwd=folder)
    recorder.wait_for(path, lambda _: len(pids_in(path, "step")) == count, f"{count} processes")
    (folder / "enough").touch()
    ended = recorder.wait()
    assert ended.code == 0, ended
    return ended, info(path)


def test_parallel_tests(start_recorder, tmp_path):
    python = python_with("xdist")
    (tmp_path / "test_sums.py").write_text(f"import pytest\n{STEP}\n@pytest.mark.parametrize('n', range(8))\ndef test_sum(n):\n    step()\n")
    ended, found = record_steps(start_recorder, tmp_path, 2, python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "test_sums.py")
    assert "8 passed" in ended.text, ended
    assert found["exit_code"] == 0


def test_make(start_recorder, python3, tmp_path):
    need_command("make")
    (tmp_path / "step.py").write_text(f"{STEP}\nstep()\n")
    (tmp_path / "Makefile").write_text(f"all: a b c\na b c:\n\t@sleep 0.05; {python3} step.py\n.PHONY: all a b c\n")
    _, found = record_steps(start_recorder, tmp_path, 3, "make", "-j", "3")
    assert len(found["processes"]) == 3
