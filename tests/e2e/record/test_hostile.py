# SPDX-License-Identifier: MIT
"""A few rounds of tests/soak/hostile, in which a program does what it can against its recorder."""

import os
import random
import signal
import sys

import pytest

from environment import BUILD, PROJECT, SOAK, missing
from recording import Talk

ROUNDS = 2 * SOAK


@pytest.mark.soak
@pytest.mark.sanitized("what a hostile program has in its memory")
@pytest.mark.pythons("oldest and newest")
def test_a_hostile_program(python):
    if not os.path.exists(os.path.join(BUILD, "tests", "soak", "libhostile.so")):
        missing("tests/soak/libhostile.so is not built")
    seed = random.randrange(1 << 40)
    command = [sys.executable, os.path.join(PROJECT, "tests", "soak", "hostile"), "--build", BUILD, "--python", python.version,
               "--seed", str(seed), "--rounds", str(ROUNDS), "--round", "2", "--seconds", "7200"]
    hostile = Talk(command, start_new_session=True)  # ^C is not for it
    try:
        while hostile.read_line():  # one for each round
            pass
        ended = hostile.wait()
    finally:
        if hostile.running:
            hostile.signal(signal.SIGTERM)  # it ends what it has started
            hostile.exit_code()
        hostile.close()
    assert ended.code == 0, str(ended)
