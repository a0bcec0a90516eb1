# SPDX-License-Identifier: MIT
"""Runs under Python 3.15: what its Tachyon tells of the threads of a program. tachyon_statuses.py PID SECONDS RATE MODE
prints {"looks", "failed", "begin_ns", "end_ns", "threads": {tid: {what: samples}}}, "kept" being all of a thread."""
import collections
import json
import sys
import time

import _remote_debugging as tachyon

MODES = {"wall": 3, "cpu": 1, "gil": 2, "exception": 4}  # 3 tells all and keeps all
BITS = {"cpu": tachyon.THREAD_STATUS_ON_CPU, "gil": tachyon.THREAD_STATUS_HAS_GIL,
        "gil wait": tachyon.THREAD_STATUS_GIL_REQUESTED, "exception": tachyon.THREAD_STATUS_HAS_EXCEPTION,
        "main": tachyon.THREAD_STATUS_MAIN_THREAD}

pid, seconds, rate, mode = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
unwinder = tachyon.RemoteUnwinder(pid, all_threads=True, mode=MODES[mode], skip_non_matching_threads=mode != "wall",
                                  gc=True, cache_frames=True)
threads = collections.defaultdict(collections.Counter)
looks = failed = 0
begin_ns = time.monotonic_ns()
due_ns, end_ns = begin_ns, begin_ns + int(seconds * 1e9)
while due_ns < end_ns:
    time.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
    due_ns = max(due_ns + 1_000_000_000 // rate, time.monotonic_ns() - 1_000_000_000 // rate)
    try:
        interpreters = unwinder.get_stack_trace()
    except (OSError, RuntimeError, UnicodeDecodeError):
        failed += 1
        continue
    looks += 1
    for interpreter in interpreters:
        for thread in interpreter.threads:
            seen = threads[thread.thread_id]
            seen["kept"] += 1
            seen["gc"] += any(frame.funcname == "<GC>" for frame in thread.frame_info)
            for what, bit in BITS.items():
                seen[what] += bool(thread.status & bit)
print(json.dumps({"looks": looks, "failed": failed, "begin_ns": begin_ns, "end_ns": time.monotonic_ns(),
                  "threads": threads}))
