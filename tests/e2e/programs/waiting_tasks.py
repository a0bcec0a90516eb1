# SPDX-License-Identifier: MIT
"""Tasks that sleep: waiting_tasks.py TASKS. Each is named job-NUMBER; all of them wait when it is ready."""
import asyncio
import os
import signal
import sys


async def job():
    await asyncio.sleep(600)


async def main():
    jobs = [asyncio.create_task(job(), name=f"job-{number}") for number in range(int(sys.argv[1]))]
    await asyncio.sleep(0)  # each runs up to its sleep
    print("ready", os.getpid(), flush=True)
    await asyncio.gather(*jobs)


signal.alarm(600)
asyncio.run(main())
