# SPDX-License-Identifier: MIT
"""C functions in the stacks (--native): where they stand among the Python functions, what they are called, their time by
their own account, and what the program notices."""
import collections
import json
import lzma
import os
import re
import shutil
import subprocess

import pytest

import gecko_check
import pprof_check
from environment import BUILD, missing, need_command, need_root
from recording import CONVERTERS, attach, collapsed, info, pprof, run_record, so_far, succeed, trace, whole

LIBRARY = os.path.join(BUILD, "tests", "libwork.so")
JUDGE = os.path.join(BUILD, "tests", "oracle", "judge")


@pytest.fixture
def command(python, programs, program):
    """command("account", 2): the command of c_work.py, with a library that is libwork.so or one like it."""
    def with_library(what, seconds, library=LIBRARY):
        name = os.path.join(programs, "libwork.so")
        shutil.copy(library, python.root + name)
        return [*python.command, program("c_work"), what, seconds, name]
    return with_library


def stacks_of(path):
    """[(names of the functions and of their files, microseconds)], root first."""
    found = []
    for line in collapsed(path, "--functions", "--weight", "wall", "--debug-info", "none").splitlines():
        stack, _, value = line.rpartition(" ")
        found.append((stack.split(";")[1:], int(value)))
    return found


def assert_merged(told):
    """Nearly each stack that was captured has its place; how many are captured depends on who else has the processors."""
    figures = told["figures"]
    assert figures["c_samples"] > 50 and figures["c_samples"] <= told["samples"], figures
    assert figures.get("c_stacks_unmerged", 0) <= 2 + 0.01 * figures["c_stacks"], figures
    assert figures.get("c_stacks_holes", 0) <= 5 + 0.05 * figures["c_stacks"], figures
    return figures


@pytest.mark.short
def test_c_functions_stand_between_those_who_call_and_who_are_called(python, command, tmp_path):
    path = tmp_path / "a.pyreel"
    ended = run_record("-v", "-o", path, "--native", "--disturb", "10", "--", *command("calls", 3), prefix=python.prefix)
    assert ended.code == 0 and "% of the samples have their C functions" in ended.messages, ended
    figures = assert_merged(whole(path))
    packing = hashing = sorting = 0
    wrong = []
    for stack, _ in stacks_of(path):
        c = [" (c_work.py)" not in frame for frame in stack]
        names = [frame.partition(" (")[0] for frame in stack]
        if "key" in names:  # C code calls key()
            at = names.index("key")
            by_c = at > 0 and (names[at - 1] == "<native>" or c[at - 1])
            if not by_c or "sorts" not in names[:at] or any(c[:names.index("sorts") + 1]):
                wrong.append(stack)
            sorting += by_c and names[at - 1] != "<native>"
        for name, where in (("packs", "(libz"), ("hashes", "(libcrypto")):
            if name in names:
                below = stack[names.index(name) + 1:]
                wrong += [stack] if not all(c[names.index(name) + 1:]) else []
                packing += name == "packs" and any(where in frame for frame in below)
                hashing += name == "hashes" and any(where in frame or "sha" in frame.lower() for frame in below)
    assert len(wrong) <= figures["samples_live"], wrong  # none of a proved look
    assert packing and hashing and sorting


@pytest.mark.pythons("oldest and newest")
def test_in_another_pid_namespace(command, tmp_path):
    """As in a container: the process has other numbers for its threads than the kernel's calls for the recorder."""
    path = tmp_path / "a.pyreel"
    inside = [need_command("unshare"), "--pid", "--fork", "--mount-proc", "--kill-child", *command("calls", 3)]
    ended = run_record("-f", "-o", path, "--native", "--disturb", "10", "--", *inside, prefix=need_root())
    assert ended.code == 0, ended
    figures = assert_merged(whole(path))
    assert figures["c_samples"] > 0.2 * figures["samples"], figures
    assert any("(libz" in frame for stack, _ in stacks_of(path) for frame in stack)


