# SPDX-License-Identifier: MIT
"""Functions that take a tenth of a microsecond each have their share."""

import pytest

import stacks
from environment import as_root
from recording import attach, collapsed

pytestmark = pytest.mark.pythons("oldest and newest")

# Each takes two or more samples of a hundred.
SMALL = ("Lexer.peek", "Lexer.advance", "Parser.current", "Parser.take", "Evaluator.visit")
LEAST = 0.4  # of the true share: the rest is chance, in some forty samples


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
