# SPDX-License-Identifier: MIT
"""Recordings are true: no stack that the program can't have had, few samples lost, shares as they really were."""

import pytest

import oracle

SECONDS = 0.5
EXACT_SECONDS = 1.5
SAMPLES = 500  # looks of the reference
# Points above noise: a short time is not the same as another one.
FUNCTION_MOST, LINE_MOST = 6, 8
PYTHONS = oracle.pythons()


@pytest.fixture(scope="module")
def folder():
    with oracle.programs_folder({python.root for python in PYTHONS if python.root}) as folder:
        yield folder


@pytest.mark.parametrize("python", PYTHONS, ids=lambda python: python.name)
@pytest.mark.parametrize("name", oracle.NAMES)
def test_recording_is_true(python, name, folder, tmp_path):
    with oracle.running(python, name, folder, tmp_path) as run:
        reference = run.reference(SAMPLES)
        exact = run.record("1000", EXACT_SECONDS) if oracle.knows_exact() else None
        live = run.record("10000", SECONDS, *(oracle.UNPROVED if exact else ()))
    most = oracle.UNNOTED_MOST * reference.samples if python.minor < 13 else 0
    assert reference.impossible <= most, reference.examples
    assert not live.broken(), f"{live.samples} samples, {live.failed} failed, impossible: {live.examples}"
    if exact:
        assert not exact.broken(), f"{exact.samples} samples, {exact.failed} failed, impossible: {exact.examples}"
        compared = oracle.compare(exact, reference, run.rules.stay_ms)
        function, line = compared.above
        assert function <= FUNCTION_MOST and line <= LINE_MOST, compared


@pytest.mark.parametrize("name", ["generators", "short_generators", "chains", "threads_busy", "threads_short"])
def test_a_stopped_program_has_no_impossible_stacks(name, folder, tmp_path):
    for python in {python.version: python for python in PYTHONS}.values():
        with oracle.running(python, name, folder, tmp_path) as run:
            stopped = run.record("10000", SECONDS, "--blocking")
        assert stopped.samples and not stopped.impossible, stopped.examples


@pytest.mark.parametrize("name", ["chains", "mixed"])
def test_two_references_agree(name, folder, tmp_path):
    with oracle.running(PYTHONS[0], name, folder, tmp_path) as run:
        compared = oracle.compare(run.reference(SAMPLES, "one"), run.reference(SAMPLES, "other"), run.rules.stay_ms)
    assert compared.above[0] <= FUNCTION_MOST and compared.above[1] <= LINE_MOST, compared
