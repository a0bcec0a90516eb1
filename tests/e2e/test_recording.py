# SPDX-License-Identifier: MIT
"""What the tests run their programs with, recording.py, leaves nothing running."""

import pytest

from recording import Target, process_state

BEGINNINGS = {  # of programs that run on
    "it says nothing": "sys.stderr.write('not today'); sys.stderr.flush(); os.close(1)",
    "it says no PID": "print('ready', flush=True)",
    "it says nonsense": "print('ready x', flush=True)",
}


@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=BEGINNINGS.keys())
def test_a_target_that_does_not_start_is_ended(python3, tmp_path, beginning):
    path = tmp_path / "pid"
    code = f"import os, sys, time\nopen({str(path)!r}, 'w').write(str(os.getpid()))\n{beginning}\ntime.sleep(600)"
    with pytest.raises((AssertionError, ValueError, IndexError)) as raised:
        Target(python3, "-c", code)
    assert "os.close" not in beginning or "did not start: not today" in str(raised.value)
    assert process_state(int(path.read_text())) == ""
