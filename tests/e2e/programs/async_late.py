# SPDX-License-Identifier: MIT
"""Does something else until it has a line of standard input, and only then uses asyncio, until standard input ends."""
import os
import select

while not select.select([0], [], [], 0)[0]:
    pass
os.read(0, 1)

import asyncio  # pylint: disable=wrong-import-position


async def late():
    while not select.select([0], [], [], 0)[0]:
        await asyncio.sleep(0.1)


async def main():
    await asyncio.create_task(late(), name="late")


asyncio.run(main())