def test_c_functions_have_the_time_that_they_count(python, command, tmp_path):
    path = tmp_path / "a.pyreel"
    ended = run_record("-o", path, "--native", "--disturb", "10", "--", *command("account", 4), prefix=python.prefix)
    assert ended.code == 0, ended
    figures = assert_merged(whole(path))
    counted = json.loads(ended.text.splitlines()[-1])
    seen = collections.Counter()
    for stack, value in stacks_of(path):
        for name, symbol in (("alpha", "alpha"), ("beta", "beta_inside"), ("gamma", "gamma_calls")):
            seen[name] += value * stack[-1].startswith(symbol + " (")
    total, wanted = sum(seen.values()), sum(counted.values())
    for name, ticks in counted.items():
        share, noise = ticks / wanted, (0.25 / figures["c_samples"]) ** 0.5
        assert abs(seen[name] / total - share) <= 4 * noise + 0.02, (name, seen, counted)


def test_threads_that_wait_are_not_interrupted(python, command, tmp_path):
    path = tmp_path / "a.pyreel"
    ended = run_record("-o", path, "--native", "--disturb", "10", "--", *command("waits", 3), prefix=python.prefix)
    assert ended.code == 0, ended
    assert json.loads(ended.text.splitlines()[-1]) == {"interrupted": [0, 0, 0]}
    waiting = sum(value for stack, value in stacks_of(path) if any("epoll_wait" in frame for frame in stack))
    below = sum(value for stack, value in stacks_of(path) if any(frame.startswith("wait_in_c ") for frame in stack))
    assert waiting > 0.02 * below  # a wait of a millisecond may be over when the sample is made, on a busy machine most are


@pytest.mark.pythons("oldest and newest")
def test_threads_beside_the_lock_have_their_c_functions(python, command, tmp_path):
    """One thread computes in Python, the other in C code without the lock. No post stands on the second one."""
    path = tmp_path / "a.pyreel"
    ended = run_record("-o", path, "--native", "--disturb", "10", "--", *command("beside", 2), prefix=python.prefix)
    assert ended.code == 0, ended
    figures = whole(path)["figures"]
    with_c = without = 0
    for stack, value in stacks_of(path):
        if any("libz" in frame for frame in stack):
            at, = (i for i, frame in enumerate(stack) if frame.startswith("packs ("))
            assert all(".so" in frame or "python" in frame for frame in stack[at + 1:]), stack
            with_c += value
        elif stack[-1].startswith("packs ("):
            without += value
    # How many stop in time depends on who else has the processors.
    assert figures["c_samples"] > 0 and with_c > 0, (with_c, without, figures)


def test_threads_that_sleep_have_their_c_functions(python, command, tmp_path):
    """They are looked at once, as long as they sleep: what was not known then is learned later."""
    path = tmp_path / "a.pyreel"
    ended = run_record("-o", path, "--native", "--disturb", "10", "--", *command("sleeps", 3), prefix=python.prefix)
    assert ended.code == 0, ended
    seen, unknown = collections.Counter(), collections.Counter()
    for line in collapsed(path, "--functions", "--weight", "samples", "--debug-info", "none", "--fold", "none").splitlines():
        stack, _, count = line.rpartition(" ")
        name = "gets_late" if ";gets_late (" in stack else stack.partition(" ")[0]
        if re.search(r"\(lib[^)]*\.so", stack):
            seen[name] += int(count)
            unknown[name] += int(count) * ("<code of no file>" in stack)
    assert seen["gets_late"] > 20 and unknown["gets_late"] <= 5 + 0.1 * seen["gets_late"], (seen, unknown)


