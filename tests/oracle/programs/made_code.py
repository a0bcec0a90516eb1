# SPDX-License-Identifier: MIT
"""Code that is made, run a few times and freed: functions from exec, lambdas, copies, and modules that are imported.
Memory of a code object that was freed is used for the next one, so its name must go with its file and with its line.

What is made is the body of one of the functions *_body, with its number in the place of NUMBER; it is moved down by the
number modulo 100 and its file is called after the number, too. See MadeCode in cases.py.
"""
import importlib.util
import os
import sys
import types

#: _call_with_frames_removed -> Importer.exec_module
#: * -> Importer.find_spec Importer.create_module Importer.exec_module
# Wherever something is freed:
#: * -> _get_module_lock.<locals>.cb _WeakValueDictionary.__init__.<locals>.KeyedRef.remove


def helper(n):
    return n + 1


def gen_body():
    def made_NUMBER(n):
        n = n + 1
        n = helper(n)  # -> helper
        return n


def mod_body():
    def made_NUMBER(n):
        n = helper(n)  # -> helper
        return n
    made_NUMBER(1)  # -> made_NUMBER
    made_NUMBER(2)  # -> made_NUMBER


def fun_body():
    (lambda n: helper(n))  # -> <lambda>/helper


def new_body(n):
    n = n + 1
    n = n + 2
    n = helper(n)  # -> helper
    return n


with open(__file__, encoding="utf-8") as file:
    SOURCE = file.read().splitlines()


def body_of(function):
    first = function.__code__.co_firstlineno
    last = next((i for i in range(first, len(SOURCE)) if not SOURCE[i]), len(SOURCE))
    return "\n".join(line[4:] for line in SOURCE[first:last])


BODIES = {function: body_of(function) for function in (gen_body, mod_body, fun_body)}


def code_of(function, number, mode="exec"):
    source = "\n" * (number % 100) + BODIES[function].replace("NUMBER", str(number))
    return compile(source, f"{function.__name__[:3]}-{number}", mode)


def repeat(made, number):
    for _ in range(number % 20):
        made(1)  # -> made_NUMBER <lambda> new_body


def by_exec(number):
    names = {"helper": helper}
    exec(code_of(gen_body, number), names)  # -> code_of gen_body
    repeat(names[f"made_{number}"], number)  # -> repeat


def by_eval(number):
    made = eval(code_of(fun_body, number, "eval"), {"helper": helper})  # -> code_of fun_body
    repeat(made, number)  # -> repeat


def by_copy(number):
    code = new_body.__code__.replace(co_name=f"made_{number}", co_qualname=f"made_{number}",
                                     co_filename=f"new-{number}", co_firstlineno=number % 100 + 1)
    repeat(types.FunctionType(code, {"helper": helper}), number)  # -> repeat


def by_import(number):
    importlib.import_module(f"mod_{number}")  # -> *
    del sys.modules[f"mod_{number}"]


class Importer:
    """Finds and runs modules that are called mod_NUMBER."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.startswith("mod_"):
            return importlib.util.spec_from_loader(name, cls)  # -> *
        return None

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        module.helper = helper
        number = int(module.__name__[4:])
        exec(code_of(mod_body, number), module.__dict__)  # -> code_of mod_body


def main():
    sys.meta_path.insert(0, Importer)
    print("ready", os.getpid(), flush=True)
    number = 1
    while True:
        by_exec(number)  # -> by_exec
        by_import(number + 1)  # -> by_import
        by_copy(number + 2)  # -> by_copy
        by_eval(number + 3)  # -> by_eval
        number = number + 4 if number < 50000 else 1


main()  # -> main
