# SPDX-License-Identifier: MIT
"""A command-line tool that does next to nothing, and yet takes a while: it imports the package shop, in this folder."""
import time

started = time.perf_counter()
import shop  # noqa: E402

imported = time.perf_counter()
print(f"4711-redshirt: {len(shop.describe('4711-redshirt'))} letters; import {imported - started:.2f} s, "
      f"work {time.perf_counter() - imported:.4f} s")
