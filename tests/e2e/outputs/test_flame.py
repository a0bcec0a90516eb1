# SPDX-License-Identifier: MIT
"""pyreel-flame: the data of its page against what the other programs say of the same recording. How the page behaves is
for test_flame_page.py."""
import collections
import contextlib
import os
import pathlib
import re
import shutil
import stat
import subprocess

import pytest

import flame_output
import known_program
from browser import Browser
from plain_stream import started_later
from environment import CONVERTERS, PROJECT
from recording import Recorder, attach, collapsed, convert, counting, cpu_s_of, info, record_told, succeed

pytestmark = pytest.mark.pythons("newest")

STREAMS = pathlib.Path(PROJECT) / "tests" / "streams"
RARE = STREAMS / "async-running-3.14" / "recording.pyreel"  # many stacks with a sample or two
# Two programs that call the same function: what is gone, and what is new.
SIDES = [STREAMS / case / "recording.pyreel" for case in ("gc-3.15", "native-3.12")]


SUMS = {"wall": "wall_s", "cpu": "cpu_s", "samples": "samples"}


@pytest.fixture
def page(tmp_path):
    """page(option..., paths=...): the data of recordings, and what the program said."""
    def make(*options, paths=()):
        out = tmp_path / f"{len(list(tmp_path.iterdir()))}.html"
        ended = succeed(CONVERTERS["flame"], *options, "-o", out, *paths)
        return flame_output.load(out), ended.messages
    return make


@pytest.fixture
def made(recorded, page):
    """made(option...): the same, of programs/known.py."""
    return lambda *options, paths=(recorded.path,): page(*options, paths=paths)


def lines_of(path, *options):
    """{stack: number} of collapsed stacks."""
    lines = (line.rpartition(" ") for line in succeed(CONVERTERS["collapsed"], *counting(options), path).text.splitlines())
    return collections.Counter({tuple(stack.split(";")): int(number) for stack, _, number in lines})


