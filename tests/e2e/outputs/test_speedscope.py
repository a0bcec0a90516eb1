# SPDX-License-Identifier: MIT
"""pyreel-speedscope: what the file says is what was recorded, speedscope's importer reads it, and its page shows it."""

import functools
import http.server
import os
import pathlib
import threading

import pytest

import made_stream
import speedscope_check
from browser import Browser
from environment import BUILD, CACHE, PROJECT, need_viewer
from recording import convert, info, succeed
from viewers import imported

STREAMS = pathlib.Path(PROJECT) / "tests" / "streams"
MODES = STREAMS / "exceptions-3.13" / "recording.pyreel"
THREADS = STREAMS / "threads-3.11" / "recording.pyreel"
TICK = 1e-6  # the profile's unit: each thread's time is rounded once


def made(path, folder, *options):
    """(path, the file) that pyreel-speedscope makes, which keeps all rules."""
    out = folder / "out.speedscope.json"
    ended = convert("speedscope", path, "--force", "-o", out, *options)
    assert (ended.code, ended.messages) == (0, "")
    file = speedscope_check.load(out)
    assert speedscope_check.problems(file) == []
    return out, file


def wall(path, *options):
    """{stack: seconds} of all threads, as pyreel-collapsed has them."""
    lines = [line.rpartition(" ") for line in succeed(os.path.join(BUILD, "convert", "pyreel-collapsed"), "--weight", "wall", "--roots",
                                                      "none", *options, path).text.splitlines()]
    return {tuple(stack.split(";")): int(us) / 1e6 for stack, _, us in lines}


def all_times(file):
    """{stack: seconds} of all threads, without the leaves that say that a thread waits."""
    found = {}
    for profile in file["profiles"]:
        for stack, seconds in speedscope_check.times(file, profile).items():
            stack = stack[:-1] if stack[-1] in ("[idle]", "[waiting for GIL]", "[waiting for native threads]") else stack
            found[stack] = found.get(stack, 0) + seconds
    return found


def assert_same_times(found, truth, pieces):
    """Each piece is rounded to a unit at both ends."""
    assert found.keys() <= truth.keys()
    for stack, seconds in truth.items():
        assert found.get(stack, 0) == pytest.approx(seconds, abs=TICK * (pieces + 1)), stack


# ---- what the file says ----

@pytest.mark.short
@pytest.mark.parametrize("case", ["threads-3.11", "names-3.11", "measures-3.15", "opcodes-3.15"])
def test_each_thread_has_its_life(case, tmp_path):
    path = STREAMS / case / "recording.pyreel"
    _, file = made(path, tmp_path)
    known = info(path)
    lives = {f"{thread['name']} ({thread['tid']})": thread["wall_s"] for thread in known["threads"]}
    assert {profile["name"] for profile in file["profiles"]} in (set(lives), {name.rpartition(" (")[0] for name in lives})
    shown = sorted(speedscope_check.shown_seconds(file, profile) for profile in file["profiles"])
    assert shown == pytest.approx(sorted(lives.values()), abs=1e-4)
    for profile in file["profiles"]:
        assert (profile["startValue"], profile["unit"]) == (0, "microseconds")
        assert profile["endValue"] <= (known["duration_s"] + 1 / known["rate_hz"]) * 1e6
    assert file["exporter"].startswith("pyreel ")


@pytest.mark.short
def test_what_works_is_shown_first(tmp_path):
    path = tmp_path / "statuses.pyreel"
    succeed(os.path.join(BUILD, "tests", "make-statuses"), path)  # "worker" waits for the lock all the time
    _, file = made(path, tmp_path)
    assert file["profiles"][file["activeProfileIndex"]]["name"].startswith("MainThread")
    waits = {stack: round(seconds, 6) for profile in file["profiles"] for stack, seconds in speedscope_check.times(file, profile).items()}
    assert waits == {("<module> (a.py:3)", "work (a.py:6)"): 0.09, ("<module> (a.py:3)", "wait (a.py:10)", "[idle]"): 0.01,
                     ("wait (a.py:10)", "[waiting for GIL]"): 0.1}


@pytest.mark.short
@pytest.mark.parametrize("options", [[], ["--functions"], ["--full-paths"], ["--mode", "cpu"], ["--fold", "stdlib", "--no-gc"],
                                     ["--hide", "^spin"], ["--focus", "two|run"], ["--from", "20%", "--to", "60%"],
                                     ["--threads", "MainThread"], ["--no-idle"]], ids=str)
def test_each_stack_has_its_time(tmp_path, options):
    _, file = made(THREADS, tmp_path, *options)
    pieces = sum(len(speedscope_check.pieces(profile)) for profile in file["profiles"])
    truth = wall(THREADS, *options)
    found = all_times(file)
    starts = 0.2 * info(THREADS)["duration_s"] if "--from" in options else 0
    assert file["profiles"][0]["startValue"] / 1e6 == pytest.approx(starts, abs=0.02)
    if "--functions" in options:  # the line of the definition is not in collapsed stacks
        found = functions_of(found)
    assert_same_times(found, truth, pieces)
    assert sum(found.values()) == pytest.approx(sum(truth.values()), abs=TICK * pieces)


