# SPDX-License-Identifier: MIT
"""Does something else first, and only then uses asyncio."""
import time

time.sleep(0.5)

import asyncio  # pylint: disable=wrong-import-position


async def late():
    await asyncio.sleep(1.5)


async def main():
    task = asyncio.create_task(late(), name="late")
    while not task.done():
        await asyncio.sleep(0.1)


asyncio.run(main())
