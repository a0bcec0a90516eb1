# SPDX-License-Identifier: MIT
"""Checks a Firefox Profiler file by itself, because the viewers take many broken ones without a word.

    profile = gecko_check.load("profile.json.gz")
    problems = gecko_check.problems(profile)        a list of sentences; empty when all is well. The rules: gecko_rules.py
    problems = gecko_check.compare(profile, info)   where its sums are not those of pyreel-info
    summary = gecko_check.summary(profile)          what is in it, thread by thread
    stacks = gecko_check.stacks(profile, thread)    {(root, ..., leaf): samples}, as collapsed stacks have it

As a program it prints the summary as JSON, or the problems on stderr and exits with 1.
It knows the processed format of version 64, the one that pyreel writes, and the compact form of version 66.
"""

import collections
import gzip
import itertools
import json
import re
import sys

from gecko_rules import Rules

LEAVES = ("[idle]", "[waiting for GIL]", "[waiting for native threads]")
OWNED = re.compile(r"^(<[a-z]+>) (?:in )?.+$", re.DOTALL)


class Profile(dict):
    """`size`: bytes of the file without compression."""

    size = None


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def load(path):
    """The profile in a .json or .json.gz file. Raises ValueError or OSError when it is not JSON in UTF-8."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    profile = Profile(json.loads(data.decode("utf-8"), parse_constant=refuse_constant))
    profile.size = len(data)
    return expanded(profile)


def expanded(profile):
    """A compact profile (version 66) with the columns of version 64: `prefix` and `time` instead of differences."""
    if profile.get("meta", {}).get("preprocessedProfileVersion") != 66:
        return profile
    profile["meta"]["preprocessedProfileVersion"] = 64
    table = profile["shared"]["stackTable"]
    table["prefix"] = [i - offset if offset else None for i, offset in enumerate(table.pop("prefixOffset"))]
    for owner in (*profile["threads"], *profile["counters"]):
        samples = owner["samples"]
        if "timeDeltas" in samples:
            samples["time"] = [round(time, 6) for time in itertools.accumulate(samples.pop("timeDeltas"))]
    return profile


def problems(profile, all_markers=False):
    """What is wrong with a profile, in sentences. A profile of quite another shape is one problem."""
    rules = Rules(profile, size=getattr(profile, "size", None), all_markers=all_markers)
    try:
        return rules.check()
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        return rules.problems + [f"the profile's shape is not what it should be: {error!r}"]


SHARED_MS = 10  # threads that ended share CPU time by their looks, which stand alone here and in runs there


def compare(profile, info):
    """Where the sums of a profile of a whole recording are not those of pyreel-info, in sentences. Entries of tasks share
    the line of their thread, and pyreel-info has no row for them: such a recording has no sums to compare."""
    if info["samples"] != sum(thread["samples"] for thread in info["threads"]):
        return []
    shown, known = thread_sums(profile), info_sums(info)
    unit = 2 * profile["meta"]["interval"] / 20  # times are rounded to a unit of at most that
    found = []
    for key in ("samples", "cpu_ms"):
        tolerance = 0.01 * len(known) if key == "samples" else max(unit * (len(profile["threads"]) + len(known)), SHARED_MS)
        sums = [sum(row[key] or 0 for row in rows.values()) for rows in (shown, known)]
        if abs(sums[0] - sums[1]) > tolerance:
            found.append(f"all threads have {sums[0]} of {key}, and {sums[1]} in the recording")
    for thread in shown.keys() & known.keys():
        for key, tolerance in (("samples", 0.01), ("cpu_ms", max(2 * unit, SHARED_MS))):
            values = shown[thread][key], known[thread][key]
            if None not in values and abs(values[0] - values[1]) > tolerance:
                found.append(f"thread {thread} has {values[0]} of {key}, and {values[1]} in the recording")
    return found + counter_differences(profile, info)


def counter_differences(profile, info):
    """Where what counters add up to is not what the recording has of each process. Times may be 2% off: a counter has a
    point for several looks, the percentages of pyreel-info are rounded, and a thread's first look is a part of a tick. A look
    stands for the time to its neighbours, in the counter for that since the one before: at each end a step or two. Time that
    the recorder missed is in a counter, and not in a thread that was first seen behind it."""
    found, known = [], {str(process["pid"]): process for process in info.get("processes", [])}
    again = {counter["pid"].partition(".")[0] for counter in profile["counters"] if "." in counter["pid"]}
    for counter in profile["counters"]:
        pid, name = counter["pid"], counter["name"]
        if pid.partition(".")[0] in again:  # several programs had the number, one after the other
            continue
        threads = [thread for thread in info["threads"] if str(thread["pid"]) == pid]
        shown, wanted, tolerance = counter_sum(counter), None, 0
        if name == "CPU" and known.get(pid, {}).get("cpu_s") is not None:
            wanted = known[pid]["cpu_s"] * 1000
        elif name == "Resident memory" and known.get(pid):
            wanted = known[pid]["most_resident_bytes"]
        elif name in STATE_OF_COUNTER:
            wanted = sum((thread[STATE_OF_COUNTER[name]] or 0) / 100 * thread["wall_s"] * 1000 for thread in threads)
        if wanted is not None:
            tolerance = 0 if name == "Resident memory" else 0.02 * wanted + (20 + len(threads)) * profile["meta"]["interval"]
        if name in STATE_OF_COUNTER:
            tolerance += 4 * 1000 * info["duration_s"] / max(info["ticks"], 1)
            tolerance += info["missed"] * profile["meta"]["interval"] * (1 if name == "GIL held" else len(threads))
        if wanted is not None and abs(shown - wanted) > tolerance:
            found.append(f"counter {name} of process {pid} is {shown}, and {wanted} in the recording")
    return found


STATE_OF_COUNTER = {"GIL held": "gil_percent", "Waiting for GIL": "gil_wait_percent"}


def counter_sum(counter):
    """What a counter adds up to: milliseconds; thread-milliseconds of waiting; of memory the most bytes."""
    samples = counter["samples"]
    if counter["display"]["graphType"] == "line-rate":
        return sum(samples["count"])
    running = list(itertools.accumulate(samples["count"]))
    if counter["name"] == "Resident memory":
        return max(running)
    steps = (until - since for since, until in zip(samples["time"], samples["time"][1:]))
    return sum(value * step for value, step in zip(running[1:], steps))


def thread_sums(profile):
    """{(pid, tid): samples and CPU time}; a track that many threads share has a key that no thread has. The first cell of CPU time
    counts too, which the viewer leaves out."""
    sums = {}
    for thread in profile["threads"]:
        shared = re.fullmatch(r"#\d+ .*: \d+ threads", thread["name"])
        cells = thread["samples"].get("threadCPUDelta")
        cpu = None if cells is None else sum(cell or 0 for cell in cells) / 1e6
        sums[thread["pid"], thread["name"] if shared else str(thread["tid"])] = {"samples": thread["samples"]["length"], "cpu_ms": cpu}
    return sums


def info_sums(info):
    """The same, of `pyreel-info --json`; threads whose number was used again have a key that no track has."""
    sums = {}
    for thread in info["threads"]:
        key = str(thread["pid"]), str(thread["tid"])
        cpu = None if thread["cpu_s"] is None else thread["cpu_s"] * 1000
        sums[key if key not in sums else (*key, len(sums))] = {"samples": thread["samples"], "cpu_ms": cpu}
    return sums


def own_name(name):
    """The name that the program has for a function: <module> of `<module> app`."""
    return OWNED.sub(r"\1", name)


def weights(thread):
    samples = thread["samples"]
    return samples["weight"] or [1] * samples["length"]


def stack_weights(thread):
    counts = collections.Counter()
    for stack, weight in zip(thread["samples"]["stack"], weights(thread)):
        counts[stack] += weight
    return counts


def frame_labels(profile, label):
    """Each frame's label; `label` gets name, file, line. The name is the program's own, without the module."""
    shared = profile["shared"]
    strings, functions, sources = shared["stringArray"], shared["funcTable"], shared["sources"]
    labels = []
    for function, line in zip(shared["frameTable"]["func"], shared["frameTable"]["line"]):
        source = functions["source"][function]
        file = None if source is None else strings[sources["filename"][source]]
        labels.append(label(own_name(strings[functions["name"][function]]), file, line))
    return labels


def frames_of(profile, labels, stack):
    """The labels of the frames of a stack, from the leaf on."""
    table = profile["shared"]["stackTable"]
    while stack is not None:
        yield labels[table["frame"][stack]]
        stack = table["prefix"][stack]


def stacks(profile, thread, label=lambda name, file, line: name, leaves=False):
    """The samples of a thread per stack, {(root, ..., leaf): samples}. `label` makes a frame of name, file and line."""
    labels = frame_labels(profile, label)
    waits = [name in LEAVES and file is None for name, file in frame_labels(profile, lambda name, file, line: (name, file))]
    table = profile["shared"]["stackTable"]
    folded = collections.Counter()
    for stack, weight in stack_weights(thread).items():
        if stack is not None and not leaves and waits[table["frame"][stack]]:
            stack = table["prefix"][stack]
        folded[tuple(frames_of(profile, labels, stack))[::-1]] += weight
    return folded


def function_times(profile, thread, leaves=False):
    """{function: [self, total]} in samples; a function counts once for a sample however often it is in its stack."""
    times = collections.defaultdict(lambda: [0, 0])
    for stack, weight in stacks(profile, thread, leaves=leaves).items():
        times[stack[-1]][0] += weight
        for name in set(stack):
            times[name][1] += weight
    return dict(times)


def cpu_ms(thread):
    """CPU time of a thread as the viewer adds it up; None when it is not known."""
    column = thread["samples"].get("threadCPUDelta")
    return None if column is None else sum(cell or 0 for cell in column[1:]) / 1e6


def marker_times(profile, thread):
    """{name: [markers, milliseconds]}"""
    times = collections.defaultdict(lambda: [0, 0])
    markers = thread["markers"]
    for name, start, end in zip(markers["name"], markers["startTime"], markers["endTime"]):
        row = times[profile["shared"]["stringArray"][name]]
        row[0] += 1
        row[1] += end - start
    return dict(times)


def thread_summary(profile, thread):
    return {
        "name": thread["name"],
        "pid": thread["pid"],
        "tid": thread["tid"],
        "main": thread["isMainThread"],
        "process": thread["processName"],
        "start_ms": thread["registerTime"],
        "end_ms": thread["unregisterTime"],
        "samples": sum(weights(thread)),
        "cpu_ms": cpu_ms(thread),
        "markers": marker_times(profile, thread),
        "functions": {
            name: {"self": own, "total": total} for name, (own, total) in function_times(profile, thread).items()
        },
    }


def summary(profile):
    """What is in a profile that has no problems."""
    meta = profile["meta"]
    threads = [thread_summary(profile, thread) for thread in profile["threads"]]
    return {
        "product": meta["product"],
        "misc": meta["misc"],
        "interval_ms": meta["interval"],
        "duration_ms": meta["profilingEndTime"] - meta["profilingStartTime"],
        "samples": sum(thread["samples"] for thread in threads),
        "extra": {row["label"]: row["value"] for group in meta["extra"] for row in group["entries"]},
        "threads": threads,
    }


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: gecko_check.py FILE")
    try:
        profile = load(sys.argv[1])
    except (OSError, EOFError, ValueError) as error:
        sys.exit(f"{sys.argv[1]}: {error}")
    found = problems(profile)
    if found:
        sys.exit("\n".join(f"{sys.argv[1]}: {problem}" for problem in found[:100]))
    json.dump(summary(profile), sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
