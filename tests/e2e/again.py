# SPDX-License-Identifier: MIT
"""A test that fails runs once more. These tests time real programs, and another program on the machine can take the
processors for a second, as often as once in a thousand tests. A test that fails twice fails. A test that fails once is
no failure and no secret: the first failure is printed whole at the end. More than a few of them fail the run."""

import pytest
from _pytest.runner import runtestprotocol

FAILED_ONCE_MOST = 5  # of about 900 tests

failed_once = []  # reports


def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    # With no next test all fixtures end, so a second run makes its own, those of the session among them.
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    failures = [report for report in reports if report.failed]
    if failures and len(failed_once) <= FAILED_ONCE_MOST:
        item.session._setupstate.teardown_exact(None)
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if not any(report.failed for report in reports):
            failed_once.extend(failures[:1])
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    if len(failed_once) > FAILED_ONCE_MOST:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    if not failed_once:
        return
    terminalreporter.section(f"{len(failed_once)} failed at first and passed when run again")
    for report in failed_once:
        terminalreporter.write_sep("_", report.nodeid)
        terminalreporter.write_line(report.longreprtext)
    for report in failed_once:
        terminalreporter.write_line(f"FAILED AT FIRST {report.nodeid}")
    if len(failed_once) > FAILED_ONCE_MOST:
        terminalreporter.write_line(f"More than {FAILED_ONCE_MOST} failed at first: this is a failure of the run")
