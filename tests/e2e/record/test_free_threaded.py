# SPDX-License-Identifier: MIT
"""Free-threaded builds. None is at hand: these record a process that has the memory of one (tests/tools/free-threaded.c), a
main thread that is attached and works, and another that is detached and waits."""

import os

import pytest

import environment
import stacks
from environment import BUILD
from recording import CHANGES, attach, collapsed, whole

VERSIONS = {"3.13": "3.13.18", "3.14": "3.14.10", "3.15": "3.15.2", "3.16": "3.16.0a0"}


@pytest.fixture(params=VERSIONS)
def version(request):
    return request.param


@pytest.fixture
def recorded(version, start, tmp_path):
    program = os.path.join(BUILD, "tests", "free-threaded")
    if not os.path.exists(program):
        environment.missing("no cmocka, and so no tests/free-threaded in the build folder")
    target = start(program, version)

    def record(*options, functions=()):
        def enough(found):
            return found["samples"] >= 50 and all(f";{name} (" in collapsed(tmp_path / "a.pyreel") for name in functions)

        attach(target, tmp_path / "a.pyreel", *options, until=enough)
        figures = whole(tmp_path / "a.pyreel")
        assert figures["failures"].keys() <= CHANGES
        threads = stacks.of_collapsed(collapsed(tmp_path / "a.pyreel"))
        return figures, {name_tid[1]: stacks.functions(seen) for name_tid, seen in threads.items()}, target.pid

    return record


@pytest.mark.sanitized("the memory of free-threaded builds")
def test_each_thread_is_seen_where_it_is(recorded, version):
    figures, seen, pid = recorded(functions=("wait", "f", "g"))
    assert figures["python"] == VERSIONS[version]
    assert len(seen) == 2
    waits = seen[max(seen.keys() - {pid})]
    assert set(waits) == {("wait",)}
    seen[pid].pop(("<module>",), None)  # between two calls of f
    assert set(seen[pid]) == {("<module>", "f"), ("<module>", "f", "g")}, seen
    assert figures["exact_percent"] >= 80


@pytest.mark.short
def test_who_is_attached_stands_for_who_has_the_lock(recorded):
    figures, _, pid = recorded()
    held = {thread["tid"]: thread["gil_percent"] for thread in figures["threads"]}
    assert held.pop(pid) == 100
    assert list(held.values()) == [0]


@pytest.mark.parametrize("options", [("-t", "gil"), ("-m", "gil"), ("-t", "main")])
def test_only_those_can_be_asked_for(recorded, options):
    _, seen, pid = recorded(*options)
    assert set(seen) == {pid}
