# SPDX-License-Identifier: MIT
"""Methods that no call is written for: operators, attributes, items, comparisons, truth, length, and making objects."""
import os


class Number:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return plus(self.value, other)  # -> plus

    def __radd__(self, other):
        return minus(self.value, other)  # -> minus

    def __eq__(self, other):
        return plus(self.value, other) == 2  # -> plus

    def __lt__(self, other):
        return minus(self.value, other) < 0  # -> minus

    def __getitem__(self, key):
        return plus(self.value, key)  # -> plus

    def __setitem__(self, key, value):
        minus(key, value)  # -> minus

    def __contains__(self, key):
        return minus(self.value, key) == 0  # -> minus

    def __len__(self):
        return 3

    def __bool__(self):
        return plus(1, 1) == 2  # -> plus

    def __call__(self, n):
        return minus(n, n)  # -> minus

    def __hash__(self):
        return plus(1, 2)  # -> plus

    def __iadd__(self, other):
        minus(1, 2)  # -> minus
        return self

    def __str__(self):
        return "number"

    @property
    def double(self):
        return plus(self.value, self.value)  # -> plus

    @double.setter
    def double(self, value):
        self.value = minus(value, 0)  # -> minus

    @staticmethod
    def zero():
        return plus(0, 0)  # -> plus

    @classmethod
    def one(cls):
        return cls(1)  # -> Number.__init__


class Loose:
    def __getattr__(self, name):
        return plus(1, 2)  # -> plus

    def __setattr__(self, name, value):
        minus(1, value)  # -> minus


class Child(Number):
    def __init__(self, value):
        super().__init__(value)  # -> Number.__init__
        plus(1, 1)  # -> plus


def plus(a, b):
    return a + b


def minus(a, b):
    return a - b


def arithmetic(n):
    n + 1  # -> Number.__add__
    1 + n  # -> Number.__radd__
    n += 1  # -> Number.__iadd__
    n == 1  # -> Number.__eq__
    n < 1  # -> Number.__lt__
    return n


def items(n):
    n[1]  # -> Number.__getitem__
    n[1] = 2  # -> Number.__setitem__
    1 in n  # -> Number.__contains__
    len(n)  # -> Number.__len__
    {n: 1}  # -> Number.__hash__
    if n:  # -> Number.__bool__
        f"{n}"  # -> Number.__str__
    return n(1)  # -> Number.__call__


def attributes(n, loose):
    n.double  # -> Number.double
    n.double = 1  # -> Number.double
    n.zero()  # -> Number.zero
    Number.one()  # -> Number.one
    loose.anything  # -> Loose.__getattr__
    loose.other = 1  # -> Loose.__setattr__
    return n


def making():
    Number(1)  # -> Number.__init__
    Child(2)  # -> Child.__init__
    Number(3)  # -> Number.__init__


def main():
    print("ready", os.getpid(), flush=True)
    number, loose = Number(1), Loose()
    while True:
        arithmetic(number)  # -> arithmetic
        items(number)  # -> items
        attributes(number, loose)  # -> attributes
        making()  # -> making


main()  # -> main
