# SPDX-License-Identifier: MIT
"""Sleeps for seven tenths of its time."""
import account


def work(own):
    account.compute(3)
    account.nap(own, 7)


account.run(work)
