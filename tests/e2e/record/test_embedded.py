# SPDX-License-Identifier: MIT
"""Programs with a CPython inside that say nothing of it: linked with libpython.a and stripped. CPython 3.13 and later publish their
version in memory; that of 3.11 and 3.12 has to be found by evidence, and is not guessed."""

import json
import math
import os
import re
import subprocess
import time

import pytest

import stacks
from environment import HERE, missing, need_command, pythons
from recording import ALL_TICKS, attach, collapsed, info, run_record, succeed, wait_until

SOURCE = os.path.join(HERE, "programs", "embedder.c")
ASKED = "import json, sysconfig; print(json.dumps(sysconfig.get_config_vars()))"


def static_python(version):
    """A Python of the version that has a static library, and its configuration."""
    for python in pythons():
        if python.version != version or python.root:
            continue
        known = json.loads(succeed(*python.command, "-c", ASKED).text)
        library = os.path.join(known["LIBPL"], known["LIBRARY"])
        if os.path.exists(library) and not python.name.endswith("d"):
            return python, known, library
    return missing(f"a Python {version} with a static library")


def number_of(text):
    """PY_VERSION_HEX of "3.11.7"."""
    major, minor, micro = map(int, re.match(r"(\d+)\.(\d+)\.(\d+)", text).groups())
    return hex(major << 24 | minor << 16 | micro << 8 | 0xf0)


@pytest.fixture
def embedder(tmp_path):
    """embedder("3.11", other="3.12.1"): the stripped program, its version, the home of its library."""
    def build(version, other=None):
        python, known, library = static_python(version)
        path = tmp_path / "engine"
        constants = [f"-DOTHER_NUMBER={number_of(other)}", f'-DOTHER_TEXT="{other}"'] if other else []
        libraries = f"{known['LIBS']} {known['SYSLIBS']} {known.get('MODLIBS') or ''} -lexpat -lz".split()
        command = [need_command("cc"), "-O1", *constants, f"-I{known['INCLUDEPY']}", SOURCE, library, "-o", path]
        built = None
        for more in (libraries, [*libraries, "-no-pie"], libraries[:-2], [*libraries[:-2], "-no-pie"]):
            built = subprocess.run([*map(str, command), *more], capture_output=True, text=True)
            if built.returncode == 0:
                break
        if built.returncode != 0:
            missing(f"what {library} is linked with: {built.stderr[-500:]}")
        succeed(need_command("strip"), "-s", path)
        return path, python.full_version, known["prefix"]

    return build


def has(samples):
    return lambda found: found["samples"] >= samples


def assert_as_told(path, said, version):
    found = info(path)
    assert found["python"] == version
    seen = stacks.merged(stacks.of_collapsed(collapsed(path, "--weight", "cpu")))
    heavy, light = stacks.samples(seen, "heavy"), stacks.samples(seen, "light")
    share = said["heavy"] / (said["heavy"] + said["light"])
    noise = math.sqrt(share * (1 - share) / (0.8 * found["samples"]))
    assert abs(heavy / (heavy + light) - share) <= 4 * noise + 0.03


@pytest.mark.parametrize("how", ["script", "calls", "isolated"])
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_a_stripped_program_is_read(embedder, record_until, tmp_path, version, how):
    program, full, home = embedder(version)
    done = record_until(tmp_path / "a.pyreel", has(300), "-r", 200, *ALL_TICKS, "--", program, how, home)
    assert_as_told(done.path, done.said, full)


@pytest.mark.parametrize("version, other", [("3.11", "3.12.1"), ("3.12", "3.11.7")])
def test_the_version_of_something_else_in_it_is_not_taken(embedder, record_until, tmp_path, version, other):
    program, full, home = embedder(version, other)
    done = record_until(tmp_path / "a.pyreel", has(300), "-r", 200, *ALL_TICKS, "--", program, "script", home)
    assert_as_told(done.path, done.said, full)


@pytest.mark.parametrize("version, other", [("3.11", "3.11.77"), ("3.12", "3.12.77")])
def test_a_version_that_is_not_known_is_not_guessed(embedder, start, tmp_path, version, other):
    program, _, home = embedder(version, other)
    target = start(program, "calls", home, "ready")
    ended = run_record("-p", target.pid, "-d", 1, "-o", tmp_path / "a.pyreel")
    assert ended.code == 125, ended
    assert "its version of CPython could not be determined" in ended.messages and "older" not in ended.messages


@pytest.mark.parametrize("version", ["3.11", "3.12"])
def test_a_stripped_program_that_runs_is_read(embedder, start, tmp_path, version):
    program, full, home = embedder(version)
    target = start(program, "isolated", home, "ready")
    attach(target, tmp_path / "a.pyreel", samples=20)
    assert info(tmp_path / "a.pyreel")["python"] == full


def test_a_search_that_finds_two_versions_is_not_repeated(start_recorder, tmp_path):
    """A program of 128 MiB that has no interpreter, ever, costs little once it was searched."""
    program = tmp_path / "two"
    succeed(need_command("cc"), "-O1", "-rdynamic", os.path.join(HERE, "programs", "two_versions.c"), "-o", program)
    succeed(need_command("strip"), "-s", program)
    recorder = start_recorder("-r", 10, "-o", tmp_path / "a.pyreel", "--", program)
    wait_until(lambda: cpu_seconds(recorder.pid) > 0.01, "the first search")
    time.sleep(1)
    before, began = cpu_seconds(recorder.pid), time.monotonic()
    time.sleep(3)
    used, seconds = cpu_seconds(recorder.pid) - before, time.monotonic() - began
    ended = recorder.wait()
    assert "no Python was seen" in ended.messages, ended
    assert used < seconds / 10


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        return sum(map(int, file.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def test_a_program_without_sections_is_named(embedder, start, tmp_path):
    """Then nothing tells where the state of a CPython 3.13 is. The name of the program tells that there is one."""
    built, _, home = embedder("3.13")
    program = built.rename(tmp_path / "python3.13")
    with open(program, "r+b") as file:
        file.seek(0x28)  # e_shoff
        file.write(bytes(8))
        file.seek(0x3c)  # e_shnum, e_shstrndx
        file.write(bytes(4))
    target = start(program, "calls", home, "ready")
    ended = run_record("-p", target.pid, "-d", 1, "-o", tmp_path / "a.pyreel")
    assert ended.code == 125, ended
    assert f"cannot read process {target.pid}: it seems to run CPython 3.13, but in none of the" in ended.messages, ended
