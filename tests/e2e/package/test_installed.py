# SPDX-License-Identifier: MIT
"""What `meson install` puts where, and that programs, man pages and completions work from there."""

import glob
import json
import os
import re
import shlex
import subprocess

import pytest

from environment import BUILD, PROJECT, built_programs, need_command
from recording import record_told, succeed

PROGRAMS = list(built_programs())


def option_of_build(name):
    with open(os.path.join(BUILD, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as file:
        return next(option["value"] for option in json.load(file) if option["name"] == name)


@pytest.fixture(scope="module")
def destination(tmp_path_factory):
    """Installed by the meson that made the build folder, and not by another one in PATH."""
    with open(os.path.join(BUILD, "build.ninja"), encoding="utf-8") as file:
        meson = shlex.split(re.search(r"^ *command = (.*) --internal regenerate", file.read(), re.M)[1])
    folder = tmp_path_factory.mktemp("destination")
    subprocess.run([*meson, "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", folder], check=True, timeout=300)
    return str(folder)


@pytest.fixture(scope="module")
def installed(destination):
    """The prefix in the folder of the installation."""
    return destination + option_of_build("prefix")


@pytest.fixture(scope="module")
def data(installed):
    return os.path.join(installed, option_of_build("datadir"))


def sources(pattern, *absent):
    """The names of files of the project, as seen from its root."""
    paths = [os.path.relpath(path, PROJECT) for path in glob.glob(os.path.join(PROJECT, pattern), recursive=True)
             if os.path.isfile(path) and "__pycache__" not in path]
    return [path for path in paths if path not in absent]


def expected_files():
    programs = option_of_build("bindir")
    manuals = os.path.join(option_of_build("mandir"), "man1")
    shared = option_of_build("datadir")
    documents = os.path.join(shared, "doc", "pyreel")
    yield os.path.join(option_of_build("mandir"), "man7", "pyreel.7")
    for name in ["pyreel", *PROGRAMS]:
        yield os.path.join(programs, name)
        yield os.path.join(manuals, f"{name}.1")
        yield os.path.join(shared, "bash-completion", "completions", name)
        yield os.path.join(shared, "zsh", "site-functions", f"_{name}")
        yield os.path.join(shared, "fish", "vendor_completions.d", f"{name}.fish")
    for path in ["README.md", "CHANGELOG.md", "schemas", "ci", *sources("docs/**/*", "docs/HACKING.md"), *sources("examples/**/*")]:
        yield os.path.join(documents, path)
    for path in sources("schemas/*", "schemas/meson.build"):
        yield os.path.join(shared, "pyreel", path)
    for folder, _, files in os.walk(os.path.join(PROJECT, "ci")):
        for name in files:
            yield os.path.join(shared, "pyreel", os.path.relpath(os.path.join(folder, name), PROJECT))
    for path in sources("packaging/fleet/*"):
        yield os.path.join(shared, "pyreel", "fleet", os.path.basename(path))
    yield os.path.join(shared, "licenses", "pyreel", "LICENSE")


@pytest.mark.short
def test_each_file_has_its_place(destination, installed):
    found = set()
    for folder, folders, files in os.walk(destination):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        found |= {os.path.relpath(os.path.join(folder, name), installed) for name in files + links}
    assert found == set(expected_files())


def test_schemas_are_where_documents_look(data):
    with open(os.path.join(data, "doc", "pyreel", "schemas", "report.schema.json"), encoding="utf-8") as file:
        assert json.load(file)["$schema"]


def test_the_script_for_ci_runs_from_there(data):
    told = subprocess.run([os.path.join(data, "pyreel", "ci", "pyreel-ci"), "--help"], check=True, capture_output=True, text=True, timeout=60)
    assert told.stdout.startswith("usage: pyreel-ci ")


def test_installed_programs_record_and_show(installed, python3, program, tmp_path):
    folder = os.path.join(installed, option_of_build("bindir"))
    path = tmp_path / "a.pyreel"
    ended = record_told(path, "--", python3, program("spin"), "told", program=os.path.join(folder, "pyreel-record"))
    assert ended.code == 0, ended
    assert json.loads(succeed(os.path.join(folder, "pyreel-info"), "--json", path).text)["complete"]


def test_man_finds_the_pages(installed):
    need_command("man")
    pages = os.path.join(installed, option_of_build("mandir"))
    found = subprocess.run(["man", "-M", pages, "-w", *PROGRAMS], check=True, capture_output=True, text=True, timeout=60)
    assert found.stdout.split() == [os.path.join(pages, "man1", f"{name}.1") for name in PROGRAMS]


def test_bash_loads_completions_by_name_of_the_program(data):
    need_command("bash")
    for name in PROGRAMS:
        script = 'source -- "$1" && complete -p "$2"'
        path = os.path.join(data, "bash-completion", "completions", name)
        told = subprocess.run(["bash", "-c", script, "bash", path, name], check=True, capture_output=True, text=True, timeout=60)
        assert told.stdout.strip().endswith(name)


def test_zsh_finds_completions(data):
    need_command("zsh")
    script = 'fpath=("$1" $fpath); autoload -Uz compinit; compinit -D -u; shift; for name; do print -r -- $name $_comps[$name]; done'
    folder = os.path.join(data, "zsh", "site-functions")
    told = subprocess.run(["zsh", "-f", "-c", script, "zsh", folder, *PROGRAMS], check=True, capture_output=True, text=True, timeout=60)
    assert told.stdout.splitlines() == [f"{name} _{name}" for name in PROGRAMS]


def test_fish_finds_completions(installed, data, tmp_path):
    need_command("fish")
    path = os.path.join(installed, option_of_build("bindir")) + os.pathsep + os.environ["PATH"]
    environment = {**os.environ, "PATH": path, "XDG_DATA_DIRS": data, "HOME": str(tmp_path)}
    told = subprocess.run(["fish", "-c", "complete -C 'pyreel-record --compr'"], env=environment, check=True, capture_output=True,
                          text=True, timeout=60)
    assert told.stdout.startswith("--compression")
