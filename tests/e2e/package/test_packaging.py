# SPDX-License-Identifier: MIT
"""What debian/ and packaging/ say agrees with the project, and the test of the package passes with the programs of this build.
packaging/make-deb, make-tarball and cross-aarch64 do the rest: they take minutes, and need a network."""

import glob
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import tarfile

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


@pytest.mark.short
def test_image_has_what_the_tarball_has(tmp_path):
    """Whoever loads an image compares its checksums."""
    tarball = tmp_path / "pyreel-9.8.7-linux-x86_64.tar.xz"
    with tarfile.open(tarball, "w:xz") as tar:
        tar.add(PYREEL, "pyreel-9.8.7-linux-x86_64/bin/pyreel")
        tar.add(os.path.join(PROJECT, "LICENSE"), "pyreel-9.8.7-linux-x86_64/LICENSE")
    script, images = os.path.join(PROJECT, "packaging", "make-image"), []
    for _ in range(2):
        subprocess.run([script, tarball], check=True, capture_output=True)
        images.append((tmp_path / "pyreel-9.8.7-image-x86_64.tar").read_bytes())
    assert images[0] == images[1]

    with tarfile.open(fileobj=io.BytesIO(images[0])) as tar:
        files = {file.name: tar.extractfile(file).read() for file in tar}

    def blob(part):
        data = files[f"blobs/{part['digest'].replace(':', '/')}"]
        assert (f"sha256:{hashlib.sha256(data).hexdigest()}", len(data)) == (part["digest"], part["size"])
        return data

    manifest = json.loads(blob(json.loads(files["index.json"])["manifests"][0]))
    config, layer = json.loads(blob(manifest["config"])), gzip.decompress(blob(manifest["layers"][0]))
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}"]
    assert (config["architecture"], config["config"]["Entrypoint"]) == ("amd64", ["pyreel"])
    assert config["config"]["Labels"]["org.opencontainers.image.version"] == "9.8.7"
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        assert {file.name: oct(file.mode) for file in tar} == {"tmp": "0o1777", "bin/pyreel": oct(os.stat(PYREEL).st_mode & 0o7777), "LICENSE": "0o644"}
        assert tar.extractfile("bin/pyreel").read() == pathlib.Path(PYREEL).read_bytes()

    by_docker = json.loads(files["manifest.json"])[0]
    assert [by_docker["Config"], *by_docker["Layers"]] == [f"blobs/{part['digest'].replace(':', '/')}" for part in (manifest["config"], manifest["layers"][0])]


@pytest.mark.short
def test_image_of_what_is_no_tarball_is_refused(tmp_path):
    script = os.path.join(PROJECT, "packaging", "make-image")
    empty = tmp_path / "pyreel-9.8.7-linux-x86_64.tar.xz"
    with tarfile.open(empty, "w:xz") as tar:
        tar.add(os.path.join(PROJECT, "LICENSE"), "pyreel-9.8.7-linux-x86_64/LICENSE")
    for path, words in ((tmp_path / "other.tar.xz", "is no tarball"), (empty, "has no bin/pyreel")):
        ended = subprocess.run([script, path], capture_output=True, text=True)
        assert ended.returncode == 1 and words in ended.stderr and "make-tarball" in ended.stderr, ended


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
