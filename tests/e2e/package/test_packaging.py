# SPDX-License-Identifier: MIT
"""What debian/ and packaging/ say agrees with the project, and the test of the package passes with the programs of this build.
packaging/make-deb, make-tarball and cross-aarch64 do the rest: they take minutes, and need a network."""

import glob
import json
import os
import re
import subprocess

import pytest

from environment import BUILD, CONVERTERS, DIFF, DUMP, PROJECT, PYREEL, RECORD, need_command


def read(*path):
    with open(os.path.join(PROJECT, *path), encoding="utf-8") as file:
        return file.read()


def words_of(pattern, text):
    return set(re.search(pattern, text, re.S)[1].split())


@pytest.mark.short
def test_version_of_package():
    assert read("debian", "changelog").startswith(f"pyreel ({re.search('version: .(.*).,', read('meson.build'))[1]}) ")


@pytest.mark.short
def test_package_is_built_with_all_libraries():
    needed = words_of(r"\nbuild_packages=\((.*?)\)", read("quickstart"))
    named = set(re.findall(r"[a-z][\w.+-]+", re.search(r"Build-Depends:(.*?)\n\S", read("debian", "control"), re.S)[1]))
    assert needed - named <= {"gcc", "libc6-dev", "ninja-build", "python3"} - named  # which each build of a package has


@pytest.mark.short
def test_roots_have_all_libraries():
    needed = words_of(r"\nbuild_packages=\((.*?)\)", read("quickstart"))
    script = read("packaging", "common.sh")
    assert needed - words_of(r"build_packages=\((.*?)\)", script) - words_of(r"libraries=\((.*?)\)", script) == {"gcc", "libc6-dev"}


@pytest.mark.short
def test_tests_that_are_not_emulated():
    rows = [line.split("#")[0].split() for line in read("packaging", "aarch64-emulated").splitlines()]
    named = {row[0] for row in rows if row}
    assert {row[1] for row in rows if row} == {"never", "slow"}
    with open(os.path.join(BUILD, "meson-info", "intro-tests.json"), encoding="utf-8") as file:
        assert named - {test["name"] for test in json.load(file) if "pyreel:unit" in test["suite"]} == set()


def shell_scripts():
    for path in glob.iglob(os.path.join(PROJECT, "**"), recursive=True):
        if os.path.isfile(path) and os.access(path, os.X_OK) and not os.path.relpath(path, PROJECT).startswith(("build", "quickstart-out")):
            with open(path, "rb") as file:
                if re.match(rb"#!.*\b(ba)?sh\n", file.read(100)):
                    yield path


def test_shell_scripts():
    done = subprocess.run([need_command("shellcheck"), "-x", *shell_scripts()], cwd=PROJECT, capture_output=True, text=True)
    assert done.stdout + done.stderr == ""


@pytest.mark.short
def test_package_test_runs_each_program():
    script = read("debian", "tests", "record")
    assert [path for path in (PYREEL, RECORD, DUMP, DIFF, *CONVERTERS.values()) if not re.search(rf"^(.*\| |exits \d+ )?{os.path.basename(path)} ", script, re.M)] == []


def test_package_test(tmp_path):
    folders = [os.path.dirname(RECORD), os.path.dirname(DIFF), os.path.dirname(PYREEL), os.environ["PATH"]]
    done = subprocess.run([os.path.join(PROJECT, "debian", "tests", "record")], capture_output=True, text=True,
                          env={**os.environ, "PATH": ":".join(folders), "AUTOPKGTEST_TMP": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr
