# SPDX-License-Identifier: MIT
"""Class bodies, metaclasses, comprehensions (which are functions before CPython 3.12) and lambdas."""
import os


def helper(n):
    return n + 1


def base(n):
    return n - 1


class Meta(type):
    def __new__(cls, name, bases, names):
        helper(1)  # -> helper
        return super().__new__(cls, name, bases, names)

    def __call__(cls, n):
        base(2)  # -> base
        return n


def plain_class():
    class Plain:  # -> Plain
        one = helper(1)  # -> helper
        two = base(2)  # -> base

        def method(self):
            return self
    return Plain


def meta_class():
    class Made(metaclass=Meta):  # -> Made Meta.__new__
        one = helper(1)  # -> helper

        class Inner:  # -> Inner
            two = base(2)  # -> base
    Made(1)  # -> Meta.__call__
    return Made


def lists():
    return [  # -> lists/<listcomp>
        helper(n)  # -> helper
        for n in (1, 2, 3)
        if base(n)]  # -> base


def sets():
    return {  # -> sets/<setcomp>
        base(n)  # -> base
        for n in (1, 2, 3)}


def dicts():
    return {  # -> dicts/<dictcomp>
        base(n):  # -> base
        helper(n)  # -> helper
        for n in (1, 2)}


def nested():
    return [  # -> nested/<listcomp>
        [  # -> <listcomp>
            helper(n + m)  # -> helper
            for n in (1, 2)]
        for m in (1, 2)]


def lambdas():
    first = (lambda n:
             helper(n))  # -> helper
    second = (lambda n:
              base(n))  # -> base
    first(1)  # -> <lambda> = first_call
    second(2)  # -> <lambda> = second_call


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        plain_class()  # -> plain_class
        meta_class()  # -> meta_class
        for _ in range(5):
            lists()  # -> lists
            sets()  # -> sets
            dicts()  # -> dicts
            nested()  # -> nested
            lambdas()  # -> lambdas


main()  # -> main
