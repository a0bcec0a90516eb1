# SPDX-License-Identifier: MIT
"""What pprof shall show of a profile, and what it says: tables made of the profile's samples, and the same tables read
from the text of each of its modes.

A frame is what the mode makes of it: a name, or (name, file, first line, line). Values are of one column."""

import collections
import re

import pprof_check

Frame = collections.namedtuple("Frame", "name file first line")
Sample = collections.namedtuple("Sample", "frames labels values")  # frames: leaf first; labels: as text, {key: value}


# ---- the profile ----

def samples_of(profile):
    """Every sample of a profile that pprof_check has read."""
    functions = [(pprof_check.text_at(profile, f["name"]), pprof_check.text_at(profile, f["filename"]), f["start_line"])
                 for f in profile["function"]]
    places = {location["id"]: [Frame(*functions[line["function_id"] - 1], line["line"]) for line in location["line"]]
              for location in profile["location"]}
    return [Sample(tuple(frame for number in sample["location_id"] for frame in places[number]),
                   {key: str(value) for key, value in pprof_check.label_values(profile, sample).items()},
                   tuple(sample["value"]))
            for sample in profile["sample"]]


def counted(samples):
    """{(frames, labels): the sums of the columns}, without those that are all zero, as pprof merges samples."""
    sums = {}
    for sample in samples:
        key = sample.frames, frozenset(sample.labels.items())
        sums[key] = tuple(map(sum, zip(sums.get(key, (0,) * len(sample.values)), sample.values)))
    return {key: values for key, values in sums.items() if any(values)}


def rooted(samples, root, leaf):
    """The samples with the values of a label above, and those of another below the frames, as functions."""
    def frame(sample, key):
        return Frame(sample.labels.get(key, "<unknown>"), "", 0, 0)

    return [sample._replace(frames=(frame(sample, leaf), *sample.frames, frame(sample, root))) for sample in samples]


def by_name(frame):
    return frame.name


def by_line(frame):
    return frame


class Graph:
    """self: {frame: value}, total: {frame: value} and edges: {(caller, callee): value} of one column."""

    def __init__(self, samples, column, frame_of=by_name):
        self.own, self.total, self.edges = (collections.Counter() for _ in range(3))
        for sample in samples:
            value, frames = sample.values[column], [frame_of(frame) for frame in sample.frames]
            for frame in set(frames):
                self.total[frame] += value
            self.own[frames[0]] += value
            for callee, caller in {pair for pair in zip(frames, frames[1:]) if pair[0] != pair[1]}:
                self.edges[caller, callee] += value
        self.value = sum(sample.values[column] for sample in samples)

    def rows(self):
        """{frame: (self, total)}, without those that have nothing."""
        return {frame: (self.own[frame], total) for frame, total in self.total.items() if total or self.own[frame]}

    def around(self, frames=None):
        """{frame: ({caller: value}, {callee: value})} of all frames, or of these."""
        found = {frame: ({}, {}) for frame in (self.total if frames is None else frames) if self.total[frame]}
        for (caller, callee), value in self.edges.items():
            for frame, side, other in (callee, 0, caller), (caller, 1, callee):
                if value and frame in found:
                    found[frame][side][other] = value
        return found


def stacks(samples, column):
    """{(root, ..., leaf): value} by name."""
    found = collections.Counter()
    for sample in samples:
        found[tuple(frame.name for frame in reversed(sample.frames))] += sample.values[column]
    return +found


# ---- what it says ----

VALUE = r"(-?\d+)(?:ns)?"
SHARE = r"-?[\d.e+-]+%"
RULE = re.compile(r"^-+\+-+$", re.MULTILINE)


def top(text):
    """{frame: (self, total)} of -top."""
    row = re.compile(rf"^ *{VALUE} +{SHARE} +{SHARE} +{VALUE} +{SHARE}  (.*)$", re.MULTILINE)
    return {name: (int(own), int(total)) for own, total, name in row.findall(text)}


