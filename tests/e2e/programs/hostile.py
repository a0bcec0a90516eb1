# SPDX-License-Identifier: MIT
"""Has names that mean something to a terminal, to Markdown or to HTML, and works under each in turn until it is ended."""
import os
import threading
import time

NAMES = [
    "\x1b[2J\x1b]0;owned\x07cleared",
    "a|b`c``d<img src=x onerror=alert(1)>",
    "two\nlines\r\x00end",
    "\u202egnirts\u2066\u200b",
    "*bold* _x_ [link](javascript:alert) @user #1 \\| \\",
    "\u4e2d\u6587\u540d\u524d" * 12,
    "caf\u00e9\U0001F40D",
    "```",
]


def spin():
    until = time.thread_time() + 0.001
    while time.thread_time() < until:
        pass


def named(number, name):
    """A function with this name, in a file with this name."""
    made = {"spin": spin}
    exec(compile("def f():\n spin()\n", f"/made/{number}/{name}.py".replace("\x00", ""), "exec"), made)
    code = made["f"].__code__
    qualified = {"co_qualname": name} if hasattr(code, "co_qualname") else {}
    made["f"].__code__ = code.replace(co_name=name, **qualified)
    return made["f"]


functions = [named(number, name) for number, name in enumerate(NAMES)]
print("ready", os.getpid(), flush=True)
while True:
    for name in NAMES:
        thread = threading.Thread(target=lambda: [function() for function in functions], name=name)
        thread.start()
        thread.join()
