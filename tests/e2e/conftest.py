# SPDX-License-Identifier: MIT
from fixtures import *  # noqa: F401, F403  tests/oracle has the same
