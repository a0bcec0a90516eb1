# SPDX-License-Identifier: MIT
"""Functions that were compiled to C and say so to Python with frames of their own, as Nuitka makes them. The program does so by
hand, and keeps account."""

import json
import re

import pytest

import stacks
from recording import UNPROVED, collapsed, gaps_of, run_record, whole

SECONDS = 1


@pytest.mark.parametrize("options", [(), UNPROVED, ("--opcodes",)], ids=["exact", "live", "opcodes"])
@pytest.mark.parametrize("where", ["called", "root", "calls"])
def test_compiled_functions_have_their_time(python, program, tmp_path, where, options):
    path = tmp_path / "compiled.pyreel"
    ended = run_record("-o", path, *options, "--", *python.command, program("compiled"), SECONDS, where, prefix=python.prefix)
    assert ended.code == 0, ended
    account = json.loads(re.search(r"^\{.*\}$", ended.text, re.M)[0])
    found = whole(path)
    assert found["failed"] < found["samples"] / 20
    time = stacks.of_thread(stacks.of_collapsed(collapsed(path, "--weight", "cpu")), stacks.MAIN)
    used = {name: sum(stacks.within(time, name).values()) / 1e6 for name in account}
    gaps, lost = gaps_of(found), found["cpu_not_sampled_s"]  # a busy machine leaves moments without a look that saw them run
    total, most = sum(account.values()), time.most_common(8)
    assert (0.9 - gaps) * total - lost < sum(used.values()) < (1.1 + gaps) * total, (used, account, lost, found["missed"], most)
    for name in account:
        share, right = used[name] / sum(used.values()), account[name] / sum(account.values())
        assert share == pytest.approx(right, abs=0.1 + gaps), (used, account, lost)
        for stack in stacks.within(time, name):
            # Compiled code executes no instructions that would tell the line.
            assert (name, "/made/compiled.py", 0) in stack
            assert (stack[0][0] == name) == (where == "root"), stack
    if where == "calls":
        assert sum(stacks.within(time, "spin").values()) / 1e6 > 0.8 * sum(used.values()), (used, account, lost, most)
