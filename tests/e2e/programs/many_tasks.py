# SPDX-License-Identifier: MIT
"""Tasks with known lives: many_tasks.py TASKS SECONDS. Begins so many tasks in that time; each is named job-NUMBER, works
a little, and then sleeps for a tenth of the time. Prints JSON: of each job when it was made and when it ended, in seconds
of the monotonic clock."""
import asyncio
import json
import sys
import time

lives = {}


async def job(number, made, seconds):
    until = time.monotonic() + 0.0001
    while time.monotonic() < until:
        pass
    await asyncio.sleep(seconds)
    lives[f"job-{number}"] = [made, time.monotonic()]


async def begin_all(count, seconds):
    began, jobs = time.monotonic(), []
    for number in range(count):
        jobs.append(asyncio.create_task(job(number, time.monotonic(), seconds / 10), name=f"job-{number}"))
        await asyncio.sleep(max(0, began + seconds * (number + 1) / count - time.monotonic()))
    await asyncio.gather(*jobs)


asyncio.run(begin_all(int(sys.argv[1]), float(sys.argv[2])))
print(json.dumps(lives))
