# SPDX-License-Identifier: MIT
"""What tests/oracle takes for noise is what chance does."""

import random

import pytest

import shares

LEAVES = [("f", "x.py", 1), ("f", "x.py", 2), ("g", "x.py", 9)]
TIMES = 300


def draw(chance, looks, weights, tids=(1,), worth=1):
    """So many looks at each thread. A look that is worth less is told several times."""
    found = shares.Draw(seconds=looks / 1000, worth=1 / worth)
    for tid in tids:
        for leaf in chance.choices(LEAVES, weights, k=looks // worth):
            found.add(tid, leaf, worth, worth)
    return found


def mean_distance(n, m, **more):
    chance = random.Random(7)
    pairs = [(draw(chance, n, (5, 3, 2), **more), draw(chance, m, (5, 3, 2), **more)) for _ in range(TIMES)]
    return sum(shares.distance(*pair) for pair in pairs) / TIMES, shares.noise(*pairs[0])


@pytest.mark.parametrize("n, m", [(100, 3000), (1000, 1000), (3000, 300)])
def test_noise_is_the_mean_distance_of_two_draws(n, m):
    found, noise = mean_distance(n, m)
    assert noise == pytest.approx(found, rel=0.15)


def test_threads_are_drawn_each_by_itself():
    found, noise = mean_distance(500, 500, tids=(1, 2, 3))
    assert noise == pytest.approx(found, rel=0.15)


def test_looks_that_tell_the_same_count_once():
    found, noise = mean_distance(2000, 2000, worth=5)
    assert noise == pytest.approx(found, rel=0.15)


def test_a_distance_is_what_is_elsewhere():
    one, other = draw(random, 1000, (1, 0, 0)), draw(random, 1000, (0, 1, 0))
    assert shares.distance(one, other) == 100
    assert shares.distance(*map(shares.by_function, (one, other))) == 0


def test_a_share_that_differs_is_far_above_noise():
    chance = random.Random(3)
    one, other = draw(chance, 3000, (5, 3, 2)), draw(chance, 3000, (4, 3, 3))
    assert shares.distance(one, other) - shares.noise(one, other) > 7
