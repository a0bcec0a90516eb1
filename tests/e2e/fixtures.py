# SPDX-License-Identifier: MIT
"""The options, fixtures and choice of Pythons of all tests that record real programs: those beside this file, and those of tests/oracle."""
import collections
import json
import os
import shutil
import signal
import subprocess
import tempfile

import pytest

import environment
import known_program
import recording
import stacks
import terminals
from collector import Collector, Receiver
from environment import CACHE, CONVERTERS, DIFF, HERE, RECORD, TOP, as_root, pythons

Recorded = collections.namedtuple("Recorded", "python path program said info threads")
Done = collections.namedtuple("Done", "path said text info messages waited")


def pytest_addoption(parser):
    parser.addoption("--short", action="store_true", help="only tests with the marker `short`, with the oldest and the newest Python")


def pytest_configure(config):
    heed_signals()
    environment.SHORT = config.option.short
    absent = [program for program in (RECORD, DIFF, TOP, *CONVERTERS.values()) if not os.access(program, os.X_OK)]
    if absent:
        raise pytest.UsageError(f"not built: {absent[0]}; PYREEL_BUILD names the build folder")


def heed_signals():
    """SIGTERM ends the tests as ^C does, with what they clean up. The programs that the tests start do not inherit
    signals that are ignored or blocked here, as with nohup or in the background of a shell."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for number in signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def pytest_report_header(config):
    lines = [f"programs: {environment.BUILD}"]
    lines += [f"python:   {p.name}: {p.full_version}: {' '.join(p.command)}" for p in pythons()]
    names = {python.name for python in pythons()}
    if not any(python.version == "3.12" for python in pythons()):
        lines.append("python:   no 3.12 here; its tests are left out")
    if "3.11-debug" not in names:
        lines.append("python:   no debug build of 3.11 here; its tests are left out")
    if all(python.at_once == 1 for python in pythons()):
        lines.append("python:   NO FREE-THREADED BUILD: its tests are left out, for PYREEL_PYTHONS names none")
    for version in environment.missing_versions():
        lines.append(f"python:   NO {version}: tests/tools/make-pythons makes one in {CACHE}")
    lines += [f"pprof:    {name}: {environment.pprof_version(name) or 'NOT HERE'}" for name in environment.PPROFS]
    return lines


def pytest_generate_tests(metafunc):
    """`python` is each Python found; a version that must be there and is not is a test that says so."""
    itself = any("python" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if "python" in metafunc.fixturenames and not itself:
        found = list(pythons()) + environment.missing_versions()
        ids = [getattr(python, "name", python) for python in found]
        metafunc.parametrize("python", found, ids=ids, indirect=True, scope="session")


def minor_of(python):
    """Of a Python, or of a version such as "3.13"."""
    return int(getattr(python, "version", python).split(".")[1])


def chosen_pythons():
    """What the marker `pythons` can say: the Pythons for a test. Builds of PYREEL_PYTHONS are beside those of each version."""
    found = list(pythons()) + environment.missing_versions()
    own = [python for python in found if getattr(python, "own", False)]
    of_version = {}
    for python in found:
        if python not in own:
            of_version.setdefault(getattr(python, "version", python), python)
    versions = sorted(of_version, key=minor_of)
    return {"each build": found, "each version": list(of_version.values()) + own,
            "oldest and newest": [of_version[versions[0]], of_version[versions[-1]]],
            "newest": [of_version[versions[-1]]]}


@pytest.hookimpl(trylast=True)  # when tests with the same Python stand together
def pytest_collection_modifyitems(config, items):
    chosen, left_out = chosen_pythons(), []
    for item in items:
        marker, sanitized = item.get_closest_marker("pythons"), item.get_closest_marker("sanitized")
        which = marker.args[0] if marker else "each version"
        if environment.SANITIZED:
            which = sanitized.kwargs.get("pythons", "newest") if sanitized else None
        if config.option.short:
            which = which if which == "newest" else "oldest and newest"
            which = which if item.get_closest_marker("short") else None
        python = item.callspec.params.get("python") if hasattr(item, "callspec") else None
        since = minor_of(marker.kwargs.get("since", "3.0")) if marker else 0
        if which is None or python is not None and (python not in chosen[which] or minor_of(python) < since):
            left_out.append(item)
    config.hook.pytest_deselected(items=left_out)
    gone = set(left_out)
    items[:] = [item for item in items if item not in gone]


@pytest.fixture(scope="session")
def python(request):
    if isinstance(request.param, str):
        environment.missing(f"no Python {request.param}: tests/tools/make-pythons makes one in {CACHE}")
    return request.param


# Waits for the end of whoever started it, however that comes, and removes what was made.
REMOVER = 'cat; exec rm -rf --one-file-system -- "$@"'


@pytest.fixture(scope="session")
def programs():
    """The folder with the programs to record. It has the same name in each root folder."""
    folder = tempfile.mkdtemp(prefix="pyreel-e2e-", dir="/tmp")
    copies = [python.root + folder for python in {python.root: python for python in pythons() if python.root}.values()]
    remover = subprocess.Popen([*(as_root() or ()), "sh", "-c", REMOVER, "sh", folder, *copies], stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, start_new_session=True)  # ^C is not for it
    shutil.copytree(os.path.join(HERE, "programs"), folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    os.chmod(folder, 0o755)
    for copy in copies:
        subprocess.run([*as_root(), "cp", "-rT", folder, copy], check=True)
    yield folder
    remover.stdin.close()
    assert remover.wait() == 0


@pytest.fixture(scope="session")
def program(programs):
    """program("spin"): the file of a program to record."""
    return lambda name: os.path.join(programs, f"{name}.py")


def record_known(python, program, path, *options):
    """programs/known.py, recorded until all of it was seen."""
    def stacks_so_far():
        return stacks.of_collapsed(recording.collapsed(path, "--full-paths"))

    recorder = recording.Recorder("-o", path, *options, "--", *python.command, program, prefix=python.prefix)
    try:
        recorder.wait_for(path, lambda found: found["samples"] >= 1500 and known_program.all_seen(stacks_so_far(), program),
                          "all of the program")
        ended = recorder.wait()
    finally:
        recorder.close()
    assert ended.code == 0, ended
    return Recorded(python, path, program, json.loads(ended.text), recording.whole(path), stacks_so_far())


@pytest.fixture(scope="session")
def recorded(python, program, tmp_path_factory):
    """The same for all tests, under each Python."""
    return record_known(python, program("known"), tmp_path_factory.mktemp("truth") / "known.pyreel", *recording.ALL_TICKS)


@pytest.fixture
def start_recorder():
    """Recorder(...), ended with the test."""
    started = []

    def start(*arguments, **more):
        started.append(recording.Recorder(*arguments, **more))
        return started[-1]

    yield start
    for recorder in reversed(started):
        recorder.close()


@pytest.fixture
def record_until(start_recorder):
    """record_until(path, condition, "--", "python3", ...): records a program that works until its standard input ends, which is
    when what info says of the recording meets the condition. The program must end well."""
    def record(path, condition, *arguments, **more):
        recorder = start_recorder("-o", path, *arguments, **more)
        recorder.wait_for(path, condition, "what the test waits for")
        return done_of(recorder, path)

    return record


def done_of(recorder, path):
    ended, seconds = recorder.wait_and_watch()
    assert ended.code == 0, ended
    said = json.loads(ended.text) if ended.text.startswith("{") else None
    return Done(path, said, ended.text, recording.whole(path), ended.messages, seconds)


@pytest.fixture
def record_becoming(start_recorder, python3, program):
    """record_becoming(path, OTHER, code): programs/becomes.py until it was seen, and then, in the same process and under another
    Python, programs/dies.py, which ends with the code. Returns what info says of both."""
    def record(path, other, code):
        recorder = start_recorder("-o", path, "--", python3, program("becomes"), "told", other, program("dies"), code, "told")
        recorder.wait_for_functions(path, "before")
        recorder.tell(b"\n")
        recorder.wait_for_functions(path, "work")
        assert recorder.wait().code == code
        return recording.whole(path)

    return record


@pytest.fixture
def by_default():
    """Recordings are made with the default options."""
    plenty, recording.PLENTY = recording.PLENTY, ()
    yield
    recording.PLENTY = plenty


@pytest.fixture
def start():
    """Target(...), ended with the test."""
    started = []

    def start(*command, **more):
        started.append(recording.Target(*command, **more))
        return started[-1]

    yield start
    for target in reversed(started):
        target.close()


@pytest.fixture
def at_terminal():
    """Terminal(...), closed with the test."""
    opened = []

    def start(*command):
        opened.append(terminals.Terminal(*command))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


@pytest.fixture(scope="session")
def python3():
    """A Python of this machine, for tests that are not about versions."""
    return environment.python_of_this_machine().command[0]


@pytest.fixture
def spinning(start, python3, program):
    """A program that runs in a function spin."""
    return start(python3, program("spin"))


@pytest.fixture
def collector(tmp_path_factory):
    """OpenTelemetry's Collector at work, which hands on to its `receiver`."""
    with Collector(tmp_path_factory.mktemp("collector")) as collector:
        yield collector


@pytest.fixture
def receiver():
    """Takes profiles without a Collector."""
    with Receiver() as receiver:
        yield receiver
