# SPDX-License-Identifier: MIT
"""Recordings are true: no stack that the program can't have had, few samples lost, shares as they really were."""

import pytest

import oracle

SECONDS = 0.5
SAMPLES = 200  # of the reference
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
        live = run.record("10000", SECONDS)
    assert not reference.impossible, reference.examples
    assert not live.broken(), f"{live.samples} samples, {live.failed} failed, impossible: {live.examples}"
    difference = oracle.largest_difference(live, reference, run.rules.slow)
    assert not difference.too_large, difference


@pytest.mark.parametrize("name", ["generators", "short_generators", "chains", "threads_busy", "threads_short"])
def test_a_stopped_program_has_no_impossible_stacks(name, folder, tmp_path):
    for python in {python.version: python for python in PYTHONS}.values():
        with oracle.running(python, name, folder, tmp_path) as run:
            stopped = run.record("10000", SECONDS, "--blocking")
        assert stopped.samples and not stopped.impossible, stopped.examples
