# SPDX-License-Identifier: MIT
"""A module of the package."""
import mill


class Wheel:
    def turn(self):
        mill.spin()
