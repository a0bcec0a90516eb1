# SPDX-License-Identifier: MIT
"""pytest --pyreel: records the tests. The label of a test's setup, call and teardown is its node id.

With pytest-xdist each worker records itself into a file of its own, FILE-gw0.pyreel: so it works where a recorder may read none
but the process that gives it leave, and the programs take the files together. The process that deals the tests out runs none.
"""

import glob
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

from ._error import Error
from ._labels import label
from ._recording import Recording, record, stop

ENDING = ".pyreel"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("pyreel", "where the time of the tests goes (pyreel)")
    group.addoption("--pyreel", nargs="?", const="tests" + ENDING, metavar="FILE",
                    help="record the tests into FILE (tests.pyreel), or with -n into FILE-gw0.pyreel, FILE-gw1.pyreel, ...: "
                         "`pyreel report --by task FILE` has the time of each test")
    group.addoption("--pyreel-options", default="", metavar="OPTIONS", help="options of pyreel-record: --pyreel-options='--native -r 500'")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("pyreel")
    if path is None:
        return
    if not path.endswith(ENDING):
        raise pytest.UsageError(f"--pyreel takes {path} for the file of the recording, which must end in {ENDING}: "
                                "name tests before --pyreel, or write --pyreel=FILE")
    worker = getattr(config, "workerinput", None)
    if worker is None and config.getoption("dist", "no") != "no":
        config.option.pyreel = os.path.abspath(path)  # workers may run elsewhere
        config.pluginmanager.register(_Dealer(config), "pyreel-dealer")
    else:
        config.pluginmanager.register(_Recorder(config, _of_worker(path, worker["workerid"]) if worker else path), "pyreel-recorder")


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Whoever records, as pyreel-record -f -- python3 -m pytest: without a recorder this does nothing."""
    with label(item.nodeid):
        yield


def _of_worker(path: str, worker: str) -> str:
    return f"{path.removesuffix(ENDING)}-{worker}{ENDING}"


def _options(config: pytest.Config) -> list[str]:
    return shlex.split(config.getoption("pyreel_options"))


def _start(recording: Recording) -> None:
    try:
        recording.start()
    except Error as error:
        raise pytest.UsageError(f"--pyreel: {error}") from None


def _tell(terminal: Any, files: str, said: str) -> None:
    terminal.section("pyreel")
    terminal.line(said)
    terminal.line(f"the time of each test: pyreel report --weight wall --by task {files}")


class _Recorder:
    """Records this process from the collection of the tests to the end."""

    def __init__(self, config: pytest.Config, path: str) -> None:
        self._recording = record(path, options=_options(config))
        self._said = ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        _start(self._recording)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        try:
            self._recording.stop()
            self._said = self._recording.messages
        except Error as error:  # the tests are not to blame
            self._said = f"WARNING: {error}"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        _tell(terminalreporter, shlex.quote(self._recording.path), self._said)


class _Dealer:
    """Deals the tests out to workers, which record themselves. Files of workers of an earlier run would be taken for theirs."""

    def __init__(self, config: pytest.Config) -> None:
        self._path = config.option.pyreel
        self._options = _options(config)
        for old in self._files():
            os.unlink(old)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """What a recorder refuses is said once, and not as the end of each worker."""
        with tempfile.TemporaryDirectory() as folder:
            _start(record(os.path.join(folder, "trial" + ENDING), options=self._options))
            stop()

    def _files(self) -> list[str]:
        pattern = re.compile(re.escape(self._path.removesuffix(ENDING)) + r"-gw\d+" + re.escape(ENDING))
        return sorted(filter(pattern.fullmatch, glob.glob(glob.escape(self._path.removesuffix(ENDING)) + "-gw*" + ENDING)))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        files = [os.path.relpath(path) for path in self._files()]
        _tell(terminalreporter, shlex.join(files), f"{len(files)} recordings, one of each worker: {', '.join(files)}")
