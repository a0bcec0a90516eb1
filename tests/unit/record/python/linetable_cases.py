# SPDX-License-Identifier: MIT
"""Prints cases for test_linetable.c: real location tables with what CPython itself makes of them.

    python3.11 tests/unit/record/python/linetable_cases.py py311 >>tests/unit/record/python/linetable_cases.h
"""
import sys
import textwrap

NAME = sys.argv[1]


def compiled(source):
    """The code of the first function or class in the source."""
    module = compile(textwrap.dedent(source), "a.py", "exec")
    return next(const for const in module.co_consts if hasattr(const, "co_code"))


def varint(value):
    out = []
    while value >= 64:
        out.append(0x40 | value & 63)
        value >>= 6
    return bytes(out + [value])


def svarint(value):
    return varint(-value << 1 | 1 if value < 0 else value << 1)


def entry(kind, units, *parts):
    return bytes([0x80 | kind << 3 | units - 1]) + b"".join(parts)


def made_by_hand():
    """Every kind of entry, steps up and down, large numbers; the decoder that tells the result is CPython's."""
    table = b"".join([
        entry(15, 1),
        *(entry(kind, kind % 8 + 1, bytes([kind * 29 & 255])) for kind in range(10)),
        entry(10, 3, b"\x00\x05"), entry(11, 1, b"\x10\xff"), entry(12, 2, b"\xfe\xff"),
        entry(13, 1, svarint(5)), entry(13, 4, svarint(-7)), entry(13, 1, svarint(100000)),
        entry(14, 1, svarint(-99990), varint(3), varint(1), varint(40)),
        entry(14, 2, svarint(0), varint(0), varint(0), varint(0)),
        entry(14, 3, svarint(70), varint(500), varint(3000), varint(70000)),
        entry(15, 8), entry(0, 1, b"\x11"),
    ])
    units = sum((byte & 7) + 1 for byte in split(table))
    code = (lambda: None).__code__
    return code.replace(co_firstlineno=20, co_linetable=table, co_code=bytes([9, 0]) * units)


def split(table):
    """The first byte of each entry, told by its kind and not by bit 7: columns may have that bit too."""
    at = 0
    while at < len(table):
        head = table[at]
        yield head
        kind = head >> 3 & 15
        at += 1
        if kind < 10:
            at += 1
        elif kind < 13:
            at += 2
        elif kind < 15:
            for _ in range(1 if kind == 13 else 4):
                while table[at] & 0x40:
                    at += 1
                at += 1


SOURCES = {
    "plain": """
        def f(a, b):
            c = a + b
            return c * 2
        """,
    "loop": """
        def f(rows):
            total = 0
            for row in rows:
                if row > 3:
                    continue
                total += sum(
                    value * 2
                    for value in range(row)
                )
            return total
        """,
    "handlers": """
        def f(path):
            try:
                with open(path) as file:
                    yield file.read()
            except OSError as error:
                raise ValueError(
                    "no file",
                    path) from error
            finally:
                print("done")
        """,
    "wide": "def f(a):\n    return [" + " " * 150 + "a.b.c, (a +\n" + " " * 300 + "1), a[0:\n\n\n\n\n\n\n\n4]]\n",
    "class_body": """
        class C:
            "text"
            x: int = 3

            def m(self): return self.x
        """,
    "coroutine": """
        async def f(source):
            async for x in source:
                async with x as y:
                    await y.z(*[w async for w in y], **{"k": 1})
            match source:
                case {"a": [1, *rest]} if rest:
                    return lambda q=1: (yield q)
        """,
}


def runs(code):
    """Places of equal neighbours, as (units, line, end line, column, end column) with 0 and -1 for unknown."""
    out = []
    for line, end_line, column, end_column in code.co_positions():
        place = (line or 0, end_line or 0, -1 if column is None else column, -1 if end_column is None else end_column)
        if out and out[-1][1:] == place:
            out[-1] = (out[-1][0] + 1, *place)
        else:
            out.append((1, *place))
    return out


def show(name, code):
    table = ", ".join(f"0x{byte:02x}" for byte in code.co_linetable)
    print(f"static const uint8_t {name}_table[] = {{ {table} }};")
    print(f"static const struct run {name}_runs[] = {{")
    print("    " + ", ".join("{ %d, { %d, %d, %d, %d } }" % run for run in runs(code)) + ",")
    print("};\n")


if __name__ == "__main__":
    names = []
    for name, code in [*((n, compiled(s)) for n, s in SOURCES.items()), ("by_hand", made_by_hand())]:
        show(f"{NAME}_{name}", code)
        names.append((f"{NAME}_{name}", code.co_firstlineno))
    print(f"#define {NAME.upper()}_CASES \\")
    print(", \\\n".join(f"    CASE({name}, {first})" for name, first in names))
    print()
