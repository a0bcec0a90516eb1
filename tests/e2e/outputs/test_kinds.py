# SPDX-License-Identifier: MIT
"""What a frame is, is said by its kind and not by its name: functions that are called as frames which are no functions are
functions, in each output."""
import json
import pathlib
import runpy

import pytest

import flame_output
import gecko_check
import made_stream
import pprof_check
from environment import DIFF, TOP
from recording import collapsed, convert, gecko, pprof, record_told, succeed

pytestmark = [pytest.mark.short, pytest.mark.pythons("newest")]

NAMES = runpy.run_path(pathlib.Path(__file__).parents[1] / "programs" / "named.py")["NAMES"]


@pytest.fixture(scope="module")
def path(python, program, tmp_path_factory):
    recording = tmp_path_factory.mktemp("named") / "named.pyreel"
    record_told(recording, "--native", "--", *python.command, program("named"), function="spin", prefix=python.prefix)
    return recording


def assert_functions(lines):
    """Lines of collapsed stacks: each name has its file, in the order of the calls."""
    frames = next(line for line in lines if "spin (" in line).rpartition(" ")[0].split(";")
    shown = [frame.rpartition(" (")[0] for frame in frames if "named.py:" in frame]
    assert [name for name in shown if name in NAMES] == NAMES, frames


def test_collapsed_and_its_filters(path):
    assert_functions(collapsed(path).splitlines())
    assert_functions(collapsed(path, "--no-gc", "--no-native").splitlines())


def test_report(path):
    rows = json.loads(convert("report", path, "--json", "--sort", "total", "--top", "100").text)["sections"][0]["rows"]
    kinds = {row["name"]: row["kind"] for row in rows if row.get("file", "").endswith("named.py")}
    assert {name: kinds.get(name) for name in NAMES} == dict.fromkeys(NAMES, "program")


def test_flame_graph(path, tmp_path):
    convert("flame", path, "-o", tmp_path / "named.html")
    data = flame_output.load(tmp_path / "named.html")
    texts, functions = data["strings"], data["functions"]
    kinds = {texts[name]: data["kinds"][kind]["name"] for name, file, kind in
             zip(functions["name"], functions["file"], functions["kind"]) if texts[file].endswith("named.py")}
    assert {name: kinds.get(name) for name in NAMES} == dict.fromkeys(NAMES, "program")


def test_firefox(path):
    profile = gecko_check.load(gecko(path))
    shared, categories = profile["shared"], [category["name"] for category in profile["meta"]["categories"]]
    labels = gecko_check.frame_labels(profile, lambda name, file, line: (name, file or ""))
    shown = {name: categories[category] for (name, file), category in zip(labels, shared["frameTable"]["category"])
             if file.endswith("named.py")}
    assert {name: shown.get(name) for name in NAMES} == dict.fromkeys(NAMES, "Your code")


def test_pprof(path):
    profile, problems = pprof_check.examine(pprof(path))
    assert problems == []
    assert set(NAMES) <= {pprof_check.text_at(profile, function["name"]) for function in profile["function"]
                          if pprof_check.text_at(profile, function["filename"]).endswith("named.py")}


def test_speedscope(path):
    frames = json.loads(convert("speedscope", path, "-o", "-").text)["shared"]["frames"]
    assert set(NAMES) <= {frame["name"] for frame in frames if frame.get("file", "").endswith("named.py")}


def test_tachyon(path, tmp_path):
    convert("tachyon", path, "-o", tmp_path / "named.bin")
    assert_functions(collapsed(tmp_path / "named.bin", "--no-gc", "--no-native").splitlines())


# ---- code of programs, of libraries and of the kernel ----

