# SPDX-License-Identifier: MIT
"""Reads what pyreel-flame writes: takes the data out of the page, and checks what schemas/flame.md says of them."""
import base64
import collections
import gzip
import itertools
import json
import re

START = b'<script type="application/octet-stream" id="data">'
WEIGHTS = ["wall", "cpu", "gil", "gil_wait", "samples"]
COLUMNS = {"functions": ["name", "file", "path", "line", "kind"], "frames": ["function", "line"],
           "nodes": ["parent", "group", "frame"]}
WAITS = ("[idle]", "[waiting for GIL]", "[waiting for native threads]")


def data_bytes(page):
    """The data, packed, of a page in bytes."""
    assert page.count(START) == 1
    _, _, rest = page.partition(START)
    return base64.b64decode(re.sub(rb"\s", b"", rest.partition(b"</script>")[0]), validate=True)


def load(path):
    data = json.loads(gzip.decompress(data_bytes(path.read_bytes())))
    problems = list(problems_of(data))
    assert problems == [], problems
    return data


def indexes(name, column, limit):
    bad = [value for value in column if not 0 <= value < limit]
    if bad:
        yield f"{name} has {bad[:3]}, and there are {limit}"


def column_problems(data):
    for table, columns in COLUMNS.items():
        sizes = {len(data[table][column]) for column in columns}
        if len(sizes) != 1:
            yield f"columns of {table} have sizes {sizes}"
    functions, strings = data["functions"], len(data["strings"])
    for column in ("name", "file", "path"):
        yield from indexes(f"functions.{column}", functions[column], strings)
    yield from indexes("functions.kind", functions["kind"], len(data["kinds"]))
    yield from indexes("frames.function", data["frames"]["function"], len(functions["name"]))
    yield from indexes("nodes.frame", data["nodes"]["frame"], len(data["frames"]["line"]))
    yield from indexes("nodes.group", data["nodes"]["group"], len(data["groups"]))


def once_problems(data):
    """Each text, function, frame and path of the tree is there once."""
    functions, frames, nodes = data["functions"], data["frames"], data["nodes"]
    for name, rows in (("strings", data["strings"]),
                       ("frames", list(zip(frames["function"], frames["line"]))),
                       ("functions", list(zip(*(functions[c] for c in ("name", "file", "line"))))),
                       ("nodes", list(zip(parents(data), nodes["group"], nodes["frame"])))):
        twice = [row for row, count in collections.Counter(rows).items() if count > 1]
        if twice:
            yield f"{name} has {twice[:3]} twice"
    unused = set(range(len(functions["name"]))) - set(frames["function"])
    if unused:
        yield f"functions {unused} have no frame"
    if set(range(len(frames["line"]))) != set(nodes["frame"]):
        yield "a frame has no node"


def tree_problems(data):
    nodes = data["nodes"]
    for index, (back, group) in enumerate(zip(nodes["parent"], nodes["group"])):
        if not 0 <= back <= index:
            yield f"node {index} has the parent {index - back}"
        elif back and nodes["group"][index - back] != group:
            yield f"node {index} is in another group than its parent"


def weight_problems(data):
    known = [weight["name"] for weight in data["weights"] if weight["known"]]
    if [weight["name"] for weight in data["weights"]] != WEIGHTS:
        yield "weights are missing"
    yield from (f"{weight['name']} has no reason" for weight in data["weights"] if not weight["known"] and not weight["reason"])
    if list(data["nodes"]["self"]) != known:
        yield f"columns {list(data['nodes']['self'])} of the weights {known}"
    if data.get("first", known[-1]) not in known:
        yield f"{data['first']} is first, and not known"
    for index, group in enumerate(data["groups"]):
        own = {name: sum(itertools.compress(column, [g == index for g in data["nodes"]["group"]]))
               for name, column in data["nodes"]["self"].items()}
        if own != group["sums"]:
            yield f"group {index} has {group['sums']}, and its nodes {own}"


