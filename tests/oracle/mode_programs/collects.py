# SPDX-License-Identifier: MIT
"""Collects garbage for half of its time, while another thread computes, too."""
import account


def work(own):
    account.collect(own, 5)
    account.compute(5)


def other(_own):
    account.compute(4)


account.run(work, other)