NATIVE, KERNEL, GC = 1, 2, 3
PYTHON, OTHER = "/usr/lib/libpython3.13.so.1.0", "/srv/lib/libother.so"
LIBRARY = ("PyDict_Copy", PYTHON, 0x12345, NATIVE)
STACKS = [[("main", "/srv/app.py", 3)],
          [("main", "/srv/app.py", 3), LIBRARY, ("do_mmap", "[kernel]", 0xffffffff81000000, KERNEL)],
          [("main", "/srv/app.py", 3), LIBRARY, ("work", "/srv/app.py", 9)],
          [("main", "/srv/app.py", 3), ("PyDict_Copy", OTHER, 0x777, NATIVE)]]  # another function of that name
MODULES = {("PyDict_Copy", PYTHON), ("PyDict_Copy", OTHER), ("do_mmap", "[kernel]")}
PLACES = {(name, pathlib.PurePath(module).name) for name, module in MODULES}


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """No pyreel records such a thing yet."""
    path = tmp_path_factory.mktemp("modules") / "modules.pyreel"
    made_stream.write(path, made_stream.Samples(STACKS * 10), pid=4242, start_unix_ns=1_780_000_000_000_000_000)
    return path


def test_modules_in_collapsed(modules):
    assert "main (app.py:3);work (app.py:9) 10" in collapsed(modules, "--no-threads").splitlines()  # PyDict_Copy passes it on
    assert collapsed(modules, "--no-threads", "--fold", "none").splitlines() == [
        "main (app.py:3) 10", "main (app.py:3);PyDict_Copy (libother.so) 10",
        "main (app.py:3);PyDict_Copy (libpython3.13.so.1.0);do_mmap ([kernel]) 10",
        "main (app.py:3);PyDict_Copy (libpython3.13.so.1.0);work (app.py:9) 10"]
    assert collapsed(modules, "--no-threads", "--no-native").splitlines() == [
        "main (app.py:3) 20", "main (app.py:3);do_mmap ([kernel]) 10", "main (app.py:3);work (app.py:9) 10"]


@pytest.mark.parametrize("by, shown", [("function", {name for name, _ in MODULES}), ("file", {place for _, place in PLACES}),
                                       ("module", {place for _, place in PLACES})])
def test_modules_in_reports(modules, by, shown):
    rows = json.loads(convert("report", modules, "--fold", "none", "--json", "--by", by, "--weight", "wall").text)["sections"][0]["rows"]
    found = [row for row in rows if row["name"] in shown]
    assert len(found) == len(MODULES) and {row["kind"] for row in found} == {"native"}
    if by == "function":
        assert {(row["name"], row["file"]) for row in found} == PLACES


def test_modules_in_the_flame_graph(modules, tmp_path):
    convert("flame", modules, "--fold", "none", "-o", tmp_path / "modules.html")
    data = flame_output.load(tmp_path / "modules.html")
    texts, functions = data["strings"], data["functions"]
    assert {(texts[name], texts[file]) for name, file in zip(functions["name"], functions["file"])} >= PLACES


def test_modules_in_firefox(modules):
    """A module is a resource, and the address is that of the frame. Those of a kernel are no exact numbers in JavaScript."""
    shared = gecko_check.load(gecko(modules))["shared"]
    texts, frames, functions = shared["stringArray"], shared["frameTable"], shared["funcTable"]
    resources = [texts[name] for name in shared["resourceTable"]["name"]]
    shown = {(texts[functions["name"][function]], resources[functions["resource"][function]], address)
             for function, address in zip(frames["func"], frames["address"]) if functions["resource"][function] >= 0}
    assert shown >= {("PyDict_Copy", "libpython3.13.so.1.0", 0x12345), ("PyDict_Copy", "libother.so", 0x777),
                     ("do_mmap", "[kernel]", -1), ("main", "app.py", -1)}