def in_us(counts):
    return collections.Counter({stack: ns for stack, count in counts.items() if (ns := (count + 500) // 1000)})


@pytest.mark.short
def test_the_tree_is_that_of_collapsed_stacks(recorded, made):
    data, messages = made()
    assert messages == "" and data["pruned"] is None and data["title"] == "known.py"
    assert flame_output.stacks(data, "samples", waits=False) == lines_of(recorded.path)
    for weight in ("wall", "cpu", "gil"):
        assert in_us(flame_output.stacks(data, weight, waits=False)) == lines_of(recorded.path, "--weight", weight), weight


@pytest.mark.short
def test_sums_are_those_of_info(recorded, made):
    data, _ = made()
    threads = recorded.info["threads"]
    for weight, key in SUMS.items():
        whole = flame_output.sums(data)[weight] / (1 if weight == "samples" else 1e9)
        of_threads = sum(thread[key] for thread in threads)
        nobodys = recorded.info["cpu_not_sampled_s"] if weight == "cpu" else 0
        off = 1e-6 * len(threads)
        assert of_threads - off <= whole <= of_threads + nobodys + off, weight
    assert sum(group["threads"] for group in data["groups"]) == sum(thread["samples"] > 0 for thread in threads)
    assert {group["process"] for group in data["groups"]} == {"known.py"}
    assert {group["pid"] for group in data["groups"]} == {recorded.info["processes"][0]["pid"]}


@pytest.mark.short
def test_a_wait_is_a_leaf(recorded, made):
    """As pyreel-gecko's: a thread that did not run is [idle], one that wants the lock is [waiting for GIL]."""
    data, _ = made()
    counts = flame_output.stacks(data, "samples")
    idle, waiting = (sum(n for stack, n in counts.items() if stack[-1] == leaf) for leaf in flame_output.WAITS[:2])
    off = sum(lines_of(recorded.path).values()) - sum(lines_of(recorded.path, "--no-idle").values())
    assert 0 < idle <= off <= idle + waiting
    assert flame_output.kinds(data)["[idle]"] == "idle"


@pytest.mark.short
@pytest.mark.parametrize("case, knows", [("threads-3.11", False), ("measures-3.15", True)])
def test_the_unknown_says_why(page, tmp_path, case, knows):
    path = STREAMS / case / "recording.pyreel"
    data, _ = page(paths=(path,))
    weights = {weight["name"]: weight for weight in data["weights"]}
    assert weights["gil_wait"]["known"] is knows and all(weights[name]["known"] for name in ("wall", "cpu", "gil", "samples"))
    assert knows or "CPython before 3.15" in weights["gil_wait"]["reason"]
    ended = convert("flame", path, "--weight", "gil_wait", "-o", tmp_path / "wait.html")
    assert ended.code == (0 if knows else 1), ended
    assert knows or ("--weight gil_wait cannot be applied to" in ended.messages and not (tmp_path / "wait.html").exists())


@pytest.mark.short
def test_a_weight_and_a_title_can_be_chosen(made):
    data, _ = made("--weight", "wall", "--title", "nightly </script><b>&amp; \u202e")
    assert (data["first"], data["title"]) == ("wall", "nightly </script><b>&amp; \u202e")
    assert "first" not in made()[0]


@pytest.mark.short
def test_kinds_say_whose_code_it_is(page):
    kinds = flame_output.kinds(page(paths=(RARE,))[0])
    assert {kinds[name] for name in ("child_10", "child_11")} == {"program"}
    assert (kinds["EpollSelector.select"], kinds["_find_and_load"]) == ("library", "import")


@pytest.mark.short
def test_sources_are_those_that_were_recorded(recorded, made, tmp_path):
    assert made()[0]["sources"] == []
    data, messages = made("--sources")
    assert flame_output.sources(data) == {recorded.program: open(recorded.program, encoding="utf-8").read()} and messages == ""
    line = known_program.loop_of("plain")
    assert any(text == f"plain ({os.path.basename(recorded.program)}:{line})" for text in flame_output.frame_texts(data))
    folder, name = os.path.split(recorded.program)
    data, messages = made("--sources", "--path-map", f"{folder}=/nowhere")
    assert flame_output.sources(data) == {recorded.program: None}
    assert data["sources"][0]["reason"].startswith("not found")
    assert "warning: 1 source file left out (not found: --path-map FROM=TO says where they are): /" in messages
    shutil.copy(recorded.program, tmp_path / name)  # with the time of now
    data, messages = made("--sources", "--path-map", f"{folder}={tmp_path}")
    assert data["sources"][0]["reason"].startswith("not what was recorded")


def test_all_sources(recorded, made):
    texts = flame_output.sources(made("--sources=all")[0])
    found = any(path.endswith("/threading.py") and "class Thread" in text for path, text in texts.items() if text)
    assert found == (not recorded.python.root)  # the files of a Python in a root folder are elsewhere


@pytest.mark.short
def test_rare_stacks_are_pruned_and_sums_stay(page):
    """Of a recording that stays the same: how many stacks are rare, chance says."""
    whole, _ = page("--min-share", "0", paths=(RARE,))
    data, messages = page("--min-share", "3%", "-v", paths=(RARE,))
    assert whole["pruned"] is None and data["pruned"]["share"] == 0.03
    gone = data["pruned"]["nodes"]
    rests = sum(frame == len(data["frames"]["line"]) - 1 for frame in data["nodes"]["frame"])
    assert len(data["nodes"]["frame"]) + gone == len(whole["nodes"]["frame"]) + rests and gone > 50
    assert flame_output.sums(data) == flame_output.sums(whole)
    assert [group["sums"] for group in data["groups"]] == [group["sums"] for group in whole["groups"]]
    kept = set(flame_output.stacks(data, "wall")) - set(flame_output.stacks(whole, "wall"))
    assert kept and all(stack[-1] == "<rest>" for stack in kept)
    assert f"{gone} others with less than 3 % of the whole are pruned" in messages


@pytest.mark.short
def test_filters_leave_out_what_they_leave_out_of_collapsed_stacks(recorded, made):
    for options in (["--hide", "^(inner|grind)"], ["--focus", "descend"], ["--fold", "import,stdlib"], ["--threads", "MainThread"],
                    ["--from", "25%", "--to", "75%"], ["--mode", "gil"], ["--no-gc", "--no-idle"]):
        data, _ = made(*options)
        assert flame_output.stacks(data, "samples", waits=False) == lines_of(recorded.path, *options), options
        only = dict(data["facts"]).get("Only", "")
        assert only == " ".join(options) or options[0] in ("--hide", "--fold", "--no-gc"), options
    ended = convert("flame", recorded.path, "--focus", "nothing has this name", "-o", "/dev/null")
    assert ended.code == 1 and "no sample of" in ended.messages, ended


@pytest.mark.short
def test_numbers_and_threads(recorded, made):
    def with_ids(group):
        return (f"{group['thread']} ({group['tid']})",)

    data, _ = made("--ids")
    assert flame_output.stacks(data, "samples", waits=False, groups=with_ids) == lines_of(recorded.path, "--ids")
    data, _ = made("--no-threads")
    assert len(data["groups"]) == 1
    assert flame_output.stacks(data, "samples", waits=False) == lines_of(recorded.path, "--no-threads")
    data, _ = made("--full-paths")
    assert recorded.program in {data["strings"][file] for file in data["functions"]["file"]}


@pytest.mark.short
def test_facts_are_those_of_info(recorded, made):
    facts = dict(made()[0]["facts"])
    assert facts["Command"] == recorded.info["command"]
    assert facts["Python"].startswith(f"CPython {recorded.python.full_version}")
    assert facts["Recorded"].startswith(recorded.info["started"])
    assert facts["Samples"].startswith(f"{recorded.info['samples']} of ")
    assert facts["Exact"].startswith(f"{int(recorded.info['exact_percent'] * 10) / 10:.1f} % of samples")
    assert "Incomplete" not in facts


def test_a_recording_that_is_cut_off_says_so(recorded, tmp_path):
    data = recorded.path.read_bytes()
    (tmp_path / "cut.pyreel").write_bytes(data[:len(data) * 2 // 3])
    ended = succeed(CONVERTERS["flame"], tmp_path / "cut.pyreel")
    facts = dict(flame_output.load(tmp_path / "cut.pyreel.html")["facts"])
    assert "warning" in ended.messages and "Incomplete" in facts


def test_recordings_are_merged(recorded, made, program, tmp_path):
    copies = [tmp_path / f"copy-{number}.pyreel" for number in range(3)]
    whole = tmp_path / "plain.pyreel"
    assert record_told(whole, "--compression", "none", "--", *recorded.python.command, program("spin"), "told", prefix=recorded.python.prefix).code == 0
    for number, path in enumerate(copies):
        path.write_bytes(started_later(whole.read_bytes(), number + 1))
    one, three = made(paths=(whole,))[0], made(paths=copies)[0]
    of_one, of_three = flame_output.sums(one), flame_output.sums(three)
    samples = of_one.pop("samples")
    assert of_three.pop("samples") == 3 * samples
    # Each begins at a whole unit of time: the time of a sample with the lock is up to a unit, 0.25 ms, longer or shorter.
    assert of_three == {name: pytest.approx(3 * value, abs=3 * samples * 250_000 if "gil" in name else 3e6)
                        for name, value in of_one.items()}
    assert three["title"].endswith("and 2 more") and dict(three["facts"])["Recordings"] == "3"


def test_the_title_counts_the_processes_that_are_shown(python, program, page, start_recorder, tmp_path):
    path = tmp_path / "fork.pyreel"
    recorder = start_recorder("-f", "-o", path, "--", *python.command, program("forks"), "told", prefix=python.prefix)
    recorder.wait_for_functions(path, "of_parent", "of_child")
    assert recorder.wait().code == 0
    parent, child = (page("--threads", process["pid"], paths=(path,))[0]["title"] for process in info(path)["processes"])
    assert parent == child and page(paths=(path,))[0]["title"] == f"{parent} and 1 more"


def test_tasks_stand_below_the_thread_of_their_loop(python, program, start, tmp_path):
    path = tmp_path / "tasks.pyreel"
    attach(start(*python.prefix, *python.command, program("async_named")), path, "--async", "all", prefix=python.prefix)
    data = flame_output.load(made_of(path))
    tasks = {group["task"]: group["thread"] for group in data["groups"] if group["task"]}
    assert tasks and set(tasks.values()) == {"MainThread"}
    assert flame_output.stacks(data, "samples", waits=False) == lines_of(path)


def made_of(path):
    succeed(CONVERTERS["flame"], path)
    return path.with_name(path.name + ".html")


# ---- before and after ----

def cpu_seconds(path):
    return cpu_s_of(info(path)["threads"])


@pytest.mark.short
def test_what_is_gone_and_what_is_new_is_found(page):
    before, after = SIDES
    data, messages = page("--before", before, "--after", after)
    difference = data["difference"]
    assert (difference["before_title"], difference["after_title"]) == ("gc-3.15/recording.pyreel", "native-3.12/recording.pyreel")
    assert (difference["weight"], messages) == ("cpu", "")
    assert sum(difference["self"]) / difference["scale"] / 1e9 == pytest.approx(cpu_seconds(before), rel=1e-3)
    assert flame_output.sums(data) == {"cpu": pytest.approx(cpu_seconds(after) * 1e9)}
    verdicts = flame_output.verdicts(data, "total")
    assert verdicts["collects"] == "shrank" and verdicts["calls_c"] == "grew" and verdicts["key"] == "grew"
    groups = {group["thread"]: group["threads"] for group in data["groups"]}
    assert groups == {"MainThread": 1}
    names = [data["strings"][name] for name in data["functions"]["name"]]
    functions = [names[function] for function in data["frames"]["function"]]
    of = collections.defaultdict(collections.Counter)
    for node, frame in enumerate(data["nodes"]["frame"]):
        of[functions[frame]] += collections.Counter(before=difference["self"][node], after=data["nodes"]["self"]["cpu"][node])
    below = {functions[data["nodes"]["frame"][parent]] for node, parent in enumerate(flame_output.parents(data))
             if parent >= 0 and functions[data["nodes"]["frame"][node]] == "spin"}
    assert below >= {"collects", "key"} and of["calls_c"]["before"] == of["collects"]["after"] == 0
    assert {weight["reason"] for weight in data["weights"] if not weight["known"]} == \
        {"a comparison is of one weight: choose another one with --weight"}


@pytest.mark.short
def test_a_recording_does_not_differ_from_itself(page):
    data, _ = page("--before", SIDES[0], "--after", SIDES[0], "--weight", "wall")
    difference = data["difference"]
    assert (difference["scale"], difference["weight"]) == (1, "wall")
    assert difference["self"] == data["nodes"]["self"]["wall"]
    assert set(flame_output.verdicts(data, "self").values()) == {"same"}


def test_several_runs_of_a_side_are_a_mean_run(page):
    before, after = (STREAMS / case / "recording.pyreel" for case in ("threads-3.11", "gil-thread-3.15"))
    data, _ = page("--before", before, before, "--after", after, after)
    single, _ = page("--before", before, "--after", after)
    assert (data["difference"]["before_title"], data["difference"]["after_title"]) == ("2 runs", "2 runs")
    assert flame_output.sums(data) == flame_output.sums(single)
    assert data["groups"][0]["threads"] == 1


def test_options_that_do_not_go_with_before():
    for options in (["--ids"], ["--sources"], ["--weight", "gil"]):
        ended = convert("flame", SIDES[1], *options, "--before", SIDES[0], "--after")
        assert ended.code == 2 and "--before" in ended.messages, ended


# ---- the file ----

@pytest.mark.short
def test_the_file_is_the_same_again_and_small(recorded, tmp_path):
    for name in ("a", "b"):
        succeed(CONVERTERS["flame"], recorded.path, "-o", tmp_path / name)
    page = (tmp_path / "a").read_bytes()
    assert page == (tmp_path / "b").read_bytes()
    assert len(page) - len(flame_output.data_bytes(page)) * 4 / 3 < 150_000
    assert succeed(CONVERTERS["flame"], recorded.path, "-o", "-").output == page


def test_only_its_own_files_are_replaced(recorded, tmp_path):
    out = tmp_path / "x.html"
    out.write_text("<!doctype html>\n<p>mine")
    ended = convert("flame", recorded.path, "-o", out)
    assert ended.code == 1 and "--force" in ended.messages and out.read_text().endswith("mine"), ended
    assert convert("flame", recorded.path, "--force", "-o", out).code == 0
    assert convert("flame", recorded.path, "-o", out).code == 0


def test_the_browser_gets_the_file(recorded, tmp_path):
    out, told, browser = tmp_path / "x.html", tmp_path / "told", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$*" >{told}.new && mv {told}.new {told}\n')
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    command = [CONVERTERS["flame"], "--open", "-o", out, recorded.path]
    ended = succeed("env", f"BROWSER={browser}", *command)
    assert (told.read_text(), ended.messages) == (str(out), "")
    ended = succeed("env", f"BROWSER={tmp_path}/nothing", *command)
    assert f"no browser could be started (BROWSER names a command); open {out} yourself" in ended.messages


@pytest.mark.short
def test_wrong_options_are_refused(recorded):
    for options, said in ((["--weight", "heat"], "invalid value 'heat' for --weight"),
                          (["--min-share", "few"], "invalid value 'few' for --min-share"),
                          (["--min-share", "101"], "invalid value '101' for --min-share"),
                          (["--sources=mine"], "invalid value 'mine' for --sources"),
                          (["--path-map", "x"], "invalid value 'x' for --path-map"),
                          (["--hide", "("], "is no regular expression"),
                          (["--ids", "--no-threads"], "--no-threads merges them"),
                          (["--open", "-o", "-"], "--open needs a file")):
        ended = convert("flame", recorded.path, *options)
        assert ended.code == 2 and said in ended.messages, ended


def test_a_command_line_may_have_any_bytes(recorded, tmp_path):
    out = tmp_path / "any.html"
    done = subprocess.run([CONVERTERS["flame"].encode(), b"--threads", b"MainThread,\xff<b>", b"-o", bytes(out), bytes(recorded.path)])
    assert done.returncode == 0
    assert dict(flame_output.load(out)["facts"])["Only"] == "--threads MainThread,\\xff<b>"


# ---- names that are not what one expects ----

ODD = {
    "script": "</script><script>document.title='got'</script>",
    "image": "<img src=x onerror=\"document.title='got'\">",
    "comment": "<!--<script>",
    "long": "long" + "x" * 100_000,
    "controls": "a\x01\x1b[31mb\x7f\x85",
    "right to left": "a\u202eb\u2066c",
    "snake": "\U0001f40d" * 2000,
    "lone": "lone \ud800 surrogate",
    "quotes": "\"'\\\u2028\u2029",
}
CALLS = """
import select, time
def spin():
    end = time.thread_time() + 0.005
    while time.thread_time() < end:
        pass
def call(function):
    function()
odd = %r
functions = [type(spin)(spin.__code__.replace(co_name=text, co_filename="/" + text, co_qualname=text), globals()) for text in odd.values()]
while not select.select([0], [], [], 0)[0]:
    for function in functions:
        call(function)
"""


def called(path):
    """The functions that were seen below `call`, as collapsed stacks name them."""
    return {line.rpartition(":")[0] for line in collapsed(path).splitlines() if re.search(r";call \(<string>:\d+\);", line)}


@pytest.fixture(scope="module")
def odd(python, tmp_path_factory):
    """A page with functions that are called as ODD says."""
    path = tmp_path_factory.mktemp("odd") / "odd.pyreel"
    with contextlib.closing(Recorder("-o", path, "--", *python.command, "-c", CALLS % ODD, prefix=python.prefix)) as recorder:
        recorder.wait_for(path, lambda _: len(called(path)) == len(ODD), "samples in each function")
        assert recorder.wait().code == 0
    return made_of(path)


def test_odd_names_are_whole_and_bounded(odd):
    data = flame_output.load(odd)
    strings = set(data["strings"])
    for key in ("script", "image", "comment", "controls", "right to left", "quotes"):
        assert ODD[key] in strings, key
    assert max(len(text.encode()) for text in strings) <= 1024
    assert any(re.fullmatch(r"longx+\.\.\.#[0-9a-f]{16}", text) for text in strings)
    assert any(re.fullmatch("\U0001f40d{250}\\.\\.\\.#[0-9a-f]{16}", text) for text in strings)
    page = odd.read_bytes()
    assert b"='got'" not in page and b"onerror=" not in page  # the data is base64, which has three letters now and then


# ---- in a browser: test_flame_page.py says what the page does, here are files of real recordings ----

SILENT = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")


@pytest.fixture(scope="module")
def browser():
    with contextlib.closing(Browser()) as browser:
        yield browser


def shown(browser, path):
    """The page of a file: its title, the names of its boxes, how many elements could load or run anything. It says nothing to the console and asks for nothing."""
    page = browser.open("about:blank")
    for domain in ("Page", "Runtime", "Log", "Network"):
        browser.ask(f"{domain}.enable", page.session)
    browser.events.clear()
    browser.ask("Page.navigate", page.session, url=path.as_uri())
    page.wait_for("!!window.pyreelFlame && pyreelFlame.settled")
    title, names = page.value("document.title"), page.value("pyreelFlame.boxes.map((box) => box.name)")
    elements = page.value("document.querySelectorAll('img, script, iframe, object, embed, base, link[rel=stylesheet]').length")
    said = [event for event in browser.events if event.get("method") in SILENT]
    asked = [event["params"]["request"]["url"] for event in browser.events if event.get("method") == "Network.requestWillBeSent"]
    assert said == [] and [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
    return title, names, elements


def test_a_browser_shows_what_was_recorded(recorded, browser, tmp_path):
    succeed(CONVERTERS["flame"], "--sources", "-o", tmp_path / "one.html", recorded.path)
    title, names, _ = shown(browser, tmp_path / "one.html")
    assert "known.py" in title and {"MainThread", "plain", "Mill.grind", "inner"} <= set(names)
    succeed(CONVERTERS["flame"], "-o", tmp_path / "two.html", "--before", SIDES[0], "--after", SIDES[1])
    _, names, _ = shown(browser, tmp_path / "two.html")
    assert {"spin", "collects", "calls_c"} <= set(names)


def test_odd_names_are_text_in_a_browser(odd, browser):
    title, names, elements = shown(browser, odd)
    assert "got" not in title and elements == 1  # the program; the data is gone when it is read
    assert ODD["script"] in names and ODD["image"] in names
