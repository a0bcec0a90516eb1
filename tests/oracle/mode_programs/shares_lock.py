# SPDX-License-Identifier: MIT
"""Two threads that compute: each has the lock for half of the time."""
import account


def work(_own):
    account.compute(4)


account.run(work, work)
