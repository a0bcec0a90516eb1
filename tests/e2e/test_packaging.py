# SPDX-License-Identifier: MIT
"""What debian/ and packaging/ say agrees with the project, and the test of the package passes with the programs of this build.
packaging/make-deb, make-tarball and cross-aarch64 do the rest: they take minutes, and need a network."""

import os
import re
import subprocess

from environment import CONVERTERS, DIFF, DUMP, PROJECT, PYREEL, RECORD


def read(*path):
    with open(os.path.join(PROJECT, *path), encoding="utf-8") as file:
        return file.read()


def words_of(pattern, text):
    return set(re.search(pattern, text, re.S)[1].split())


def test_version_of_package():
    assert read("debian", "changelog").startswith(f"pyreel ({re.search('version: .(.*).,', read('meson.build'))[1]}) ")


def test_package_is_built_with_all_libraries():
    needed = words_of(r"\nbuild_packages=\((.*?)\)", read("quickstart"))
    named = set(re.findall(r"[a-z][\w.+-]+", re.search(r"Build-Depends:(.*?)\n\S", read("debian", "control"), re.S)[1]))
    assert needed - named <= {"gcc", "libc6-dev", "ninja-build", "python3"} - named  # which each build of a package has


def test_roots_have_all_libraries():
    needed = words_of(r"\nbuild_packages=\((.*?)\)", read("quickstart"))
    script = read("packaging", "common.sh")
    assert needed - words_of(r"build_packages=\((.*?)\)", script) - words_of(r"libraries=\((.*?)\)", script) == {"gcc", "libc6-dev"}


def test_package_test_runs_each_program():
    script = read("debian", "tests", "record")
    assert [path for path in (PYREEL, RECORD, DUMP, DIFF, *CONVERTERS.values()) if not re.search(rf"^(.*\| )?{os.path.basename(path)} ", script, re.M)] == []


def test_package_test(tmp_path):
    folders = [os.path.dirname(RECORD), os.path.dirname(DIFF), os.path.dirname(PYREEL), os.environ["PATH"]]
    done = subprocess.run([os.path.join(PROJECT, "debian", "tests", "record")], capture_output=True, text=True,
                          env={**os.environ, "PATH": ":".join(folders), "AUTOPKGTEST_TMP": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr
