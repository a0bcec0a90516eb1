# SPDX-License-Identifier: MIT
"""Lines of C functions, and the functions that the compiler has inlined: from debug information, at conversion."""
import http.server
import json
import os
import re
import shutil
import subprocess
import threading

import pytest

import gecko_check
import pprof_check
import recording
from environment import BUILD, DIFF, PROJECT, need_command
from recording import CONVERTERS, collapsed, pprof, run, run_record, succeed

LIBRARY = os.path.join(BUILD, "tests", "libwork.so")
OTHER_BUILD = os.path.join(BUILD, "tests", "libwork2.so")
SOURCE = os.path.join(PROJECT, "tests", "tools", "c_work.c")

pytestmark = [pytest.mark.pythons("newest")]


def line_of(text):
    """The numbers of the lines of the source that have a text."""
    with open(SOURCE, encoding="utf-8") as source:
        return [number for number, line in enumerate(source, 1) if text in line]


CALL = line_of("return compute(rounds, &alpha_ticks")[0]
COMPUTE = range(line_of("static inline uint64_t compute")[0], line_of("KEPT uint64_t alpha")[0])
ALPHA = "alpha (libwork.so)"


def record(python, program, library, path):
    """Records alpha() and the like, which compute."""
    inside = library[len(python.root):]
    command = [*python.command, program("c_work"), "account", "1.5", inside]
    ended = run_record("-o", path, "--native", "--disturb", "10", "--", *command, prefix=python.prefix)
    assert ended.code == 0, ended
    return path


@pytest.fixture(scope="module")
def library(python, programs):
    """Where the library is that the program loads: tests put others there afterwards. A program in a root folder knows it
    by another name, but the kernel tells us ours."""
    folder = os.path.join(python.root + programs, "built")
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, "libwork.so")


@pytest.fixture(scope="module")
def recorded(python, program, library, tmp_path_factory):
    shutil.copy(LIBRARY, library)
    return record(python, program, library, tmp_path_factory.mktemp("lines") / "a.pyreel")


@pytest.fixture
def place(library):
    """An empty place for the library, or for what lies beside it."""
    folder = os.path.dirname(library)
    shutil.rmtree(folder)
    os.mkdir(folder)
    yield library
    shutil.rmtree(folder)
    os.mkdir(folder)
    shutil.copy(LIBRARY, library)


def frames_below(path, name, *options):
    """What stands at a function of the library and below it, of each distinct stack."""
    found = set()
    for line in collapsed(path, *options).splitlines():
        frames = line.rpartition(" ")[0].split(";")
        found.update(tuple(frames[i:]) for i, frame in enumerate(frames) if frame.startswith(f"{name} ("))
    return found


def knows_lines(path, *options):
    """Whether all that is known of alpha() is told; if not, nothing is."""
    found = frames_below(path, "alpha", *options)
    inlined = [frames for frames in found if frames[0] == f"alpha (libwork.so/c_work.c:{CALL})"]
    for frames in inlined:
        name, line = re.fullmatch(r"(\w+) \(libwork\.so/c_work\.c:(\d+)\)", frames[1]).groups()
        assert name == "compute" and int(line) in COMPUTE, frames
    if not inlined:
        assert found == {(ALPHA,)}, found
    return bool(inlined)


def strip_to(library):
    subprocess.run([need_command("strip"), "-o", library, LIBRARY], check=True)


def test_lines_and_inlined_functions_are_told(recorded):
    assert knows_lines(recorded)
    assert not knows_lines(recorded, "--debug-info", "none")
    called = frames_below(recorded, "beta")
    assert any(frames[1].startswith("work::Beta::call (libwork.so/c_work.c:") for frames in called), called


def test_the_file_with_debug_information_may_lie_beside(recorded, place):
    folder = os.path.dirname(place)
    strip_to(place)
    assert not knows_lines(recorded)
    debug = os.path.join(folder, "libwork.debug")
    subprocess.run([need_command("objcopy"), "--only-keep-debug", LIBRARY, debug], check=True)
    subprocess.run([need_command("objcopy"), f"--add-gnu-debuglink={debug}", place], check=True)
    assert knows_lines(recorded)
    os.mkdir(os.path.join(folder, ".debug"))
    os.rename(debug, os.path.join(folder, ".debug", "libwork.debug"))
    assert knows_lines(recorded)


@pytest.mark.parametrize("what", ["nothing", "another build", "no program", "a part", "a pipe", "a link to a pipe", "a folder"])
def test_what_is_not_that_build_says_nothing(what, recorded, place):
    with open(LIBRARY, "rb") as library:
        content = library.read()
    if what == "another build":
        shutil.copy(OTHER_BUILD, place)
    elif what == "a pipe":
        os.mkfifo(place)
    elif what == "a link to a pipe":
        debug = os.path.join(os.path.dirname(place), "libwork.debug")
        strip_to(place)
        subprocess.run([need_command("objcopy"), "--only-keep-debug", LIBRARY, debug], check=True)
        subprocess.run([need_command("objcopy"), f"--add-gnu-debuglink={debug}", place], check=True)
        os.unlink(debug)
        os.mkfifo(debug)
    elif what == "a folder":
        os.mkdir(place)
    elif what != "nothing":
        with open(place, "wb") as file:
            file.write(b"no program at all" if what == "no program" else content[:len(content) // 2])
    assert not knows_lines(recorded)


class Server(http.server.BaseHTTPRequestHandler):
    """A server of debuginfod, which knows one library."""

    def do_GET(self):
        self.server.asked.append(self.path)
        match = re.fullmatch(r"/buildid/([0-9a-f]+)/(debuginfo|executable)", self.path)
        known = match and match[1] == self.server.build_id
        content = open(LIBRARY, "rb").read() if known else b""
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def build_id_of(path):
    note = subprocess.run([need_command("readelf"), "-nW", path], capture_output=True, text=True, check=True).stdout
    return note.partition("Build ID: ")[2].split()[0]


@pytest.fixture
def server():
    found = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    found.asked, found.build_id = [], build_id_of(LIBRARY)
    thread = threading.Thread(target=found.serve_forever)
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


def test_servers_are_asked_only_when_told(recorded, place, server, tmp_path, monkeypatch):
    monkeypatch.setitem(recording.ENVIRONMENT, "DEBUGINFOD_URLS", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setitem(recording.ENVIRONMENT, "DEBUGINFOD_CACHE_PATH", str(tmp_path / "cache"))
    assert not knows_lines(recorded) and not server.asked
    strip_to(place)
    assert not knows_lines(recorded) and not server.asked
    assert knows_lines(recorded, "--debug-info", "debuginfod"), server.asked
    os.unlink(place)
    shutil.rmtree(tmp_path / "cache")
    assert knows_lines(recorded, "--debug-info", "debuginfod")


def test_a_source_of_debug_information_has_a_name_and_servers(recorded):
    ended = run(CONVERTERS["report"], "--debug-info", "debuginfod", recorded)
    assert ended.code == 2 and "DEBUGINFOD_URLS" in ended.messages, ended
    ended = run(CONVERTERS["report"], "--debug-info", "anywhere", recorded)
    assert ended.code == 2 and "none|local|debuginfod" in ended.messages, ended


def test_pprof_has_inlined_functions_as_lines_of_a_location(recorded):
    profile = pprof_check.load(pprof(recorded))
    assert pprof_check.check(profile) == []
    text = lambda index: pprof_check.text_at(profile, index)
    functions = {row["id"]: row for row in profile["function"]}
    found = set()
    for location in profile["location"]:
        rows = [(functions[line["function_id"]], line["line"]) for line in location["line"]]
        found.add(tuple((text(row["name"]), os.path.basename(text(row["filename"])), line) for row, line in rows))
        if text(rows[-1][0]["name"]) == "alpha" and len(rows) > 1:
            assert os.path.realpath(text(rows[-1][0]["filename"])).endswith("tests/tools/c_work.c")
            assert rows[-1][0]["start_line"] in line_of("uint64_t alpha(uint64_t rounds)")
    inlined = {rows for rows in found if rows[-1] == ("alpha", "c_work.c", CALL)}
    assert inlined and all(rows[-2][:2] == ("compute", "c_work.c") and rows[-2][2] in COMPUTE for rows in inlined), inlined


def test_firefox_knows_inlined_functions(recorded, tmp_path):
    output = tmp_path / "a.json"
    succeed(CONVERTERS["gecko"], "-o", output, recorded)
    gecko = gecko_check.load(output)
    assert gecko_check.problems(gecko) == []
    shared = gecko["shared"]
    frames, functions, strings, native = (shared[name] for name in ("frameTable", "funcTable", "stringArray", "nativeSymbols"))
    name = lambda frame: strings[functions["name"][frames["func"][frame]]]
    found = set()
    for frame, prefix in zip(shared["stackTable"]["frame"], shared["stackTable"]["prefix"]):
        if frames["inlineDepth"][frame] == 1 and name(shared["stackTable"]["frame"][prefix]) == "alpha":
            outer = shared["stackTable"]["frame"][prefix]
            assert frames["address"][frame] == frames["address"][outer] > 0
            assert frames["nativeSymbol"][frame] == frames["nativeSymbol"][outer]
            assert strings[native["name"][frames["nativeSymbol"][frame]]] == "alpha"
            found.add((name(frame), frames["line"][outer], frames["line"][frame] in COMPUTE))
    assert found == {("compute", CALL, True)}


def test_a_difference_is_of_functions_and_not_of_builds(python, program, recorded, library, tmp_path):
    """Another version of the library has other addresses, another name, and no debug information."""
    newer = f"{library}.2"
    shutil.copy(OTHER_BUILD, newer)
    after = record(python, program, newer, tmp_path / "b.pyreel")
    subprocess.run([need_command("strip"), newer], check=True)
    told = json.loads(succeed(DIFF, "--json", "--top", "0", recorded, after).text)
    for name in ("alpha", "beta_inside", "gamma_calls"):
        rows = [row["total"] for row in told["items"]["rows"] if row["name"] == name]
        assert len(rows) == 1 and rows[0]["before"] > 0 and rows[0]["after"] > 0, (name, rows)
    assert not [row for row in told["items"]["rows"] if row["name"] == "compute"]  # inlined in one build, and in another