def tree(text):
    """{frame: (self, total)} and {frame: ({caller: value}, {callee: value})} of -tree and -peek."""
    rows, around = {}, {}
    node = re.compile(rf"^ *{VALUE} +{SHARE} +{SHARE} +{VALUE} +{SHARE} +\| (.*)$")
    edge = re.compile(rf"^ +{VALUE} +{SHARE} \|   (.*)$")
    for block in RULE.split(text)[2:]:
        sides, side = ({}, {}), 0
        for line in block.strip("\n").splitlines():
            if match := edge.match(line):
                sides[side][match[2]] = int(match[1])
            elif match := node.match(line):
                name, side = match[3], 1
                rows[name] = int(match[1]), int(match[2])
                around[name] = sides
    return rows, {name: tuple({other: value for other, value in side.items() if value} for side in sides)
                  for name, sides in around.items()}


def traces(text):
    """{((root, ..., leaf), labels): value} of -traces."""
    found = collections.Counter()
    for block in RULE.split(text)[1:]:
        labels, frames, value = {}, [], None
        for line in block.strip("\n").splitlines():
            if value is not None:
                frames.append(line[13:])
            elif match := re.match(rf"^ *{VALUE}   (.*)$", line):
                value = int(match[1])
                frames.append(match[2])
            else:
                key, label = re.match(r"^ *(\w+):  (.*)$", line).groups()
                labels[key] = label
        if value is not None:
            found[tuple(reversed(frames)), frozenset(labels.items())] += value
    return +found


def tags(text):
    """{key: {value: samples}} of -tags."""
    row = re.compile(r"^ *([\d.]+) \([^)]*\): (.*)$", re.MULTILINE)
    parts = re.split(r"^ *(\w+): Total .*$", text, flags=re.MULTILINE)
    return {key: {value: round(float(count)) for count, value in row.findall(rows)}
            for key, rows in zip(parts[1::2], parts[2::2])}


def routines(text):
    """{(name, file): {line: (self, total)}} of -list, without the lines that have nothing."""
    parts = re.split(r"^ROUTINE =+ (.*) in (.*)$", text, flags=re.MULTILINE)
    row = re.compile(rf"^ *(?:\.|{VALUE}) +(?:\.|{VALUE}) +(\d+):", re.MULTILINE)
    return {(name, file): {int(line): (int(own or 0), int(total or 0)) for own, total, line in row.findall(rows)
                           if own or total}
            for name, file, rows in zip(parts[1::3], parts[2::3], parts[3::3])}


def raw(text):
    """The columns, and {(lines of -raw for the frames, leaf first; those for the labels): values}."""
    columns, _, body = text.partition("\nSamples:\n")[2].partition("\n")
    samples, _, places = body.partition("Locations\n")
    place = re.compile(r"^ +(\d+): 0x0 M=\d+ (.*?:\d+)(?::\d+)?( s=\d+)\(\)$", re.MULTILINE)
    located = {number: text + first for number, text, first in place.findall(places.partition("Mappings\n")[0])}
    found = {}
    sample = re.compile(r"^ *(-?\d+(?: +-?\d+)*): ([\d ]*)$")
    rows = []
    for line in samples.splitlines():
        if match := sample.match(line):
            rows.append((tuple(map(int, match[1].split())), tuple(located[n] for n in match[2].split()), []))
        else:
            rows[-1][2].append(line.strip())
    for values, frames, labels in rows:
        key = frames, tuple(labels)
        found[key] = tuple(map(sum, zip(values, found.get(key, (0,) * len(values)))))
    return columns, {key: values for key, values in found.items() if any(values)}


NUMBERS = ["thread_id", "pid", "interpreter", "task_id"]


def as_raw(samples):
    """What raw() shall find."""
    found = {}
    for (frames, labels), values in counted(samples).items():
        texts = " ".join(f"{key}:[{value}]" for key, value in sorted(labels) if key not in NUMBERS)
        numbers = " ".join(f"{key}:[{value} id]" for key, value in sorted(labels) if key in NUMBERS)
        key = tuple(f"{f.name} {f.file}:{f.line} s={f.first}" for f in frames), (texts, numbers)
        found[key] = tuple(map(sum, zip(values, found.get(key, (0,) * len(values)))))
    return found
