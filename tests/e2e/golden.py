# SPDX-License-Identifier: MIT
"""What the converters make of a recording, as text that says what was recorded and not how a format writes it down.

Of an output that is JSON or binary this is what a viewer would find: threads, stacks, counts and times. So formats may
grow, and what a recording says stays the same.
"""
import collections
import json
import pathlib
import tempfile

import flame_output
import gecko_check
import pprof_check
import speedscope_check
from environment import PROJECT
from recording import COUNTS, convert

STREAMS = pathlib.Path(PROJECT) / "tests" / "streams"
RECORDING = "recording.pyreel"


def frozen(case):
    """The recording of a case of tests/streams. What an option does to a recording shows in one that is the same each time."""
    return STREAMS / case / RECORDING


def recordings(folder):
    """The names of the files in it that are recorded: RECORDING, or the parts of one recording."""
    return sorted(path.name for path in folder.glob("recording*.pyreel"))


def told(value):
    """JSON with a line for each small thing."""
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def collapsed_of(path):
    return path.read_text(encoding="utf-8")


def report_of(path):
    return path.read_text(encoding="utf-8")


def info_of(path):
    return told(json.loads(path.read_text(encoding="utf-8")))


def lines_of(counts):
    return [f"{' | '.join(stack)}: {values}" for stack, values in sorted(counts.items())]


def pprof_of(path):
    profile, problems = pprof_check.examine(path)
    assert problems == [], problems
    summary = pprof_check.summary(profile)
    samples = collections.Counter()
    threads = collections.defaultdict(collections.Counter)
    for stack, labels, values in summary["samples"]:
        keys = ("thread", "thread_id", "pid", "interpreter", "trace_id", "span_id")
        thread = " ".join(f"{key}={labels[key]}" for key in keys if key in labels)
        frames = tuple(f"{function}:{line}" for function, line in reversed(stack))
        threads[thread][frames] = [a + b for a, b in zip(threads[thread][frames] or [0] * len(values), values)]
    kept = ("sample_types", "default_sample_type", "period", "time_nanos", "duration_nanos", "mappings", "totals")
    return told({**{key: summary[key] for key in kept}, "defined": sorted(summary["defined"], key=str),
                 "samples": {thread: lines_of(counts) for thread, counts in threads.items()}})


def gecko_of(path):
    profile = gecko_check.load(path)
    assert gecko_check.problems(profile) == []
    summary = gecko_check.summary(profile)
    kept = ("product", "misc", "interval_ms", "duration_ms", "samples")
    threads = []
    for thread, row in zip(profile["threads"], summary["threads"]):
        counts = gecko_check.stacks(profile, thread, lambda name, file, line: f"{name} ({file}:{line})", leaves=True)
        row = {key: value for key, value in row.items() if key != "functions"}
        threads.append({**row, "times": " ".join(map(str, thread["samples"]["time"])), "stacks": lines_of(counts)})
    return told({**{key: summary[key] for key in kept}, "threads": threads})


def speedscope_of(path):
    file = speedscope_check.load(path)
    assert speedscope_check.problems(file) == []
    profiles = []
    for profile in file["profiles"]:
        row = {key: value for key, value in profile.items() if key not in ("samples", "weights", "events")}
        times = {" | ".join(stack): round(seconds, 6) for stack, seconds in speedscope_check.times(file, profile).items()}
        moments = [begin for begin, _, _ in speedscope_check.pieces(profile)]
        profiles.append({**row, "stacks": times, "times": " ".join(map(str, moments))})
    return told({"name": file["name"], "activeProfileIndex": file["activeProfileIndex"], "profiles": profiles})


def flame_of(path):
    data = flame_output.load(path)
    known = [weight["name"] for weight in data["weights"] if weight["known"]]
    stacks = {weight: flame_output.stacks(data, weight) for weight in known}
    counts = {stack: {weight: stacks[weight][stack] for weight in known} for stack in stacks["samples"]}
    kinds = {name: kind for name, kind in flame_output.kinds(data).items() if kind != "other"}
    return told({"title": data["title"], "facts": data["facts"], "known": known, "groups": data["groups"],
                 "kinds": kinds, "stacks": lines_of(counts), "pruned": data["pruned"]})


OUTPUTS = {
    "collapsed": (COUNTS, collapsed_of, "txt"),
    "info": (["--json"], info_of, "json"),
    "flame": ([], flame_of, "json"),
    "pprof": ([], pprof_of, "json"),
    "gecko": (["--weight", "wall"], gecko_of, "json"),
    "report": ([], report_of, "txt"),
    "speedscope": ([], speedscope_of, "json"),
}


def outcome(folder):
    """{file name: text}: the exit codes and messages of all converters, and each output that was made."""
    files, codes = {}, {}
    for name, (options, text_of, suffix) in OUTPUTS.items():
        with tempfile.TemporaryDirectory() as out:
            output = pathlib.Path(out) / "output"
            ended = convert(name, *recordings(folder), *options, "-o", output, cwd=folder)
            assert ended.code >= 0, f"pyreel-{name} crashed on {folder.name}"
            codes[name] = {"exit code": ended.code, "messages": ended.messages.splitlines()}
            if output.exists():
                files[f"expected-{name}.{suffix}"] = text_of(output)
    return {"expected.json": told(codes), **files}
