# SPDX-License-Identifier: MIT
"""Does something else first, and only then uses asyncio."""
import time

time.sleep(1.0)

import asyncio  # pylint: disable=wrong-import-position


async def late():
    await asyncio.sleep(2.5)


async def main():
    task = asyncio.create_task(late(), name="late")
    while not task.done():
        await asyncio.sleep(0.1)


asyncio.run(main())
