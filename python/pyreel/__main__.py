# SPDX-License-Identifier: MIT
"""python -m pyreel VERB ...: becomes the program pyreel."""

import os
import sys

from ._error import Error
from ._programs import find


def main() -> None:
    try:
        program = find("pyreel")
    except Error as error:
        sys.exit(f"pyreel: {error}")
    os.execv(program, ["pyreel", *sys.argv[1:]])


main()