def functions_of(times):
    found = {}
    for stack, seconds in times.items():
        bare = tuple(frame.rpartition(":")[0] + ")" if ":" in frame.rpartition("(")[2] else frame for frame in stack)
        found[bare] = found.get(bare, 0) + seconds
    return found


@pytest.mark.short
def test_a_mode_leaves_gaps(tmp_path):
    """Where the samples of a thread are left out, the profile shows nothing; times do not move."""
    _, whole = made(MODES, tmp_path)
    _, part = made(MODES, tmp_path, "--mode", "exception")
    for profile in part["profiles"]:
        (other,) = [other for other in whole["profiles"] if other["name"] == profile["name"]]
        shown = [piece for piece in speedscope_check.pieces(profile) if piece[2]]
        assert 0 < sum(end - begin for begin, end, _ in shown) < other["endValue"]
        within = {begin: texts(whole, stack) for begin, _, stack in speedscope_check.pieces(other)}
        ends = sorted(within)
        for begin, _, stack in shown:
            at = max(moment for moment in ends if moment <= begin)
            assert within[at] == texts(part, stack)


def texts(file, stack):
    return [speedscope_check.frame_text(file["shared"]["frames"][frame]) for frame in stack]


def test_deep_stacks_are_events(tmp_path):
    """The deeper the stacks and the smaller the changes, the more of the file is saved by saying only what changes."""
    path, below = tmp_path / "deep.pyreel", [("down", "/srv/app.py", 3)] * 301
    rows = [[*below, (f"leaf_{number % 7}", "/srv/app.py", 9)] for number in range(50)]
    made_stream.write(path, made_stream.Samples(rows), pid=7, start_unix_ns=1_700_000_000_000_000_000)
    out, file = made(path, tmp_path)
    assert [profile["type"] for profile in file["profiles"]] == ["evented"]
    assert max(len(stack) for _, _, stack in speedscope_check.pieces(file["profiles"][0])) > 300
    (shown,) = imported(out)["profiles"]
    assert shown["total"] == file["profiles"][0]["endValue"]
    times = speedscope_check.times(file, file["profiles"][0])
    assert sum(frame["self"] for frame in shown["frames"]) == pytest.approx(sum(times.values()) * 1e6, abs=0.5)


@pytest.mark.short
def test_tasks_have_profiles(tmp_path):
    path = tmp_path / "tasks.pyreel"
    succeed(os.path.join(BUILD, "tests", "make-tasks"), path, "all")
    _, file = made(path, tmp_path)
    assert [profile["name"] for profile in file["profiles"]] == [
        "MainThread, task fetch 1", "MainThread, task Task-2", "unknown thread, task Task-3"]
    assert {round(speedscope_check.shown_seconds(file, profile), 3) for profile in file["profiles"]} == {0.01}
    _, file = made(path, tmp_path, "--opcodes")


@pytest.mark.short
def test_processes_are_named(tmp_path):
    one, two = STREAMS / "threads-3.11" / "recording.pyreel", STREAMS / "plain-3.11" / "recording.pyreel"
    out = tmp_path / "two.json.gz"
    assert convert("speedscope", one, two, "-o", out).code == 0
    file = speedscope_check.load(out)
    assert speedscope_check.problems(file) == []
    assert out.read_bytes()[:2] == b"\x1f\x8b"
    assert sum(speedscope_check.shown_seconds(file, profile) for profile in file["profiles"]) == pytest.approx(
        sum(thread["wall_s"] for path in (one, two) for thread in info(path)["threads"]), abs=1e-4)
    assert all(profile["name"].startswith(("doing.py ", "small.py ")) and ": " in profile["name"] for profile in file["profiles"])


@pytest.mark.short
def test_nothing_left(tmp_path):
    ended = convert("speedscope", MODES, "--focus", "no such function", cwd=tmp_path, *["-o", tmp_path / "out"])
    assert ended.code == 1 and "matches --focus no such function" in ended.messages
    assert os.listdir(tmp_path) == []


# ---- speedscope ----

@pytest.mark.parametrize("options", [[], ["--functions"]], ids=str)
def test_the_importer_finds_the_times(tmp_path, options):
    out, file = made(STREAMS / "names-3.11" / "recording.pyreel", tmp_path, *options)
    shown = imported(out)
    assert len(shown["profiles"]) == len(file["profiles"])
    for profile, theirs in zip(file["profiles"], shown["profiles"]):
        assert (theirs["name"], theirs["unit"]) == (profile["name"], "microseconds")
        assert theirs["total"] == profile["endValue"] - profile["startValue"]
        truth = speedscope_check.times(file, profile)
        frames = {speedscope_check.frame_text({key: value for key, value in frame.items() if value is not None}): frame
                  for frame in theirs["frames"]}
        for text, frame in frames.items():
            assert frame["self"] == pytest.approx(sum(s for stack, s in truth.items() if stack[-1] == text) * 1e6, abs=0.5)
            assert frame["total"] == pytest.approx(sum(s for stack, s in truth.items() if text in stack) * 1e6, abs=0.5)


