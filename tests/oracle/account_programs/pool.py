# SPDX-License-Identifier: MIT
"""A pool of three threads: jobs of 4 and 1 ms, which the main thread waits for, two at a time."""
import concurrent.futures

import books


@books.counted
def large_job():
    books.use(0.004)


@books.counted
def small_job():
    books.use(0.001)


with concurrent.futures.ThreadPoolExecutor(3) as pool:
    while books.is_working():
        concurrent.futures.wait([pool.submit(large_job), pool.submit(small_job)])
books.close()
