# SPDX-License-Identifier: MIT
"""The Python package: programs of each Python record themselves with it, with the programs of this build."""

import collections
import os
import re
import signal
import subprocess
import textwrap

import pytest

import plain_stream
from environment import DUMP, DIFF, PROJECT, PYREEL, RECORD, need_otlp, otlp_folder
from recording import ENVIRONMENT, PATIENCE, collapsed, process_state, wait_until, whole

PACKAGE = os.path.join(PROJECT, "python")
# What each program begins with. A piece of work goes on until it was seen, however busy the machine is.
PRELUDE = """
import asyncio, os, pyreel, subprocess, sys, threading, time

def until_seen(path, function, name="pyreel-collapsed"):
    while f";{function.__name__} (" not in subprocess.run([name, "-q", path], capture_output=True, text=True).stdout:
        function()

def spin():
    end = time.perf_counter() + 0.2
    while time.perf_counter() < end:
        sum(range(1000))

def work(): spin()
def other(): spin()
def unlabelled(): spin()
def in_child(): spin()
"""


def environment_of(python, **more):
    """This build's programs and the package. A Python of a root folder runs outside of it, where the recorder can be started."""
    folders = dict.fromkeys(map(os.path.dirname, (PYREEL, RECORD, DIFF, DUMP)))
    home = {"PYTHONHOME": f"{python.root}/usr"} if python.root else {}
    return {**ENVIRONMENT, "PATH": os.pathsep.join([*folders, ENVIRONMENT["PATH"]]), "PYTHONPATH": PACKAGE, "PYTHONDONTWRITEBYTECODE": "1", **home, **more}


def command_of(python):
    if not python.root:
        return python.command
    return (f"{python.root}/lib64/ld-linux-x86-64.so.2", "--library-path", f"{python.root}/usr/lib/x86_64-linux-gnu", python.root + python.command[-1])