def deep(path, depth):
    """A recording with a stack so deep, and with one of three frames."""
    stacks = [[(f"f{i}", "a.py", i + 1) for i in range(depth)], [("f0", "a.py", 1), ("other", "a.py", 7), ("leaf", "a.py", 9)]]
    made_stream.write(path, made_stream.Samples(stacks * 20), pid=7, start_unix_ns=1_700_000_000_000_000_000)
    return path


def profiled(path, folder, *options):
    out = folder / "deep.speedscope.json"
    ended = convert("speedscope", path, "--force", "-o", out, *options)
    assert ended.code == 0, ended
    return ended.messages, speedscope_check.load(out), out


@pytest.mark.parametrize("depth", [2000, 2001, 4000])
def test_stacks_that_the_page_may_not_load_are_told(tmp_path, depth):
    path = deep(tmp_path / "deep.pyreel", depth)
    told, file, _ = profiled(path, tmp_path)
    assert (f"a stack has {depth} frames" in told and "--max-depth 2000" in told) == (depth > 2000)
    assert len(file["shared"]["frames"]) == depth + 2
    assert profiled(path, tmp_path, "--quiet")[0] == ""


@pytest.mark.parametrize("most", [3, 4, 2000])
def test_deep_stacks_keep_their_ends(tmp_path, most):
    path = deep(tmp_path / "deep.pyreel", 4000)
    told, file, out = profiled(path, tmp_path, "--max-depth", most)
    assert told == "" and speedscope_check.problems(file) == []
    leaf, root = most // 2, most - 1 - most // 2
    wanted = [f"f{i}" for i in range(root)] + ["<truncated>"] + [f"f{i}" for i in range(4000 - leaf, 4000)]
    names = [frame["name"] for frame in file["shared"]["frames"]]
    assert sorted(names) == sorted({*wanted, "f0", "other", "leaf"})
    (shown,) = imported(out)["profiles"]
    assert {frame["name"] for frame in shown["frames"]} == set(names)


class Site:
    """speedscope's own page on the loopback, and profiles at /profiles/."""

    def __init__(self, profiles):
        need_viewer("speedscope-import")
        page = os.path.join(CACHE, "viewers", "node_modules", "speedscope", "dist", "release")
        asked = self.asked = []

        class Handler(http.server.SimpleHTTPRequestHandler):
            def translate_path(self, path):
                asked.append(path)
                return os.path.join(profiles, os.path.basename(path)) if path.startswith("/profiles/") else super().translate_path(path)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=page))
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def complaints(browser):
    """What the page wrote on its console but plain words, and what it threw."""
    said = [event["params"] for event in browser.events if event.get("method") in (
        "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")]
    return [words for words in said if words.get("type") not in ("log", "timeEnd", "time")
            and words.get("entry", {}).get("source") != "rendering"]  # which WebGL without a graphics card writes


@pytest.fixture
def page(tmp_path):
    """page(file, view): speedscope's page with the profile, once the page shows it; its browser."""
    opened = []

    def show(file, view):
        site = Site(tmp_path)
        opened.append(site)
        browser = Browser("--use-angle=swiftshader", "--enable-unsafe-swiftshader")
        opened.append(browser)
        shown = browser.open("about:blank")
        for domain in ("Runtime", "Log", "Page"):
            browser.ask(f"{domain}.enable", shown.session)
        browser.ask("Page.navigate", shown.session, url=f"{site.url}#profileURL=/profiles/{file}&view={view}")
        shown.wait_for("document.body.innerText.includes('Sandwich')")
        return shown, browser

    yield show
    for thing in reversed(opened):
        thing.close()


def test_the_page_shows_it(tmp_path, page):
    assert convert("speedscope", THREADS, "--functions", "-o", tmp_path / "threads.json.gz").code == 0
    shown, browser = page("threads.json.gz", "sandwich")
    assert shown.value("document.title").startswith("doing.py")
    text = shown.value("document.body.innerText")
    assert "MainThread (" in text and "(1/2)" in text
    rows = text.split("Symbol Name")[1]
    for function in ("spin", "two", "[idle]", "<module>"):
        assert f"\t{function}\n" in rows + "\n", text
    shown.value("window.dispatchEvent(new KeyboardEvent('keypress', {key: 'n'}))")
    shown.wait_for("document.body.innerText.includes('(2/2)')")
    assert "Thread.run" in shown.value("document.body.innerText")
    shown.value("window.dispatchEvent(new KeyboardEvent('keypress', {key: '1'}))")
    shown.wait_for("!document.body.innerText.includes('Symbol Name')")
    assert complaints(browser) == []
