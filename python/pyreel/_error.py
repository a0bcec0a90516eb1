# SPDX-License-Identifier: MIT
"""The one exception of this package."""


class Error(RuntimeError):
    """What could not be done, why, and what to do: mostly in pyreel-record's own words."""

    __module__ = "pyreel"
