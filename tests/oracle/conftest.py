# SPDX-License-Identifier: MIT
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
from fixtures import *  # noqa: E402, F401, F403  options, fixtures and hooks, as in tests/e2e
