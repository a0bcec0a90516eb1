# SPDX-License-Identifier: MIT
"""Is in an `except` for a third of its time."""
import account


def work(own):
    account.handle(own, 3)
    account.compute(6)


account.run(work)
