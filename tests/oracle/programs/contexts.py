# SPDX-License-Identifier: MIT
"""Context managers, decorators, calls with keywords and stars, and loops over iterators written in Python."""
import contextlib
import functools
import os

#: _GeneratorContextManager.__enter__ -> managed
#: _GeneratorContextManager.__exit__ -> managed
#: _GeneratorContextManagerBase.__init__ -> managed


def enter_work(n):
    return n + 1


def exit_work(n):
    return n - 1


class Manager:
    def __enter__(self):
        enter_work(1)  # -> enter_work
        return self

    def __exit__(self, *reason):
        exit_work(1)  # -> exit_work
        return True


@contextlib.contextmanager
def managed():
    enter_work(2)  # -> enter_work
    yield 1
    exit_work(2)  # -> exit_work


def inside(n):
    return n * 2


def with_class():
    with Manager():  # -> Manager.__enter__ Manager.__exit__
        inside(1)  # -> inside
    with Manager():  # -> Manager.__enter__ Manager.__exit__
        raise KeyError(1)


def with_generator():
    with managed():  # -> *
        inside(2)  # -> inside


def traced(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        enter_work(3)  # -> enter_work
        result = function(*args, **kwargs)  # -> decorated also_decorated wrapper
        exit_work(3)  # -> exit_work
        return result
    return wrapper


@traced
def decorated(n, m=1):
    return inside(n + m)  # -> inside


@traced
@traced
def also_decorated(n, *rest):
    return inside(n)  # -> inside


def keywords(a, b=2, *, c=3, **rest):
    return inside(a + b + c)  # -> inside


def stars(*args, **kwargs):
    return keywords(*args, **kwargs)  # -> keywords


def calls():
    values = {"b": 1, "c": 2}
    stars(1, **values)  # -> stars
    keywords(1, c=5, d=6)  # -> keywords
    decorated(1, m=2)  # -> wrapper
    also_decorated(*[1, 2, 3])  # -> wrapper


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n = exit_work(self.n)  # -> exit_work
        return self.n


def loops():
    for n in Countdown(5):  # -> Countdown.__init__ Countdown.__iter__ Countdown.__next__
        inside(n)  # -> inside
    first, *_ = Countdown(3)  # -> Countdown.__init__ Countdown.__iter__ Countdown.__next__
    return first


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        with_class()  # -> with_class
        with_generator()  # -> with_generator managed
        calls()  # -> calls
        loops()  # -> loops


main()  # -> main
