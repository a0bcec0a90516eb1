# SPDX-License-Identifier: MIT
"""Stands for a test suite: two tests of a small library of orders, each so many times. The number of rounds can be given.

"python3 ci_slower.py 40 new" is the version after a change of clean_name(): it looks for accents letter by letter.
"""
import json
import sys
import time
import unicodedata

NAMES = ["Ångström", "Curie", "Müller", "Noether", "Łukasiewicz", "Gödel", "Lovelace", "Erdős"] * 40
NEW = "new" in sys.argv[2:]


def without_accents(letter):
    parts = unicodedata.normalize("NFD", letter)
    return "".join([part for part in parts if not unicodedata.combining(part)])


def clean_name(name):
    if NEW:
        cleaned = ""
        for letter in name:
            cleaned += without_accents(letter)
        return cleaned.lower()
    return unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()


def load_orders(text):
    orders = json.loads(text)
    for order in orders:
        order["customer"] = clean_name(order["customer"])
    return orders


def total_of(orders):
    total = 0.0
    for order in orders:
        for price in order["prices"]:
            total += round(price * 1.19, 2)
    return total


def make_orders():
    return json.dumps([{"customer": name, "prices": [number * 0.5 for number in range(20)]} for name in NAMES])


def test_load():
    assert len(load_orders(make_orders())) == len(NAMES)


def test_total():
    orders = [{"prices": [number * 0.5 for number in range(20)]} for _ in NAMES]
    assert total_of(orders) > 0


def main(rounds):
    spent = dict.fromkeys((test_load, test_total), 0.0)
    for _ in range(rounds):
        for test in spent:
            started = time.process_time()
            test()
            spent[test] += time.process_time() - started
    print(", ".join(f"{test.__name__} {seconds:.2f} s" for test, seconds in spent.items()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 200)
