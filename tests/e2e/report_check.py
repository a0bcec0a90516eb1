# SPDX-License-Identifier: MIT
"""Holds what pyreel-report --json prints to schemas/report.schema.json, and to the sums of pyreel-info."""

import functools
import json
import os

from environment import CONVERTERS, PROJECT
from recording import succeed

try:
    import jsonschema
except ImportError:
    jsonschema = None

PATH = os.path.join(PROJECT, "schemas", "report.schema.json")
ROUNDED = 1e-8  # seconds: what digits leave off


@functools.lru_cache(maxsize=None)
def validator():
    with open(PATH) as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def problems(found):
    """What is wrong with a report, in sentences."""
    wrong = []
    if jsonschema:
        wrong += [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in validator().iter_errors(found)]
    for key, total in found["totals"].items():
        sums = [group[key] for group in found["groups"]]
        if total is not None and abs(sum(sums) - total) > ROUNDED * (1 + len(sums)):
            wrong.append(f"{key} of all groups is {sum(sums)}, and in the totals {total}")
    for place, section in enumerate(found["sections"]):
        if found["totals"]["samples"] and not section["rows"] and not section["note"]:
            wrong.append(f"sections[{place}] is empty, and does not say why")
        wrong += [f"sections[{place}]: {words}" for words in problems_of_section(section)]
    return wrong


def problems_of_section(section):
    if section["all"] > 0 and not section["rows"] and section["what"] != "tree":
        yield "it is empty"
    amounts = [row[section["sorted_by"]] for row in section["rows"] if section["sorted_by"] in row]
    if section["what"] not in ("tree", "source") and amounts != sorted(amounts, reverse=True):
        yield "its rows are not sorted"
    for row in section["rows"]:
        if row.get("total", 0) > section["all"] + ROUNDED:
            yield f"{row} is more than all"
        if "total" in row and row.get("self", 0) > row["total"] + ROUNDED:
            yield f"{row} has more self than total"
    key = {"hottest": "self", "callers": "total", "callees": "total", "groups": "total"}.get(section["what"])
    if key and section["sorted_by"] == key and not section["left_out"]:
        whole = sum(row[key] for row in section["rows"])
        if abs(whole - section["all"]) > ROUNDED * (1 + len(section["rows"])):
            yield f"its rows add up to {whole}, and all is {section['all']}"


def report(*arguments):
    """A report, which must be right."""
    found = json.loads(succeed(CONVERTERS["report"], "--json", *arguments).text)
    assert problems(found) == [], problems(found)
    return found


def hottest(found, group=None):
    """{name: row} of the table about a group, or about all samples. Rows of one name are added up."""
    (section,) = [section for section in found["sections"] if section["what"] == "hottest" and section["group"] == group]
    rows = {}
    for row in section["rows"]:
        before = rows.get(row["name"], {"self": 0, "total": 0})
        rows[row["name"]] = {**row, "self": row["self"] + before["self"], "total": row.get("total", 0) + before["total"]}
    return rows
