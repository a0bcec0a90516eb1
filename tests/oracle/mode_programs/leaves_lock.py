# SPDX-License-Identifier: MIT
"""Holds the lock for half of its time, and computes without it in the other half."""
import account


def work(own):
    account.compute(4)
    account.leave_lock(own, 4)


account.run(work)
