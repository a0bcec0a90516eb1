# SPDX-License-Identifier: MIT
"""Attributes that are computed: properties, __getattr__, descriptors of our own, and functions within decorators."""
import functools
import os


def logged(function):
    @functools.wraps(function)
    def wrapper(*arguments, **more):
        return function(*arguments, **more)  # -> scale Vector.plus
    return wrapper


def checked(least):
    def decorate(function):
        @functools.wraps(function)
        def guard(n):
            if n < least:
                raise ValueError(n)
            return function(n)  # -> logged.<locals>.wrapper
        return guard
    return decorate


class Positive:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner):
        return getattr(instance, self.name)

    def __set__(self, instance, value):
        setattr(instance, self.name, abs(value))


class Vector:
    x = Positive()
    y = Positive()

    def __init__(self, x, y):
        self.x = x  # -> Positive.__set__
        self.y = y  # -> Positive.__set__

    @property
    def length(self):
        return (self.x * self.x  # -> Positive.__get__
                + self.y * self.y) ** 0.5  # -> Positive.__get__

    @logged
    def plus(self, other):
        return Vector(self.x + other.x, self.y + other.y)  # -> Positive.__get__ Vector.__init__

    @classmethod
    def unit(cls):
        return cls(1, 0)  # -> Vector.__init__


class Proxy:
    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)  # -> Vector.length Positive.__get__


@checked(0)
@logged
def scale(n):
    return n * 3 + 1


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        vector = Vector(3, -4)  # -> Vector.__init__
        proxy = Proxy(vector)  # -> Proxy.__init__
        for n in range(5):
            scale(n)  # -> checked.<locals>.decorate.<locals>.guard
            proxy.length  # -> Proxy.__getattr__
            proxy.y  # -> Proxy.__getattr__
        vector.plus(Vector.unit())  # -> logged.<locals>.wrapper Vector.unit


main()  # -> main
