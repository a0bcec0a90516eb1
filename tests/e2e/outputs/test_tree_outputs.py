# SPDX-License-Identifier: MIT
"""What each output shows of a tree of processes that was recorded with -f."""

import pytest

import gecko_check
import pprof_check
from recording import CONVERTERS, collapsed, gecko, info, pprof, run_record, succeed, whole
from viewers import opened


@pytest.fixture(scope="module")
def family(python3, program, tmp_path_factory):
    """A recording of programs/relatives.py, and the pids of the parent and its forks."""
    path = tmp_path_factory.mktemp("family") / "family.pyreel"
    ended = run_record("-f", "-r", "200", "-o", path, "--", python3, program("relatives"))
    assert ended.code == 0, ended
    return path, [int(pid) for pid in ended.text.split()]


def of_pid(processes, pid):
    return [process for process in processes if process["pid"] == pid]


def test_info_shows_who_is_whose_child(family):
    path, (parent, first, second, third) = family
    processes = whole(path)["processes"]
    assert processes[0]["pid"] == parent and processes[0]["ancestor"] is None
    for pid in (first, second, third):
        fork = of_pid(processes, pid)[0]
        assert fork["parent"] == parent and fork["ancestor"] == 0
        assert fork["samples"] > 0 and fork["ticks"] > 0
    # A process that is looked at while it exits may be taken for one that becomes another program: then no code is known.
    assert of_pid(processes, first)[0]["exit_code"] in (0, None)
    assert of_pid(processes, second)[0]["exit_code"] in (3, None)
    before, after = of_pid(processes, third)
    assert before["fate"] == "execed"
    assert processes[after["ancestor"]] == before and after["command"].endswith("become")
    killed = [process for process in processes if process["command"].endswith("die")]
    assert killed[-1]["signal"] in (9, None)
    fates = {process["fate"] for process in processes}
    assert fates & {"exited", "killed"} and fates <= {"exited", "killed", "execed", "running", None}


def test_the_reached_rate_is_that_of_one_process(family):
    figures = info(family[0])
    assert 0 < figures["reached_hz"] <= 201
    assert sum(process["ticks"] for process in figures["processes"]) == figures["ticks"]


def test_info_prints_the_tree(family):
    path, (parent, first, *_) = family
    lines = succeed(CONVERTERS["info"], path).text.splitlines()
    titles = next(number for number, line in enumerate(lines) if line.split()[:2] == ["pid", "parent"])
    rows = {int(line.split()[0]): line for line in lines[titles + 1:titles + 3]}
    assert list(rows) == [parent, first]
    assert rows[first].split()[1] == str(parent)
    assert ("exit 0 " in rows[first] or "exec " in rows[first]) and rows[first].index("python") > rows[parent].index("python")


def test_tracks_of_workers_have_their_pids(family):
    path, (parent, *forks) = family
    processes = info(path)["processes"]
    profile = gecko_check.load(gecko(path))
    mains = {thread["pid"]: thread for thread in profile["threads"] if thread["isMainThread"]}
    assert str(parent) not in mains[str(parent)]["processName"]
    for pid in forks:
        thread, process = mains[str(pid)], of_pid(processes, pid)[0]
        assert thread["processName"].startswith(f"{pid}: ")
        assert thread["processStartupTime"] == pytest.approx(process["start_s"] * 1000, abs=0.01)
        assert thread["processShutdownTime"] == pytest.approx(process["end_s"] * 1000, abs=0.01)


def test_ends_are_markers_of_their_process(family):
    """At the moment that the recording has, on the first track of the process; the viewer shows them."""
    path, (_, *forks) = family
    profile_path = gecko(path)
    profile, figures = gecko_check.load(profile_path), info(path)
    strings, found = profile["shared"]["stringArray"], []
    for thread in profile["threads"]:
        columns = thread["markers"]
        for i in range(columns["length"]):
            if strings[columns["name"][i]] == "Process ends":
                assert thread["isMainThread"] and columns["phase"][i] == 0
                data = columns["data"][i]
                found.append((columns["startTime"][i], int(float(thread["pid"])), strings[data["how"]], strings[data["command"]]))
    words = {"exited": lambda one: f"exit {one['exit_code']}", "killed": lambda one: "SIGKILL", "execed": lambda one: "exec"}
    ended = [one for one in figures["processes"] if one["fate"] in words and one["samples"] > 0]
    assert len(ended) >= 4
    assert sorted((pid, how) for _, pid, how, _ in found) == sorted((one["pid"], words[one["fate"]](one)) for one in ended)
    for one in ended:
        times = [time for time, pid, how, _ in found if (pid, how) == (one["pid"], words[one["fate"]](one))]
        assert any(time == pytest.approx(one["end_s"] * 1000, abs=0.2) for time in times), (one, found)
    # A fork that became another program ends with that program's command.
    assert any(pid == forks[2] and how == "exec" and command.endswith("become") for _, pid, how, command in found)
    with opened(profile_path) as viewer:
        shown = []
        for thread in viewer.ask("thread", "list", "--limit", "0")["threads"]:
            asked = viewer.ask("thread", "markers", "--thread", thread["threadHandle"], "--list", "--limit", "0")
            shown += [(marker["label"], marker["hasStack"]) for marker in asked.get("flatMarkers", [])
                      if marker["name"] == "Process ends"]
    assert sorted(shown) == sorted((how, False) for _, _, how, _ in found)


def test_stacks_belong_to_their_process(family):
    path, (_, *forks) = family
    lines = collapsed(path).splitlines()
    for pid in forks[:2]:
        own = [line for line in lines if line.startswith(f"pid {pid}:")]
        assert own and any("work (" in line for line in own)
    # Without numbers, workers of one command are one.
    merged = succeed(CONVERTERS["collapsed"], path).text.splitlines()
    roots = {line.split(";")[0] for line in merged if "work (" in line}
    assert len(roots) == 1


def test_pprof_labels_samples_with_the_pid(family):
    path, pids = family
    profile = pprof_check.load(pprof(path))
    labels = [pprof_check.label_values(profile, sample) for sample in profile["sample"]]
    assert set(pids) <= {values["pid"] for values in labels}
