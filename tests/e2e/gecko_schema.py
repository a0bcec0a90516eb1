# SPDX-License-Identifier: MIT
"""Holds a Firefox Profiler file to schemas/gecko.schema.json with a JSON Schema validator (Debian's python3-jsonschema)."""

import functools
import json
import os

from environment import PROJECT

try:
    import jsonschema
except ImportError:
    jsonschema = None

PATH = os.path.join(PROJECT, "schemas", "gecko.schema.json")
FEW = 100  # cells


def schema():
    with open(PATH) as file:
        return json.load(file)


@functools.lru_cache(maxsize=None)
def validator():
    return jsonschema.Draft202012Validator(schema())


def thinned(value):
    """The value, with long arrays of plain cells made short: the validator takes 30 us for each cell, and all cells of a
    column have one rule. What stays: of each type the least and the greatest cell, so that a cell out of range is found."""
    if isinstance(value, dict):
        return {key: thinned(cell) for key, cell in value.items()}
    if not isinstance(value, list):
        return value
    types = set(map(type, value))
    if len(value) <= FEW or types & {dict, list}:
        return [thinned(cell) for cell in value]
    of_types = [[cell for cell in value if type(cell) is kind] for kind in types - {type(None)}]
    return [end(cells) for cells in of_types for end in (min, max)] + [None] * (type(None) in types)


def problems(profile):
    """What the validator says of a profile, in sentences; nothing when there is no validator."""
    if jsonschema is None:
        return []
    errors = validator().iter_errors(thinned_profile(profile))
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in errors]


def thinned_profile(profile):
    """Thinned, but for the length of columns that have a limit: counters are small."""
    return {**thinned(profile), "counters": profile.get("counters")}
