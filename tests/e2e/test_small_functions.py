# SPDX-License-Identifier: MIT
"""Functions that take a tenth of a microsecond each: what is too short to be seen twice is not left out."""

import json
import pathlib
import re
import subprocess

import pytest

import stacks
from environment import as_root
from recording import attach, collapsed

# Each takes two or more samples of a hundred.
SMALL = ("Lexer.peek", "Lexer.advance", "Parser.current", "Parser.take", "Evaluator.visit")
SOURCE = pathlib.Path(__file__).parents[2]
LEAST = 0.2  # of the true share: what reading takes is lost at the end of a call


def leaves(path):
    """Function → its share of the samples in which it is the leaf."""
    seen = stacks.of_thread(stacks.of_collapsed(collapsed(path)), stacks.MAIN)
    total = sum(seen.values())
    shares = dict.fromkeys(SMALL, 0.0)
    for stack, count in seen.items():
        function = stack[-1][0]
        if function in shares:
            shares[function] += count / total
    return shares


@pytest.mark.parametrize("rate", [1000, 10000])
def test_they_have_their_share(python, rate, program, start, tmp_path):
    """Compared with what is recorded of a target that stands still."""
    prefix = as_root() if python.root else ()
    target = start(*prefix, *python.command, program("calculator"))
    attach(target, tmp_path / "true.pyreel", "-r", "4000", "--blocking", seconds=1.5, prefix=prefix)
    attach(target, tmp_path / "live.pyreel", "-r", str(rate), seconds=3, prefix=prefix)
    true, live = leaves(tmp_path / "true.pyreel"), leaves(tmp_path / "live.pyreel")
    for function in SMALL:
        assert true[function] > 0.01, f"{function}: only {true[function]:.4f}"
        assert live[function] > LEAST * true[function], f"{function}: {live[function]:.4f} for {true[function]:.4f}"


ROW = re.compile(r'\{ "([A-Z_]+)", (\d), (\d) \}')


def bits_before_names():
    """What the recorder takes to be the place of a name, in 3.11 and later: see record/code_names.c."""
    rows = ROW.findall((SOURCE / "record" / "code_names.c").read_text())
    assert rows
    return [{name: int(row[i]) for name, *row in rows} for i in range(2)]


NAMES = """
import dis, json, sys
shifts = json.loads(sys.argv[1])[sys.version_info[1] > 11]
text = "\\n".join(["class A(B):", " def f(self):", "  super().first(); super().second", "  g(x).h(y.z).k; m.n()", " o = p"])
text += "\\ndef w():\\n" + "".join(f" v{i}.u{i}(t{i})\\n" for i in range(300)) + "q(r)\\n"
def codes(code):
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from codes(constant)
wrong, seen = [], set()
for code in codes(compile(text, "a", "exec")):
    for it in dis.get_instructions(code):
        if it.opname in shifts:
            seen.add(it.opname)
            if code.co_names[it.arg >> shifts[it.opname]] != it.argval:
                wrong.append([it.opname, it.arg, it.argval])
print(json.dumps([wrong[:5], sorted(seen)]))
"""


def test_names_are_where_they_are_looked_for(python):
    """By what each Python says itself."""
    command = [*(as_root() if python.root else ()), *python.command, "-c", NAMES, json.dumps(bits_before_names())]
    wrong, seen = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert not wrong
    assert {"LOAD_ATTR", "LOAD_GLOBAL", "LOAD_NAME"} <= set(seen)
