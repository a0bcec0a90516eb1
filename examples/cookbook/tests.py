# SPDX-License-Identifier: MIT
"""Tests of a small shop: some compute, one waits, and one spends its time in what it needs before it can begin.

After each test the program prints what the test took, with its setUp().
"""
import json
import sqlite3
import time
import unittest

GOODS = [(n, f"article {n}", n % 100) for n in range(20000)]


def sum_of_prices(goods):
    return sum(price for _, _, price in goods)


def export(goods):
    return json.dumps([{"id": n, "name": name, "price": price} for n, name, price in goods])


def wait_for_payment(seconds):
    time.sleep(seconds)
    return True


class Timed(unittest.TestCase):
    def run(self, result=None):
        wall, cpu = time.perf_counter(), time.thread_time()
        super().run(result)
        print(f"{self.id().rpartition('__.')[2]:<28}{time.perf_counter() - wall:6.2f} s, {time.thread_time() - cpu:5.2f} s of CPU")


class TestGoods(Timed):
    def test_export(self):
        for _ in range(6):
            self.assertEqual(len(json.loads(export(GOODS))), len(GOODS))

    def test_sum(self):
        for _ in range(120):
            self.assertGreater(sum_of_prices(GOODS), 0)


class TestPayment(Timed):
    def test_payment(self):
        self.assertTrue(wait_for_payment(1.0))


class TestStore(Timed):
    def setUp(self):
        self.store = sqlite3.connect(":memory:")
        self.store.execute("create table goods (id integer, name text, price integer)")
        for _ in range(4):
            self.store.executemany("insert into goods values (?, ?, ?)", (tuple(row) for row in GOODS))
        self.addCleanup(self.store.close)

    def test_dear(self):
        self.assertEqual(self.store.execute("select max(price) from goods").fetchone()[0], 99)

    def test_empty_name(self):
        self.assertEqual(self.store.execute("select count(*) from goods where name = ''").fetchone()[0], 0)


if __name__ == "__main__":
    unittest.main()
