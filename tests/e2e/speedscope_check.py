# SPDX-License-Identifier: MIT
"""What a file of speedscope says, and whether it keeps the rules of its format: those that speedscope's own schema has,
and those that it has not. Written without a look at how pyreel makes such a file."""

import collections
import functools
import gzip
import json
import os
import pathlib

import gecko_schema

UNITS = {"microseconds": 1e-6, "nanoseconds": 1e-9}


def load(path):
    content = pathlib.Path(path).read_bytes()
    return json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)


def frame_text(frame):
    """As pyreel-collapsed writes a frame."""
    if "file" not in frame:
        return frame["name"]
    return f"{frame['name']} ({frame['file']}{':%d' % frame['line'] if 'line' in frame else ''})"


def pieces_of_events(profile):
    """[(from, until, stack of frame indexes)], whole; raises ValueError where events do not fit."""
    stack, at = [], profile["startValue"]
    for event in profile["events"]:
        if event["at"] > at:
            yield at, event["at"], tuple(stack)
        elif event["at"] < at:
            raise ValueError(f"time goes back to {event['at']}")
        at = event["at"]
        if event["type"] == "O":
            stack.append(event["frame"])
        elif not stack or stack.pop() != event["frame"]:
            raise ValueError(f"a frame ends that is not the leaf, at {at}")
    if stack:
        raise ValueError("a frame does not end")
    if at < profile["endValue"]:
        yield at, profile["endValue"], ()


def pieces_of_samples(profile):
    if len(profile["samples"]) != len(profile["weights"]):
        raise ValueError("as many samples as weights, please")
    at = profile["startValue"]
    for stack, weight in zip(profile["samples"], profile["weights"]):
        if weight <= 0:
            raise ValueError(f"a weight of {weight}")
        yield at, at + weight, tuple(stack)
        at += weight
    if at != profile["endValue"]:
        raise ValueError(f"the samples end at {at}, the profile at {profile['endValue']}")


def pieces(profile):
    return list((pieces_of_events if profile["type"] == "evented" else pieces_of_samples)(profile))


def compact(value):
    return len(json.dumps(value, separators=(",", ":")))


def smaller_type(found):
    """The type of profile that says these pieces in fewer bytes."""
    events, stack, at = [], (), 0
    for begin, end, after in [*found, (found[-1][1], None, ())]:
        common = len(os.path.commonprefix([stack, after]))
        events += [{"type": "C", "frame": frame, "at": begin} for frame in reversed(stack[common:])]
        events += [{"type": "O", "frame": frame, "at": begin} for frame in after[common:]]
        stack = after
    samples, weights = [list(stack) for _, _, stack in found], [end - begin for begin, end, _ in found]
    return "evented" if compact(events) + 2 < compact(samples) + compact(weights) else "sampled"


def profile_problems(file, profile):
    try:
        found = pieces(profile)
    except ValueError as error:
        yield str(error)
        return
    for (_, _, before), (_, _, after) in zip(found, found[1:]):
        if before == after:
            yield "two neighbours are equal"
    if any(not 0 <= frame < len(file["shared"]["frames"]) for _, _, stack in found for frame in stack):
        yield "a frame is not there"
    if found and profile["type"] != smaller_type([piece for piece in found if piece[0] < found[-1][1]]):
        yield f"the other type than {profile['type']} is smaller"
    if found and not any(stack for _, _, stack in found):
        yield "nothing is shown"


def problems(file):
    """Sentences on what is wrong."""
    frames = file["shared"]["frames"]
    found = [f"{profile['name']}: {problem}" for profile in file["profiles"] for problem in profile_problems(file, profile)]
    if len({json.dumps(frame, sort_keys=True) for frame in frames}) < len(frames) and len(set(map(frame_text, frames))) < len(frames):
        found.append("a frame is there twice")
    used = {frame for profile in file["profiles"] for _, _, stack in pieces(profile) for frame in stack} if not found else set()
    if not found and used != set(range(len(frames))):
        found.append("a frame is in no stack")
    if not 0 <= file["activeProfileIndex"] < len(file["profiles"]):
        found.append("the active profile is not there")
    if len({profile["unit"] for profile in file["profiles"]}) != 1:
        found.append("units differ")
    if len({profile["startValue"] for profile in file["profiles"]}) != 1:
        found.append("profiles begin at different times")
    return found + schema_problems(file)


@functools.lru_cache(maxsize=None)
def validator():
    from environment import CACHE
    (path,) = pathlib.Path(CACHE).glob("viewers/node_modules/speedscope/dist/release/file-format-schema.json")
    schema = json.loads(path.read_text())
    return gecko_schema.jsonschema.Draft7Validator(schema)


def thinned(value):
    """Long arrays lose their middle: the validator is slow."""
    if isinstance(value, dict):
        return {key: thinned(cell) for key, cell in value.items()}
    return [*map(thinned, value[:20] + value[-20:])] if isinstance(value, list) else value


def schema_problems(file):
    """What speedscope's own schema says; nothing where there is no validator, or no speedscope."""
    if gecko_schema.jsonschema is None:
        return []
    try:
        return [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in validator().iter_errors(thinned(file))]
    except ValueError:
        return []


def times(file, profile):
    """{stack of texts, root first: seconds}."""
    unit = UNITS[profile["unit"]]
    found = collections.Counter()
    for begin, end, stack in pieces(profile):
        if stack:
            found[tuple(frame_text(file["shared"]["frames"][frame]) for frame in stack)] += (end - begin) * unit
    return found


def shown_seconds(file, profile):
    return sum(times(file, profile).values())