def test_collections_in_firefox(tmp_path):
    """A collection has a marker, and a function that is called as one has none."""
    main = ("main", "/srv/app.py", 3)
    named, collection = [main, ("<GC>", "/srv/app.py", 9)], [main, ("<GC>", "", 0, GC)]
    samples = made_stream.Samples([named] * 30 + [[main]] * 30 + [collection] * 30 + [[main]] * 30)
    made_stream.write(tmp_path / "gc.pyreel", samples, pid=4242, start_unix_ns=1_780_000_000_000_000_000)
    profile = gecko_check.load(gecko(tmp_path / "gc.pyreel"))
    texts, markers = profile["shared"]["stringArray"], profile["threads"][0]["markers"]
    found = [(start, end) for name, start, end in zip(markers["name"], markers["startTime"], markers["endTime"])
             if texts[name] == "GC"]
    assert len(found) == 1 and found[0] == pytest.approx((60, 90), abs=1.5), found


def test_modules_in_pprof(modules):
    """A module is a mapping."""
    profile, problems = pprof_check.examine(pprof(modules))
    assert problems == []
    functions = {function["id"]: function for function in profile["function"]}
    mappings = {mapping["id"]: mapping for mapping in profile["mapping"]}
    shown = set()
    for location in profile["location"]:
        function = functions[location["line"][0]["function_id"]]
        texts = [pprof_check.text_at(profile, text) for text in (function["name"], function["filename"],
                                                                 mappings[location["mapping_id"]]["filename"])]
        shown.add((*texts, location["address"]))
    assert shown >= {("PyDict_Copy", PYTHON, PYTHON, 0x12345), ("PyDict_Copy", OTHER, OTHER, 0x777),
                     ("do_mmap", "[kernel]", "[kernel]", 0xffffffff81000000), ("main", "/srv/app.py", "python3.13", 0)}


def test_odd_modules(tmp_path):
    """Native code of the executable, of a module that is called as the program is, and of one without a name."""
    odd = [("in_python", "python3.13", 0x888, NATIVE), ("as_program", "/srv/native/app.py", 0x999, NATIVE), ("nowhere", "/lib/", 0xaaa, NATIVE)]
    path = tmp_path / "odd.pyreel"
    made_stream.write(path, made_stream.Samples([[("main", "/srv/app.py", 3), frame] for frame in odd] * 10), pid=4242,
                      start_unix_ns=1_780_000_000_000_000_000)
    shared = gecko_check.load(gecko(path))["shared"]
    names = [shared["stringArray"][name] for name in shared["funcTable"]["name"]]
    resources = dict(zip(names, shared["funcTable"]["resource"]))
    assert resources["nowhere"] == -1 and len({resources["main"], resources["in_python"], resources["as_program"]}) == 3
    profile, problems = pprof_check.examine(pprof(path))
    assert problems == []
    texts = {function["id"]: pprof_check.text_at(profile, function["name"]) for function in profile["function"]}
    mappings = {texts[location["line"][0]["function_id"]]: location["mapping_id"] for location in profile["location"]}
    assert len(set(mappings.values())) == len(mappings) == 4


def test_modules_in_speedscope(modules):
    frames = json.loads(convert("speedscope", modules, "--fold", "none", "-o", "-").text)["shared"]["frames"]
    assert {(frame["name"], frame.get("file")) for frame in frames} >= PLACES


def test_modules_in_tachyon(modules, tmp_path):
    """The format has no modules."""
    convert("tachyon", modules, "-o", tmp_path / "modules.bin")
    assert all(f";{name}" in collapsed(tmp_path / "modules.bin") for name, _ in MODULES)


def test_modules_in_top(modules):
    shown = succeed(TOP, "--batch", 1, modules).text.splitlines()
    assert all(any(name in line and line.endswith(place) for line in shown) for name, place in PLACES), shown


def test_modules_in_comparisons(modules, tmp_path):
    made_stream.write(tmp_path / "more.pyreel", made_stream.Samples((STACKS + STACKS[1:2] * 5) * 10), pid=4242,
                      start_unix_ns=1_780_000_000_000_000_000)
    assert "do_mmap" in succeed(DIFF, modules, tmp_path / "more.pyreel").text