@pytest.mark.pythons("newest")
def test_threads_of_c_code_have_their_c_functions(python, command, tmp_path):
    path = tmp_path / "a.pyreel"
    ended = run_record("-o", path, "--native", "--disturb", "10", "--", *command("native", 3), prefix=python.prefix)
    assert ended.code == 0, ended
    known = wrong = unknown = 0
    for line in collapsed(path, "--functions", "--weight", "cpu").splitlines():
        stack, _, value = line.rpartition(" ")
        frames = [frame.partition(" (")[0] for frame in stack.split(";")[1:]]
        if frames and frames[0].startswith("<native thread "):
            unknown += int(value) * (len(frames) == 1)
            known += int(value) * ("spin" in frames[-3:])
            wrong += int(value) * any(".py" in frame for frame in stack.split(";")[1:])
    told = info(path)
    # How many stop in time depends on who else has the processors. What they use is native CPU time in the account, with
    # C functions or without.
    assert wrong == 0 and known > 0, (known, unknown, told["figures"])
    assert told["cpu_native_s"] >= 0.9 * (known + unknown) / 1e6, told["cpu_native_s"]


@pytest.mark.pythons("newest")
def test_a_program_that_is_traced_is_recorded_without(python, command, start, tmp_path):
    target = start(*command("account", 60))
    tasks = succeed("ls", f"/proc/{target.pid}/task").text.split()
    for task in tasks:
        trace("seize", int(task))
    ended = attach(target, tmp_path / "a.pyreel", "--native", prefix=python.prefix)
    assert "another program may trace them" in ended.messages, ended
    told = whole(tmp_path / "a.pyreel")
    assert told["figures"]["c_samples"] == 0 and told["figures"]["c_stacks_refused"] > 0 and told["samples"] >= 50


@pytest.mark.pythons("oldest and newest")
def test_a_program_that_is_stopped_in_the_middle_of_execve_runs_on(python, program, tmp_path):
    ended = run_record("-o", tmp_path / "a.pyreel", "--native", "--disturb", "50", "-r", "10khz", "--",
                       *python.command, program("execs_often"), 30, prefix=python.prefix)
    assert (ended.code, ended.text) == (7, "ended\n"), ended
    assert so_far(tmp_path / "a.pyreel")["figures"]["c_samples"] > 0


# ---- frames and names ----

def test_c_stacks_are_those_of_another_unwinder(python, command, start):
    """libdwfl finds the same return addresses in the same copies."""
    if not os.path.exists(JUDGE):
        missing("no libdw (libdw-dev) when the tests were built")
    target = start(*command("calls", 60))
    ended = subprocess.run([JUDGE, str(target.pid), "200"], capture_output=True, text=True)
    told = json.loads(ended.stdout)
    assert (told["looks"], told["same"]) == (200, 200) and told["frames"] > 1000, (told, ended.stderr)


def binutils(*command):
    subprocess.run([need_command(command[0]), *command[1:]], check=True)


def with_symbols(tmp_path):
    return LIBRARY


def stripped(tmp_path):
    binutils("strip", "-o", tmp_path / "libwork.so", LIBRARY)
    return tmp_path / "libwork.so"


def with_a_debug_link(tmp_path):
    """The symbols are in .debug/libwork.debug, beside the library."""
    library = stripped(tmp_path)
    binutils("objcopy", "--only-keep-debug", LIBRARY, tmp_path / "libwork.debug")
    binutils("objcopy", f"--add-gnu-debuglink={tmp_path / 'libwork.debug'}", library)
    return library


def with_packed_symbols(tmp_path):
    """As Fedora has it: symbols that are not exported, packed into a section."""
    library, mini = stripped(tmp_path), tmp_path / "mini"
    binutils("objcopy", "--only-keep-debug", LIBRARY, mini)
    binutils("strip", "--keep-file-symbols", "--remove-section=.comment", "-g", mini)
    (tmp_path / "mini.xz").write_bytes(lzma.compress(mini.read_bytes()))
    binutils("objcopy", f"--add-section=.gnu_debugdata={tmp_path / 'mini.xz'}", library)
    return library


@pytest.mark.pythons("newest")
@pytest.mark.parametrize("made, inside", [(with_symbols, True), (with_a_debug_link, True), (with_packed_symbols, True),
                                          (stripped, False)])
