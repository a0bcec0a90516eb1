# SPDX-License-Identifier: MIT
"""What each output shows of a tree of processes that was recorded with -f."""

import pytest

import gecko_check
import pprof_check
from golden import frozen
from recording import CONVERTERS, collapsed, info, run, succeed, whole
from viewers import opened

FAMILY = frozen("tree-3.13")  # of programs/relatives.py
PARENT, FORKS = 7152, [7162, 7163, 7164]


@pytest.fixture(scope="module")
def profile_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("family") / "family.json.gz"
    succeed(CONVERTERS["gecko"], "-o", path, FAMILY)
    return path


def of_pid(processes, pid):
    return [process for process in processes if process["pid"] == pid]


@pytest.mark.short
def test_info_shows_who_is_whose_child():
    """A process that is looked at while it exits may be taken for one that becomes another program, as the first one is."""
    told = [(one["pid"], one["parent"], one["ancestor"], one["fate"], one["exit_code"], one["signal"], one["command"].split()[2:])
            for one in whole(FAMILY)["processes"]]
    assert told == [(7152, None, None, None, None, None, []), (7162, 7152, 0, "execed", None, None, []),
                    (7163, 7152, 0, "exited", 3, None, []), (7164, 7152, 0, "execed", None, None, []),
                    (7164, 7152, 3, "exited", 0, None, ["become"]), (7456, 7152, 0, "killed", None, 9, ["die"])]


@pytest.mark.short
def test_the_reached_rate_is_that_of_one_process():
    figures = info(FAMILY)
    assert 0 < figures["reached_hz"] <= 50
    assert sum(process["ticks"] for process in figures["processes"]) == figures["ticks"]


@pytest.mark.short
def test_info_prints_the_tree():
    lines = succeed(CONVERTERS["info"], FAMILY).text.splitlines()
    titles = next(number for number, line in enumerate(lines) if line.split()[:2] == ["pid", "parent"])
    rows = [line.split() for line in lines[titles + 1:titles + 7]]
    assert [row[:2] for row in rows] == [["7152", "-"], ["7162", "7152"], ["7163", "7152"], ["7164", "7152"], ["7164", "7152"], ["7456", "7152"]]
    assert "exit 3 " in lines[titles + 3] and "exec " in lines[titles + 4] and "SIGKILL " in lines[titles + 6]
    assert lines[titles + 2].index("/opt") > lines[titles + 1].index("/opt")  # it stands below its parent


@pytest.mark.short
def test_tracks_of_workers_have_their_pids(profile_path):
    processes = info(FAMILY)["processes"]
    profile = gecko_check.load(profile_path)
    mains = {thread["pid"]: thread for thread in profile["threads"] if thread["isMainThread"]}
    assert str(PARENT) not in mains[str(PARENT)]["processName"]
    for pid in FORKS:
        thread, process = mains[str(pid)], of_pid(processes, pid)[0]
        assert thread["processName"].startswith(f"{pid}: ")
        assert thread["processStartupTime"] == pytest.approx(process["start_s"] * 1000, abs=0.01)
        assert thread["processShutdownTime"] == pytest.approx(process["end_s"] * 1000, abs=0.01)


def ends_in(profile):
    """(time, pid, how, command) of the markers that say so, each on the first track of its process."""
    strings, found = profile["shared"]["stringArray"], []
    for thread in profile["threads"]:
        columns = thread["markers"]
        for i in range(columns["length"]):
            if strings[columns["name"][i]] == "Process ends":
                assert thread["isMainThread"] and columns["phase"][i] == 0
                data = columns["data"][i]
                found.append((columns["startTime"][i], int(float(thread["pid"])), strings[data["how"]], strings[data["command"]]))
    return found


@pytest.mark.short
def test_ends_are_markers_of_their_process(profile_path):
    """At the moment that the recording has."""
    found, figures = ends_in(gecko_check.load(profile_path)), info(FAMILY)
    words = {"exited": lambda one: f"exit {one['exit_code']}", "killed": lambda one: "SIGKILL", "execed": lambda one: "exec"}
    ended = [one for one in figures["processes"] if one["fate"] in words and one["samples"] > 0]
    assert len(ended) >= 4
    assert sorted((pid, how) for _, pid, how, _ in found) == sorted((one["pid"], words[one["fate"]](one)) for one in ended)
    for one in ended:
        times = [time for time, pid, how, _ in found if (pid, how) == (one["pid"], words[one["fate"]](one))]
        assert any(time == pytest.approx(one["end_s"] * 1000, abs=1) for time in times), (one, found)
    # A fork that became another program ends with that program's command.
    assert any(pid == FORKS[2] and how == "exec" and command.endswith("become") for _, pid, how, command in found)


def test_the_viewer_shows_ends(profile_path):
    with opened(profile_path) as viewer:
        shown = []
        for thread in viewer.threads():
            shown += [(marker["label"], marker["hasStack"]) for marker in viewer.markers(thread["threadHandle"])
                      if marker["name"] == "Process ends"]
    assert sorted(shown) == sorted((how, False) for _, _, how, _ in ends_in(gecko_check.load(profile_path)))


@pytest.mark.short
def test_stacks_belong_to_their_process():
    lines = collapsed(FAMILY).splitlines()
    for pid in FORKS[:2]:
        own = [line for line in lines if line.startswith(f"pid {pid}:")]
        assert own and any("work (" in line for line in own)
    # Without numbers, workers of one command are one.
    merged = succeed(CONVERTERS["collapsed"], FAMILY).text.splitlines()
    roots = {line.split(";")[0] for line in merged if "work (" in line}
    assert len(roots) == 1


@pytest.mark.short
def test_pprof_labels_samples_with_the_pid(tmp_path):
    succeed(CONVERTERS["pprof"], "-o", tmp_path / "out.pb.gz", FAMILY)
    profile = pprof_check.load(tmp_path / "out.pb.gz")
    labels = [pprof_check.label_values(profile, sample) for sample in profile["sample"]]
    assert {values["pid"] for values in labels} == {PARENT, *FORKS, 7456}


# ---- processes that are chosen ----

def samples_of(output, *options):
    """How many samples an output has."""
    if output == "info":
        return info(FAMILY, *options)["samples"]
    return sum(int(line.rsplit(" ", 1)[1]) for line in collapsed(FAMILY, "--weight", "samples", *options).splitlines())


@pytest.mark.short
@pytest.mark.parametrize("output", ["info", "collapsed"])
def test_processes_are_chosen_by_pid_and_title(output):
    counts = {process["pid"]: 0 for process in info(FAMILY)["processes"]}
    for process in info(FAMILY)["processes"]:
        counts[process["pid"]] += process["samples"]
    assert {pid: samples_of(output, "--processes", pid) for pid in counts} == counts
    assert samples_of(output, "--processes", f"{PARENT}, {FORKS[0]}") == counts[PARENT] + counts[FORKS[0]]
    assert samples_of(output, "--processes", "fam*.py") == sum(counts.values())
    assert samples_of(output, "--processes", FORKS[1], "--threads", "MainThread") == counts[FORKS[1]]


def test_a_process_is_found_under_each_of_its_titles():
    path = frozen("titles-3.12")
    total = info(path)["samples"]
    titles = {process["command"].strip("'") for process in info(path)["processes"]}
    assert total and all(info(path, "--processes", title)["samples"] for title in titles)


def test_no_such_process_is_an_error():
    ended = run(CONVERTERS["collapsed"], FAMILY, "--processes", "nobody")
    assert ended.code == 1 and "no sample of" in ended.messages and "--processes=nobody" in ended.messages.replace(" ", "="), ended
