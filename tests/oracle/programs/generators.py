# SPDX-License-Identifier: MIT
"""Generators: those that live for less than a microsecond, made anew by two consumers in turn; those driven by next()
from two lines; yield from, five deep; generator expressions; generators that are closed or thrown into."""
import os


def short_a(n):
    yield n
    yield n + 1


def short_b(n):
    yield n
    yield n + 2


def consumer_a():
    for n in short_a(1):  # -> short_a
        n += 1


def consumer_b():
    for n in short_b(1):  # -> short_b
        n += 1


def steps():
    while True:
        yield 1
        half(1)  # -> half <- first_next
        yield 2
        half(2)  # -> half <- second_next


def half(n):
    return n / 2


def by_next():
    numbers = steps()  # -> steps
    next(numbers)  # = third_next -> steps
    for _ in range(20):
        next(numbers)  # = first_next -> steps
        next(numbers)  # = second_next -> steps


def nest_1(n):
    yield half(n)  # -> half
    yield n


def nest_2(n):
    yield from nest_1(n)  # -> nest_1


def nest_3(n):
    yield from nest_2(n)  # -> nest_2


def nest_4(n):
    yield from nest_3(n)  # -> nest_3


def nest_5(n):
    yield from nest_4(n)  # -> nest_4
    yield from nest_4(n + 1)  # -> nest_4


def nested():
    for n in nest_5(1):  # -> nest_5
        half(n)  # -> half


def expression():
    return sum(  # -> <genexpr>
        half(n)  # -> half
        for n in (1, 2, 3))


def expression_of_generator():
    return sum(  # -> expression_of_generator/<genexpr> <genexpr>/short_a
        n
        for n in short_a(5))  # -> short_a


def throwable(n):
    try:
        yield n
        yield n + 1
    except KeyError:
        half(1)  # -> half <- thrower
    except GeneratorExit:
        half(2)  # -> half <- closer
        raise


def closer():
    generator = throwable(1)  # -> throwable
    next(generator)  # -> throwable = closer_next
    generator.close()  # -> throwable


def thrower():
    generator = throwable(1)  # -> throwable
    next(generator)  # -> throwable = thrower_next
    try:
        generator.throw(KeyError("x"))  # -> throwable
    except StopIteration:
        pass


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        for _ in range(20):
            consumer_a()  # -> consumer_a
            consumer_b()  # -> consumer_b
        by_next()  # -> by_next steps = freeing
        for _ in range(5):
            nested()  # -> nested
            expression()  # -> expression
            expression_of_generator()  # -> expression_of_generator
            closer()  # -> closer
            thrower()  # -> thrower


main()  # -> main
