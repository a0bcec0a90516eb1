# SPDX-License-Identifier: MIT
"""Recordings of real programs, damaged at random many times: what is told is what was recorded, see tests/tools/damage.c.
A failure prints a seed that shows it again."""

import os
import subprocess

import pytest

import environment
from recording import ENVIRONMENT, SANITIZER, whole

DAMAGE = os.path.join(environment.BUILD, "tests", "damage")
RUNS = 100 * environment.SOAK
SECONDS = 3  # of each recording: as many blocks
PATIENCE = 60 + RUNS * SECONDS / 5  # seconds; a sanitized one takes a tenth of that for each run

# Python, program and its arguments, options of the recorder
RECORDED = {
    "threads-and-opcodes": ("3.15", ["mix", SECONDS + 30], ["-r", "1k", "--opcodes", "--native"]),
    "threads-that-come-and-go": ("3.11", ["churn", SECONDS + 30], ["-r", "1k"]),
    "tasks": ("3.14", ["async_named"], ["-r", "200", "--async", "all"]),
    "tasks-that-run": ("3.15", ["async_shapes", "shapes"], ["-r", "1k", "--async", "running", "--compression", "none"]),
}


AT_ONCE = "import os, runpy\nprint('ready', os.getpid(), flush=True)\nrunpy.run_path(%r)"


@pytest.fixture
def recordings(start, start_recorder, program, tmp_path):
    """All are made at the same time."""
    paths, recorders = [], []
    for name, (version, (script, *arguments), options) in RECORDED.items():
        python = environment.python_of(version)
        prefix = environment.as_root() if python.root else ()
        how = ["-c", AT_ONCE % program(script)] if script == "churn" else [program(script)]
        target = start(*python.command, *how, *arguments)
        paths.append(tmp_path / f"{name}.pyreel")
        recorders.append(start_recorder("-p", target.pid, "-d", SECONDS, "-o", paths[-1], *options, prefix=prefix))
    for recorder, path in zip(recorders, paths):
        ended = recorder.wait()
        assert ended.code == 0, ended
        assert whole(path)["blocks"] >= SECONDS
    return paths


@pytest.mark.sanitized("recordings of real programs, damaged at random")
@pytest.mark.soak
def test_what_is_told_of_a_damaged_recording_is_what_was_recorded(recordings):
    done = subprocess.run([DAMAGE, "--runs", str(RUNS), *map(str, recordings)], capture_output=True, env=ENVIRONMENT,
                          timeout=PATIENCE)
    assert not SANITIZER.search(done.stderr), done.stderr.decode()
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    assert done.stdout.rstrip().endswith(b" 0 wrong")
