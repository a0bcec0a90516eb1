# SPDX-License-Identifier: MIT
"""Programs of others that make processes, recorded with -f: a server with workers, a test run in parallel, make."""

import re
import signal
import socket
import subprocess
import urllib.request

from environment import missing, need_command
from recording import collapsed, info, run_record, wait_until

APPLICATION = """
def answer():
    return sum(range(200_000))

def app(environ, start_response):
    answer()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"ok"]
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_served(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as reply:
            return reply.read() == b"ok"
    except OSError:
        return False


def processes_with(path, function):
    """The pids of the processes in which the function was seen."""
    lines = collapsed(path, "--ids", "--functions", "--roots", "process").splitlines()
    return {int(re.match(r"pid (\d+)", line).group(1)) for line in lines if re.search(rf";{function}( |$|;)", line)}


def test_gunicorn(start_recorder, tmp_path):
    need_command("gunicorn")
    (tmp_path / "served.py").write_text(APPLICATION)
    path, port = tmp_path / "server.pyreel", free_port()
    recorder = start_recorder("-f", "-o", path, "--", "gunicorn", "-w", "2", "-b", f"127.0.0.1:{port}", "served:app", cwd=tmp_path)
    wait_until(lambda: is_served(port), "gunicorn answers", 40)
    for _ in range(150):
        assert is_served(port)
    recorder.signal(signal.SIGTERM)
    ended = recorder.wait()
    assert b"Traceback" not in ended.errors, ended
    found = info(path)
    master, *workers = found["processes"]
    assert len(workers) == 2 and {worker["parent"] for worker in workers} == {master["pid"]}
    assert processes_with(path, "answer") and processes_with(path, "answer") <= {worker["pid"] for worker in workers}


def test_parallel_tests(python3, tmp_path):
    if subprocess.run([python3, "-c", "import xdist"], capture_output=True).returncode != 0:
        missing(f"{python3} has no pytest-xdist")
    (tmp_path / "test_sums.py").write_text("import pytest\n\n@pytest.mark.parametrize('n', range(8))\n"
                                           "def test_sum(n):\n    assert sum(i * i for i in range(1_500_000)) > n\n")
    path = tmp_path / "tests.pyreel"
    ended = run_record("-f", "-o", path, "--", python3, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "test_sums.py", cwd=tmp_path)
    assert ended.code == 0 and "8 passed" in ended.text, ended
    assert len(processes_with(path, "test_sum")) == 2
    assert info(path)["exit_code"] == 0


def test_make(python3, tmp_path):
    need_command("make")
    (tmp_path / "step.py").write_text("def step():\n    return sum(i * i for i in range(2_000_000))\n\nstep()\n")
    (tmp_path / "Makefile").write_text(f"all: a b c\na b c:\n\t@sleep 0.05; {python3} step.py\n.PHONY: all a b c\n")
    path = tmp_path / "make.pyreel"
    ended = run_record("-f", "-o", path, "--", "make", "-j", "3", cwd=tmp_path)
    assert ended.code == 0, ended
    assert len(processes_with(path, "step")) == 3
    assert len(info(path)["processes"]) == 3
