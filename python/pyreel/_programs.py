# SPDX-License-Identifier: MIT
"""Where pyreel's programs are: those that were installed with this package come first, then those of PATH."""

import functools
import os
import shutil
import sysconfig
from collections.abc import Iterator

from ._error import Error


def _folders() -> Iterator[str]:
    yield os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin")  # pip install --target FOLDER
    yield sysconfig.get_path("scripts")
    yield sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))


@functools.cache
def find(name: str) -> str:
    """The path of a program, such as "pyreel-record". Raises Error where there is none."""
    found = shutil.which(name, path=os.pathsep.join(_folders())) or shutil.which(name)
    if found is None:
        raise Error(f"the program {name} was not found beside the package pyreel, nor in PATH: "
                    "install the wheel of this machine's processor, or put pyreel's programs into a folder of PATH")
    return found
