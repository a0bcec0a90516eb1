# SPDX-License-Identifier: MIT
"""Records where this program spends its time, with pyreel-record.

    with pyreel.record("slow.pyreel"):
        work()

`recorded` does so with each call of a function, `start` and `stop` between two places. `label` names what a thread or an asyncio
task does from now on. `%load_ext pyreel` adds %pyreel and %%pyreel to IPython and Jupyter, `pytest --pyreel` records tests, and
`python -m pyreel report slow.pyreel` runs the programs. docs/python.md has examples.
"""

from typing import Any

from ._error import Error
from ._labels import label
from ._recording import Recording, record, recorded, start, stop

__all__ = ["Error", "Recording", "label", "record", "recorded", "start", "stop"]
__version__ = "1.0.0"


def load_ipython_extension(shell: Any) -> None:
    """Adds %pyreel and %%pyreel: IPython calls this for %load_ext pyreel."""
    from ._notebook import Magics  # needs IPython, which other programs may not have

    shell.register_magics(Magics)
