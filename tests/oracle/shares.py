# SPDX-License-Identifier: MIT
"""Shares of leaves: how far two draws from a program are apart, and how far chance alone would bring them.

The distance is half the sum of the absolute differences of the shares, in points of 100: so much of the one's time is
somewhere else in the other. The noise is the mean distance of two such draws from one distribution, the two taken
together; each thread is drawn by itself, since its looks are independent of each other while those of several threads in
one tick are not."""

import collections
import dataclasses
import math
import random

ROUNDS = 200  # of the simulation
SEED = 1
NORMAL_FROM = 30  # counts expected, from where on they are drawn from a normal distribution


@dataclasses.dataclass
class Draw:
    """What was seen of a program."""
    weights: dict = dataclasses.field(default_factory=dict)  # tid -> leaf -> how much of its time
    looks: dict = dataclasses.field(default_factory=dict)  # tid -> how often it was looked at
    seconds: float = 0.0
    worth: float = 1.0  # of a look: less when some tell the same or stand for more than others

    def add(self, tid, leaf, weight, looks):
        self.weights.setdefault(tid, collections.Counter())[leaf] += weight
        self.looks[tid] = self.looks.get(tid, 0) + looks

    def leaves(self):
        """The share of each leaf."""
        added = collections.Counter()
        for weights in self.weights.values():
            added.update(weights)
        whole = sum(added.values())
        return {leaf: weight / whole for leaf, weight in added.items()} if whole else {}

    def merged(self, part):
        """The same with other leaves, as by function in place of by line."""
        draw = Draw(looks=self.looks, seconds=self.seconds, worth=self.worth)
        for tid, weights in self.weights.items():
            draw.weights[tid] = collections.Counter()
            for leaf, weight in weights.items():
                draw.weights[tid][part(leaf)] += weight
        return draw


def by_function(draw):
    return draw.merged(lambda leaf: leaf[:2])


def together(draws):
    whole = Draw(seconds=sum(draw.seconds for draw in draws), worth=sum(draw.worth for draw in draws) / len(draws))
    for draw in draws:
        for tid, weights in draw.weights.items():
            whole.looks[tid] = whole.looks.get(tid, 0) + draw.looks[tid]
            whole.weights.setdefault(tid, collections.Counter()).update(weights)
    return whole


def differences(one, other):
    """Of each leaf's share, in points."""
    a, b = one.leaves(), other.leaves()
    return {leaf: (a.get(leaf, 0) - b.get(leaf, 0)) * 100 for leaf in a.keys() | b.keys()}


def distance(one, other):
    return sum(map(abs, differences(one, other).values())) / 2


# ---- noise ----

@dataclasses.dataclass
class Part:
    """A thread's part in two draws: of which looks it has so many, in each."""
    leaves: dict  # leaf -> its share in the thread, of both draws together
    looks: tuple
    shares: tuple  # its share of all that was seen, in each


def draws_of(looks, draw, stay_ms):
    """Looks that are independent: in a program that stays in one place for some milliseconds they are fewer."""
    worth = looks * draw.worth
    return min(worth, draw.seconds * 1000 / stay_ms) if stay_ms else worth


def parts_of(one, other, stay_ms):
    """Threads that only one of the draws has are taken together. At most one of their looks in a tick counts."""
    both = one.weights.keys() & other.weights.keys()
    groups = [[tid] for tid in both] + [list((one.weights.keys() | other.weights.keys()) - both)]
    for tids in filter(None, groups):
        shares, looks, leaves = [], [], collections.Counter()
        for draw in (one, other):
            whole = sum(sum(weights.values()) for weights in draw.weights.values())
            ticks = max(draw.looks.values(), default=0)
            seen = min(sum(draw.looks.get(tid, 0) for tid in tids), ticks)
            weight = sum(sum(draw.weights.get(tid, {}).values()) for tid in tids)
            shares.append(weight / whole if whole else 0)
            looks.append(draws_of(seen, draw, stay_ms))
            for tid in tids:
                for leaf, part in draw.weights.get(tid, {}).items():
                    leaves[leaf] += part / weight * seen
        total = sum(leaves.values())
        if total:
            yield Part({leaf: part / total for leaf, part in leaves.items()}, tuple(looks), tuple(shares))


def poisson(chance, expected):
    if expected > NORMAL_FROM:
        return max(chance.gauss(expected, math.sqrt(expected)), 0.0)
    limit, count, product = math.exp(-expected), 0, chance.random()
    while product > limit:
        count += 1
        product *= chance.random()
    return count


def drawn(chance, part, looks):
    """Shares of leaves in so many looks. Counts that are drawn each by itself and made shares are multinomial ones."""
    counts = {leaf: poisson(chance, share * looks) for leaf, share in part.leaves.items()}
    whole = sum(counts.values())
    return {leaf: count / whole for leaf, count in counts.items()} if whole else part.leaves


def noise(one, other, stay_ms=0):
    """The mean distance of two draws that differ by chance alone."""
    chance = random.Random(SEED)
    parts = list(parts_of(one, other, stay_ms))
    found = 0.0
    for _ in range(ROUNDS):
        apart = collections.Counter()
        for part in parts:
            # What a thread had of the whole in one draw and not in the other is no chance.
            share = sum(part.shares) / 2
            a, b = (drawn(chance, part, looks) if looks else part.leaves for looks in part.looks)
            for leaf in part.leaves:
                apart[leaf] += (a[leaf] - b[leaf]) * share
        found += sum(map(abs, apart.values())) / 2
    return found / ROUNDS * 100


def worth_of_waiting(share, each_s, interval_s):
    """Of looks at regular times at a program that waits for its processor in this share of the time: while it waits, for
    so long each time, all tell the same. Most of the waiting is in waits of twice the mean."""
    return 1 / (1 - share + share * max(2 * each_s / interval_s, 1))


def noise_of_share(share, looks):
    """The mean distance of a share that is seen from one that is known, in points."""
    return math.sqrt(2 / math.pi * max(share * (1 - share), 1 / max(looks, 1)) / max(looks, 1)) * 100