def pruned_problems(data):
    if data["pruned"] is None:
        return
    name = data["strings"][data["functions"]["name"][data["pruned"]["function"]]]
    if name != "<rest>" or not 0 < data["pruned"]["share"] <= 1 or data["pruned"]["nodes"] < 1:
        yield f"pruned: {data['pruned']}, {name}"


def difference_problems(data):
    difference = data["difference"]
    if difference is None:
        return
    known = [weight["name"] for weight in data["weights"] if weight["known"]]
    if known != [difference["weight"]] or difference["scale"] <= 0 or not difference["scaled"].endswith("."):
        yield f"compared are {known}: {difference['weight']}, {difference['scale']}"
    if len(difference["self"]) != len(data["nodes"]["frame"]) or min(difference["self"], default=0) < 0:
        yield "a node has nothing before"
    if min(difference["noise"].values()) < 0 or difference["noise"]["z"] < 1.9:
        yield f"noise is {difference['noise']}"
    rows = difference["functions"]
    yield from indexes("difference.functions", [row["function"] for row in rows], len(data["functions"]["name"]))
    if len({(row["function"], row["by"]) for row in rows}) != len(rows):
        yield "a function is judged twice"
    for row in rows:
        if row["low"] is None or row["high"] is None:  # nothing or next to nothing before: no bounds
            if row["low"] is not row["high"] or row["verdict"] == "shrank":
                yield f"judged without bounds: {row}"
            continue
        verdict = "grew" if row["low"] > 0 else "shrank" if row["high"] < 0 else "same"
        if row["verdict"] != verdict or not row["low"] <= row["after"] - row["before"] <= row["high"] + 1e-6:
            yield f"judged wrongly: {row}"


def problems_of(data):
    if data["version"] != 1:
        yield "an unknown version"
    for check in (column_problems, once_problems, tree_problems, weight_problems, pruned_problems, difference_problems):
        yield from check(data)


# ---- what a person reads ----

def parents(data):
    """The index of each node's parent; -1: none."""
    return [index - back if back else -1 for index, back in enumerate(data["nodes"]["parent"])]


def frame_texts(data):
    """`name (file:line)` of each frame, as collapsed stacks have it."""
    strings, functions = data["strings"], data["functions"]
    for function, line in zip(data["frames"]["function"], data["frames"]["line"]):
        name, file = strings[functions["name"][function]], strings[functions["file"][function]]
        yield f"{name} ({file}{f':{line}' if line else ''})" if file else name


def group_text(group):
    task = "" if not group["task"] else "task" if group["task"] == "task" else f"task {group['task']}"
    return tuple(text for text in (group["thread"], task) if text)


def stacks(data, weight, waits=True, groups=group_text):
    """{(group and frames, root first): sum}; without `waits`, a wait counts at the function that waits."""
    texts, paths, counts = list(frame_texts(data)), [], collections.Counter()
    for index, parent in enumerate(parents(data)):
        own = texts[data["nodes"]["frame"][index]]
        above = paths[parent] if parent >= 0 else groups(data["groups"][data["nodes"]["group"][index]])
        paths.append(above if own in WAITS and not waits else (*above, own))
        counts[paths[-1]] += data["nodes"]["self"][weight][index]
    return collections.Counter({path: count for path, count in counts.items() if count})


def sums(data):
    return {name: sum(column) for name, column in data["nodes"]["self"].items()}


def kinds(data):
    """{name of a function: name of its kind}"""
    strings, functions = data["strings"], data["functions"]
    return {strings[name]: data["kinds"][kind]["name"] for name, kind in zip(functions["name"], functions["kind"])}


def verdicts(data, by):
    """{name of a function: what is said of it}"""
    names = [data["strings"][name] for name in data["functions"]["name"]]
    return {names[row["function"]]: row["verdict"] for row in data["difference"]["functions"] if row["by"] == by}


def sources(data):
    """{path: text, or None with a reason}"""
    return {data["strings"][source["path"]]: source.get("text") for source in data["sources"]}
