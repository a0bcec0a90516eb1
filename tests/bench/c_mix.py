# SPDX-License-Identifier: MIT
"""Work in C code of several libraries, each below a Python function of its own: c_mix.py SECONDS. Prints how many rounds
it made, and for how long each function ran, by its own clock."""
import hashlib
import json
import pickle
import re
import sqlite3
import sys
import time
import zlib

DATA = bytes(range(256)) * 200
ROWS = [{"a": i, "b": str(i) * 3, "c": [i, i + 1, {"x": i}]} for i in range(300)]
TEXT = "alpha 12 beta 345 gamma 6 " * 200
PATTERN = re.compile(r"(\w+)\s+(\d+)")
TABLE = sqlite3.connect(":memory:")
TABLE.execute("create table t(a, b)")


def key(row):
    return row["b"]


def second(match):
    return match.group(2)


def compresses():
    return zlib.compress(DATA, 6)


def hashes():
    return hashlib.sha256(DATA).hexdigest()


def dumps():
    return json.loads(json.dumps(ROWS))


def sorts():
    return sorted(ROWS, key=key)


def replaces():
    return PATTERN.sub(second, TEXT)


def queries():
    TABLE.executemany("insert into t values(?, ?)", [(i, str(i)) for i in range(300)])
    TABLE.execute("select a, b from t order by b").fetchall()
    TABLE.execute("delete from t")


def pickles():
    return pickle.loads(pickle.dumps(ROWS))


def main(seconds):
    functions = (compresses, hashes, dumps, sorts, replaces, queries, pickles)
    spent, rounds, end = dict.fromkeys(functions, 0.0), 0, time.perf_counter() + seconds
    begin = time.perf_counter()
    while begin < end:
        for function in functions:
            function()
            now = time.perf_counter()
            spent[function] += now - begin
            begin = now
        rounds += 1
    print(json.dumps({"rounds": rounds, "spent": {function.__name__: time for function, time in spent.items()}}), flush=True)


main(float(sys.argv[1]))