def test_names_come_from_where_distributions_keep_them(made, inside, python, command, programs, tmp_path):
    library, path = made(tmp_path), tmp_path / "a.pyreel"
    line = command("account", 2, library)
    folder = os.path.join(python.root + programs, ".debug")
    shutil.rmtree(folder, ignore_errors=True)
    if made == with_a_debug_link:
        os.mkdir(folder)
        shutil.copy(tmp_path / "libwork.debug", folder)
    ended = run_record("-o", path, "--native", "--disturb", "10", "--", *line, prefix=python.prefix)
    assert ended.code == 0, ended
    names = collections.Counter()
    for stack, value in stacks_of(path):
        names.update({frame: value for frame in set(stack) if frame.endswith("(libwork.so)")})
    exported = {"alpha (libwork.so)", "beta (libwork.so)", "gamma_calls (libwork.so)"}
    hidden = {"beta_inside (libwork.so)", "work::Beta::call (libwork.so)"}
    assert exported <= set(names)
    assert hidden <= set(names) if inside else not hidden & set(names), names
    if not inside:  # functions without a name are told by where they begin, and add up all the same
        nameless = {name for name in names if name.startswith("libwork.so+0x")}
        assert len(nameless) == 2, names


@pytest.mark.pythons("oldest and newest")
def test_code_of_no_file_has_the_name_that_its_compiler_wrote(python, program, tmp_path):
    path = tmp_path / "a.pyreel"
    ended = run_record("-o", path, "--native", "--disturb", "10", "--", *python.command, program("jit_code"), "3", prefix=python.prefix)
    assert ended.code == 0, ended
    found = collections.Counter()
    for stack, value in stacks_of(path):
        at = [frame for frame in stack if frame.startswith("compiled_")]
        if at and " ([JIT])" in stack[-1]:
            found[at[0].partition(" ")[0], stack[-1]] += value
    first, later = ("compiled_first", "first: count_down(int) ([JIT])"), ("compiled_later", "later: count_down(int) ([JIT])")
    whole = sum(found.values())
    assert found[first] > 0.3 * whole and found[later] > 0.1 * whole, found  # the file is read each second


@pytest.mark.pythons("newest")
def test_outputs_know_the_libraries(python, command, tmp_path):
    """pprof and the Firefox Profiler find the code of a function in its file, by build id and address."""
    path = tmp_path / "a.pyreel"
    run_record("-o", path, "--native", "--disturb", "10", "--", *command("account", 2), prefix=python.prefix)
    note = subprocess.run([need_command("readelf"), "-nW", LIBRARY], capture_output=True, text=True, check=True).stdout
    build_id = note.partition("Build ID: ")[2].split()[0]
    rows = subprocess.run([need_command("nm"), "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
    symbols = {name: int(address, 16) for address, _, name in map(str.split, rows.splitlines())}

    profile = pprof_check.load(pprof(path))
    assert pprof_check.check(profile) == []
    text = lambda index: pprof_check.text_at(profile, index)
    mapping, = (row for row in profile["mapping"] if text(row["filename"]).endswith("/libwork.so"))
    assert text(mapping["build_id"]) == build_id
    found = {}
    for location in profile["location"]:
        if location["mapping_id"] == mapping["id"]:
            function = profile["function"][location["line"][-1]["function_id"] - 1]
            found.setdefault(text(function["name"]), (text(function["system_name"]), []))[1].append(location["address"])
    assert found["work::Beta::call"][0] == "_ZN4work4Beta4callEm" and found["alpha"][0] == ""
    assert all(0 <= address - symbols["beta_inside"] < 200 for address in found["beta_inside"][1])

    output = tmp_path / "a.json"
    succeed(CONVERTERS["gecko"], "-o", output, path)
    gecko = gecko_check.load(output)
    assert gecko_check.problems(gecko) == []
    number, = (i for i, lib in enumerate(gecko["libs"]) if lib["name"] == "libwork.so")
    assert gecko["libs"][number]["codeId"] == build_id
    strings, native = gecko["shared"]["stringArray"], gecko["shared"]["nativeSymbols"]
    begins = {strings[name]: address for lib, name, address in zip(native["libIndex"], native["name"], native["address"]) if lib == number}
    assert begins["alpha"] == symbols["alpha"] and begins["work::Beta::call"] == symbols["_ZN4work4Beta4callEm"]
