# SPDX-License-Identifier: MIT
"""The programs are built so that a mistake of ours is hard to use: what their ELF headers and their code say of that."""

import itertools
import json
import os
import shlex
import subprocess

import pytest

import elf_file
from elf_file import ElfFile
from environment import BUILD, PYREEL, built_programs, missing

pytestmark = pytest.mark.short
PROGRAMS = {"pyreel": PYREEL, **built_programs()}
# By machine: the option, type of the property with the marks of the code, the bits (IBT and SHSTK; BTI), and the instruction
# where jumps may arrive.
BRANCHES = {
    "x86_64": ("-fcf-protection", 0xC0000002, 3, bytes.fromhex("f30f1efa")),  # endbr64
    "aarch64": ("-mbranch-protection=standard", 0xC0000000, 1, bytes.fromhex("5f2403d5")),  # bti c
}


@pytest.fixture(params=PROGRAMS)
def program(request):
    return ElfFile(PROGRAMS[request.param])


def of_build(*path):
    with open(os.path.join(BUILD, *path), encoding="utf-8") as file:
        return json.load(file)


def compiler_of_build():
    """The words of a command of the build in front of its options."""
    return list(itertools.takewhile(lambda word: not word.startswith("-"), shlex.split(of_build("compile_commands.json")[0]["command"])))


def test_addresses_are_drawn(program):
    assert program.type == elf_file.TYPE_DYNAMIC and program.segment(elf_file.SEGMENT_INTERPRETER)
    assert program.dynamic().get(elf_file.DT_FLAGS_1, 0) & elf_file.FLAGS_1_PIE


def test_tables_of_functions_are_read_only(program):
    assert program.segment(elf_file.SEGMENT_RELRO)
    dynamic = program.dynamic()
    assert dynamic.get(elf_file.DT_FLAGS, 0) & elf_file.FLAGS_BIND_NOW or dynamic.get(elf_file.DT_FLAGS_1, 0) & elf_file.FLAGS_1_NOW


def test_stack_is_not_executable(program):
    flags, _ = program.segment(elf_file.SEGMENT_STACK)
    assert not flags & elf_file.EXECUTABLE


def test_stack_has_canaries(program):
    assert "__stack_chk_fail" in program.imports()


def test_calls_of_the_c_library_are_checked(program):
    optimization = next(option["value"] for option in of_build("meson-info", "intro-buildoptions.json") if option["name"] == "optimization")
    if optimization in ("0", "plain"):
        missing("a build with an optimizer and without flags of the builder")
    assert [name for name in program.imports() if name.endswith("_chk")]


@pytest.fixture(scope="module")
def branches():
    machine = os.uname().machine
    return BRANCHES.get(machine) or missing(f"a machine whose protection is known, not {machine}")


@pytest.fixture(scope="module")
def empty(branches, tmp_path_factory):
    """A program that does nothing. One object without the mark takes the mark from the whole program, and the C library's own
    objects lack it on many machines."""
    folder = tmp_path_factory.mktemp("empty")
    (folder / "empty.c").write_text("int main(void) { return 0; }\n")
    subprocess.run([*compiler_of_build(), branches[0], "-pie", "-fPIE", "-o", folder / "empty", folder / "empty.c"], check=True, timeout=120)
    return ElfFile(folder / "empty")


def test_jumps_arrive_where_they_may(program, branches, empty):
    _, type_, bits, landing = branches
    assert program.code().count(landing) > empty.code().count(landing)
    assert program.properties().get(type_, 0) & bits == empty.properties().get(type_, 0) & bits
