# SPDX-License-Identifier: MIT
"""Three threads, each with its own mixture, that get in each other's way."""
import account


def one(own):
    account.handle(own, 3)
    account.nap(own, 5)
    account.compute(4)


def other(own):
    account.leave_lock(own, 5)
    account.handle(own, 2)


def sleeper(own):
    account.nap(own, 8)
    account.handle(own, 2)


account.run(one, other, sleeper)