@pytest.fixture
def run_with(python, tmp_path):
    """run_with(code): runs a program under the Python, in the test's folder, which must work; returns what it printed."""
    def start(code, *options, prefix=(), **more):
        (tmp_path / "program.py").write_text(PRELUDE + textwrap.dedent(code))
        done = subprocess.run([*prefix, *command_of(python), *options, "program.py"], cwd=tmp_path, env=environment_of(python, **more),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "ResourceWarning" not in done.stderr, done.stderr
        return done.stdout
    return start


def shows(path, function):
    return f";{function} (" in collapsed(path)


# ---- recordings ----

@pytest.mark.short
def test_a_block_is_recorded_and_nothing_else(run_with, tmp_path):
    run_with("""
        other()
        with pyreel.record("a.pyreel", disturb=100, rate="2khz", options=["--no-gc"]) as recording:
            until_seen("a.pyreel", work)
        other()
        assert recording.path == "a.pyreel" and "a.pyreel: " in recording.messages, recording.messages
        """, "-X", "dev")
    path = tmp_path / "a.pyreel"
    told = whole(path)
    assert shows(path, "work") and not shows(path, "other")
    assert told["rate_hz"] == 2000 and "--no-gc" in told["recorder_command"]


def test_a_percent_sign_is_itself(run_with, tmp_path):
    (tmp_path / "50%d").mkdir()
    run_with("""
        with pyreel.record("50%d/a-%h%%.pyreel") as recording:
            until_seen(recording.path, work)
        assert recording.path == "50%d/a-%h%%.pyreel"
        """)
    assert os.listdir(tmp_path / "50%d") == ["a-%h%%.pyreel"]


@pytest.mark.short
@pytest.mark.pythons("each build")
def test_nothing_is_left(run_with):
    run_with("""
        for attempt in range(3):
            with pyreel.record("a.pyreel"):
                work()
            if attempt == 0:  # the memory of labels has a descriptor, and stays
                before = os.listdir("/proc/self/fd")
        assert os.listdir("/proc/self/fd") == before
        try:
            raise AssertionError(os.waitpid(-1, os.WNOHANG))
        except ChildProcessError:
            pass
        assert sorted(os.listdir()) == ["a.pyreel", "program.py"]
        """)


def test_decorated_functions(run_with, tmp_path):
    run_with("""
        @pyreel.recorded("plain.pyreel", disturb=100)
        def twice(number):
            "Doubles."
            until_seen("plain.pyreel", work)
            return 2 * number

        @pyreel.recorded
        def unnamed():
            raise KeyError("of the program")

        @pyreel.recorded("coroutine.pyreel", disturb=100)
        async def later(number):
            await asyncio.sleep(0)
            until_seen("coroutine.pyreel", other)
            return number

        assert (twice(21), twice.__doc__) == (42, "Doubles.") and asyncio.run(later(7)) == 7
        for _ in range(2):
            try:
                unnamed()
                raise AssertionError
            except KeyError:
                pass
        try:
            pyreel.recorded(lambda: (yield))
            raise AssertionError
        except TypeError as error:
            assert "generator" in str(error)
        names = {"plain.pyreel", "coroutine.pyreel", f"unnamed-{os.getpid()}.pyreel", f"unnamed-{os.getpid()}-2.pyreel"}
        assert set(os.listdir()) == {"program.py", *names}
        """)
    assert shows(tmp_path / "plain.pyreel", "work") and shows(tmp_path / "coroutine.pyreel", "other")
    for path in tmp_path.glob("*.pyreel"):
        whole(path)


def test_start_and_stop_in_different_threads(run_with, tmp_path):
    run_with("""
        def thread(function, *values):
            thread = threading.Thread(target=function, args=values)
            thread.start()
            thread.join()

        assert pyreel.start("a.pyreel", disturb=100).path == "a.pyreel"
        thread(until_seen, "a.pyreel", work)
        thread(pyreel.stop)
        thread(pyreel.start, "b.pyreel")
        assert pyreel.stop().path == "b.pyreel"
        pyreel.start()  # ends with the program
        """)
    assert shows(tmp_path / "a.pyreel", "work")
    (default,) = tmp_path.glob("program-*.pyreel")
    for path in (default, tmp_path / "a.pyreel", tmp_path / "b.pyreel"):
        whole(path)


@pytest.mark.short
def test_what_cannot_be_done_is_said(run_with):
    run_with("""
        def refused(words, function, *values, **named):
            try:
                function(*values, **named)
            except pyreel.Error as error:
                assert words in str(error) and "Try '" not in str(error), error
            else:
                raise AssertionError(words)

        refused("not being recorded", pyreel.stop)
        refused("cannot create no/such.pyreel: No such file or directory", pyreel.start, "no/such.pyreel")
        refused("--rate", pyreel.start, "a.pyreel", rate="often")
        refused("--no-such", pyreel.start, "a.pyreel", options=["--no-such"])
        refused("needs a file", pyreel.start, "-")
        with pyreel.record("a.pyreel"):
            refused("is being recorded into a.pyreel: end that recording", pyreel.start, "b.pyreel")
            refused("is being recorded into a.pyreel", pyreel.record("a.pyreel").start)
        with pyreel.record("b.pyreel"):
            pass
        """)


def test_a_recorder_that_fails_is_told(run_with):
    run_with("""
        import signal
        def kill_recorder():
            with open(f"/proc/self/task/{threading.get_native_id()}/children") as file:
                (pid,) = file.read().split()
            os.kill(int(pid), signal.SIGKILL)

        try:
            with pyreel.record("a.pyreel"):
                kill_recorder()
            raise AssertionError
        except pyreel.Error as error:
            assert "was ended by signal 9 (Killed)" in str(error), error
        try:
            with pyreel.record("a.pyreel"):
                kill_recorder()
                raise KeyError("of the program")
        except KeyError as error:
            assert "signal 9" in error.__notes__[0]
        """)


@pytest.mark.pythons("newest")
def test_without_programs(run_with, tmp_path):
    run_with("""
        for function in (pyreel.start, lambda: subprocess.run([sys.executable, "-m", "pyreel"], check=True)):
            try:
                function()
                raise AssertionError
            except pyreel.Error as error:
                assert "the program pyreel-record was not found beside the package" in str(error)
            except (subprocess.CalledProcessError, OSError):
                pass
        """, PATH=str(tmp_path))


@pytest.mark.short
def test_forked_children(run_with, tmp_path):
    run_with("""
        def in_child(function, *values):
            pid = os.fork()
            if pid == 0:
                function(*values)
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0

        def record_itself():
            with pyreel.record("child.pyreel", disturb=100):
                until_seen("child.pyreel", other)

        recording = pyreel.record("a.pyreel", disturb=100)
        with recording:
            in_child(record_itself)
            in_child(recording.stop)  # does nothing: the recording is the parent's
            until_seen("a.pyreel", work)
        """)
    assert shows(tmp_path / "a.pyreel", "work") and not shows(tmp_path / "a.pyreel", "other")
    assert shows(tmp_path / "child.pyreel", "other")
    whole(tmp_path / "a.pyreel"), whole(tmp_path / "child.pyreel")


def test_child_processes_are_recorded_on_request(run_with, tmp_path):
    run_with("""
        with pyreel.record("a.pyreel", subprocesses=True, disturb=100):
            pid = os.fork()
            if pid == 0:
                until_seen("a.pyreel", other)
                os._exit(0)
            os.waitpid(pid, 0)
        """)
    assert shows(tmp_path / "a.pyreel", "other") and len(whole(tmp_path / "a.pyreel")["processes"]) == 2


def test_a_program_that_is_killed_leaves_a_whole_file(python, tmp_path):
    (tmp_path / "program.py").write_text(PRELUDE + textwrap.dedent("""
        recorder = pyreel.start("a.pyreel", disturb=100)._recorder
        until_seen("a.pyreel", work)
        print("ready", os.getpid(), recorder.pid, flush=True)
        sys.stdin.read()
        """))
    target = subprocess.Popen([*command_of(python), "program.py"], cwd=tmp_path, env=environment_of(python), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        _, pid, recorder = target.stdout.readline().split()
        os.kill(int(pid), signal.SIGKILL)
        wait_until(lambda: process_state(int(recorder)) in ("", "Z"), "the recorder's end")
    finally:
        target.kill()
        target.communicate()
    assert whole(tmp_path / "a.pyreel")["ended"] == "the target ended"
    assert sorted(os.listdir(tmp_path)) == ["a.pyreel", "program.py"]


def test_the_module_is_the_program(run_with):
    said = run_with("""
        with pyreel.record("a.pyreel"):
            work()
        subprocess.run([sys.executable, "-m", "pyreel", "info", "a.pyreel"], check=True) if "PYTHONHOME" not in os.environ else print("complete")
        """)
    assert "complete" in said


# ---- labels ----

# Reads the memory as pyreel-record does: by its name in /proc/PID/maps.
READER = """
import struct

def memory():
    with open("/proc/self/maps") as file:
        maps = file.readlines()
    for line in maps:
        if "/memfd:pyreel-labels-1 " in line:
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            with open("/proc/self/mem", "rb") as file:
                file.seek(begin)
                return file.read(end - begin)

def labels():
    told = memory()
    magic, rows, texts, used = struct.unpack_from("<8sQQQ", told)
    assert magic == b"PYRLABL1" and len(told) >= 64 + 16 * rows + 256 * texts and used <= rows
    found = {}
    for row in range(used):
        tid, serial = struct.unpack_from("<QQ", told, 64 + 16 * row)
        if serial:
            assert tid not in found
            number, size = struct.unpack_from("<QQ", told, place := 64 + 16 * rows + serial % texts * 256)
            found[tid] = told[place + 16:place + 16 + size].decode() if number == serial else serial
    return found

def own():
    return labels().get(threading.get_native_id())
"""


@pytest.mark.short
@pytest.mark.pythons("each build")
def test_labels_in_memory(run_with):
    run_with(READER + textwrap.dedent("""
        pyreel.label("one")
        assert own() == "one"
        with pyreel.label("two"):
            assert own() == "two"
            with pyreel.label(None):
                assert own() is None
            assert own() == "two"
        assert own() == "one"
        pyreel.label("ä" * 200)
        assert own() == "ä" * 120
        pyreel.label("x" + "ä" * 200)
        assert own() == "x" + "ä" * 119
        pyreel.label("")
        assert own() == ""
        for number in range(10000):  # more than the memory has room for
            pyreel.label(f"request {number}")
            assert number % 100 or own() == f"request {number}"
        pyreel.label("request 9999")
        assert own() == "request 9999"
        pyreel.label("request 1")
        assert own() == "request 1"
        for wrong in (17, b"x"):
            try:
                pyreel.label(wrong)
                raise AssertionError
            except TypeError as error:
                assert "a label is a str" in str(error)
        pyreel.label(None)
        assert labels() == {}
        """), PYREEL_LABELS="1")


@pytest.mark.pythons("each build")
def test_labels_of_threads_and_children(run_with):
    run_with(READER + textwrap.dedent("""
        def named(name, barrier, seen):
            pyreel.label(name)
            barrier.wait()
            seen[name] = own()
            barrier.wait()

        pyreel.label("main")
        for attempt in range(3):
            seen, barrier, names = {}, threading.Barrier(9), [f"thread {attempt} {number}" for number in range(8)]
            threads = [threading.Thread(target=named, args=(name, barrier, seen)) for name in names]
            for thread in threads:
                thread.start()
            barrier.wait()
            assert sorted(labels().values()) == sorted([*names, "main"])
            if attempt == 2:
                pid = os.fork()
                if pid == 0:
                    good = labels() == {os.getpid(): "main"}
                    pyreel.label("child")
                    other = threading.Thread(target=pyreel.label, args=("thread of child",))
                    other.start()
                    other.join()
                    os._exit(0 if good and labels() == {os.getpid(): "child"} else 1)
                assert os.waitpid(pid, 0)[1] == 0
            barrier.wait()
            for thread in threads:
                thread.join()
            assert seen == dict(zip(names, names)) and labels() == {os.getpid(): "main"}
        assert struct.unpack_from("<Q", memory(), 24)[0] <= 9 + 8  # rows of ended threads were taken again
        """), PYREEL_LABELS="1")


def test_more_threads_than_rows_do_without(run_with):
    run_with(READER + textwrap.dedent("""
        from pyreel import _labels
        free = [_labels._take_row() for _ in range(_labels.ROWS)]  # as so many threads
        def beyond():
            with pyreel.label("beyond"):
                assert own() is None
            seen.append(1)
        seen = []
        threading.Thread(target=beyond).start()
        while not seen:
            time.sleep(0.001)
        """), PYREEL_LABELS="1")


def test_a_task_is_named_itself(run_with):
    run_with(READER + textwrap.dedent("""
        async def job():
            task = asyncio.current_task()
            task.set_name("first")
            with pyreel.label("inner"):
                assert task.get_name() == "inner"
                pyreel.label("more")
            assert task.get_name() == "first"
            pyreel.label("later")
            pyreel.label(None)
            assert task.get_name() == "first" and own() == "thread"

        pyreel.label("thread")
        asyncio.run(job())
        """), PYREEL_LABELS="1")


@pytest.mark.short
def test_labels_cost_nothing_where_nobody_reads(run_with):
    run_with(READER + textwrap.dedent("""
        with pyreel.label("nobody"):
            assert memory() is None
        with pyreel.record("a.pyreel"):
            pyreel.label("this package")
            assert own() == "this package"
            pid = os.fork()
            if pid == 0:
                with pyreel.label("nobody records the child"):
                    os._exit(0 if own() == "this package" else 1)
            assert os.waitpid(pid, 0)[1] == 0
        pyreel.label("nobody again")
        assert own() == "this package"
        """))


@pytest.mark.short
@pytest.mark.pythons("each build")
def test_labels_are_in_the_recording(run_with, tmp_path):
    """Of threads, each its own, and of a child."""
    run_with("""
        def labelled(text, function):
            with pyreel.label(text):
                until_seen("a.pyreel", function)

        with pyreel.record("a.pyreel", disturb=100, subprocesses=True):
            threads = [threading.Thread(target=labelled, args=("of work", work)), threading.Thread(target=labelled, args=("of other", other))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            until_seen("a.pyreel", unlabelled)
            pid = os.fork()
            if pid == 0:
                labelled("of a child", in_child)
                os._exit(0)
            os.waitpid(pid, 0)
        """)
    lines = collapsed(tmp_path / "a.pyreel").splitlines()
    for function, label in (("work", "of work"), ("other", "of other"), ("in_child", "of a child"), ("unlabelled", None)):
        mine = [line for line in lines if f";{function} (" in line]
        assert mine and {match[1] if (match := re.search("<task ([^>]*)>;", line)) else None for line in mine} == {label}, mine


def test_labels_below_a_recorder(run_with):
    run_with(READER + textwrap.dedent("""
        pyreel.label("below")
        assert own() == "below"
        """), prefix=(RECORD, "-q", "-o", "outer.pyreel", "--"))


def test_spans_end_in_any_order_on_any_thread_or_never(run_with):
    """The label is that of the newest span that is open, and a span that never ends keeps nothing alive."""
    need_otlp()
    run_with("""
        import asyncio, gc, itertools, threading, weakref
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        import pyreel._labels as labels
        import pyreel.otel

        processor = pyreel.otel.SpanProcessor()
        trace.set_tracer_provider(TracerProvider())
        trace.get_tracer_provider().add_span_processor(processor)
        tracer = trace.get_tracer("test")

        def own():
            row = labels._here.row
            serial = labels._words[row.place] if row else 0
            return labels._texts[serial % labels.TEXTS].split()[0] if serial else None

        def in_thread(function):
            thread = threading.Thread(target=function)
            thread.start()
            thread.join()

        for order in itertools.permutations(range(4)):
            spans = {number: tracer.start_span(str(number)) for number in range(4)}
            for number in order:
                spans.pop(number).end()
                assert own() == (str(max(spans)) if spans else None), (order, number, own())

        async def in_any_order():
            task = asyncio.current_task()
            name = task.get_name()
            first, second = tracer.start_span("first"), tracer.start_span("second")
            first.end()
            assert task.get_name().startswith("second 00-")
            in_thread(second.end)
            assert task.get_name() == name

        asyncio.run(in_any_order())

        span = tracer.start_span("ends elsewhere")
        in_thread(span.end)
        assert own() is None
        tracer.start_span(None).end()  # a name that is none harms the tracer no more than without this processor

        async def leaves_one_open():
            async def leaves():
                tracer.start_span("never ends")
            task = asyncio.create_task(leaves())
            await task
            return weakref.ref(task)

        task = asyncio.run(leaves_one_open())
        gc.collect()
        assert task() is None
        for _ in range(labels.ROWS + 10):
            in_thread(lambda: tracer.start_span("never ends"))

        def last():
            with tracer.start_as_current_span("last"):
                assert own() == "last"

        in_thread(last)
        for _ in range(2 * labels.TEXTS):
            tracer.start_span("never ends")
        assert len(processor._open) == len(processor._labels) == labels.TEXTS
        """, PYREEL_LABELS="1", PYTHONPATH=os.pathsep.join([PACKAGE, otlp_folder()]))


@pytest.mark.pythons("oldest and newest")
def test_spans_of_opentelemetry_are_those_of_samples(run_with, tmp_path):
    """In a thread, nested and one after the other, and in tasks of asyncio that run in turn."""
    need_otlp()
    printed = run_with("""
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        import pyreel.otel

        trace.set_tracer_provider(TracerProvider())
        trace.get_tracer_provider().add_span_processor(pyreel.otel.SpanProcessor())
        tracer = trace.get_tracer("test")

        def spend(seconds):
            end = time.thread_time() + seconds
            while time.thread_time() < end:
                sum(range(1000))

        def outer(): spend(0.02)
        def inner(): spend(0.02)
        def first(): spend(0.01)
        def second(): spend(0.02)

        def say(function):
            context = trace.get_current_span().get_span_context()
            print(function.__name__, f"{context.trace_id:032x}", f"{context.span_id:016x}")

        async def task(function):
            with tracer.start_as_current_span(function.__name__):
                say(function)
                for _ in range(30):
                    function()
                    await asyncio.sleep(0)

        async def tasks():
            await asyncio.gather(task(first), task(second))

        with pyreel.record("a.pyreel", rate=500, async_="running", options=["--disturb", "5%", "--compression", "none"]):
            with tracer.start_as_current_span("GET /items"):
                say(outer)
                for _ in range(10):
                    outer()
                    with tracer.start_as_current_span("query"):
                        say(inner)
                        inner()
            unlabelled()
            asyncio.run(tasks())
    """, PYTHONPATH=os.pathsep.join([PACKAGE, otlp_folder()]))
    spans = collections.defaultdict(set)
    for function, *span in map(str.split, printed.splitlines()):
        spans[function].add(tuple(span))
    seen = collections.defaultdict(collections.Counter)
    for (stack, span), samples in plain_stream.Recording(tmp_path / "a.pyreel").spans.items():
        for frame in stack:
            seen[frame.function][span] += samples
    for function in ("outer", "inner", "first", "second"):
        right = sum(samples for span, samples in seen[function].items() if span in spans[function])
        assert seen[function].total() > 10 and right >= 0.95 * seen[function].total() - 1, (function, seen[function], spans)
    assert len(spans["inner"]) == 10 and len(set(seen["inner"]) & spans["inner"]) > 5, seen["inner"]
    assert set(seen["unlabelled"]) == {None}, seen["unlabelled"]
    names = {task["name"] for task in whole(tmp_path / "a.pyreel")["tasks"]} if "tasks" in whole(tmp_path / "a.pyreel") else None
    assert names is None or names >= {"GET /items", "query", "first", "second"}, names
