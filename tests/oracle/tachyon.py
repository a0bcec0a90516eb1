# SPDX-License-Identifier: MIT
"""What Tachyon, the profiler in CPython 3.15, tells of the threads of a program, in the words of modes.py."""

import json
import os

import modes
import oracle
import recording

TOLD = ("cpu", "gil", "gil wait", "exception", "gc")


def command(python):
    """What starts a program that Tachyon can watch: in its root folder it must find processes, and know their files by
    the names that they have there, so both run in one mount namespace."""
    if not python.root:
        return python.command
    inside = 'mount --bind /proc "$0/proc" && exec chroot "$0" "$@"'
    return (*oracle.environment.need_root(), "unshare", "--mount", "sh", "-c", inside, python.root, python.command[-1])


def started_beside(run):
    """What starts Tachyon's interpreter there."""
    if not run.python.root:
        return run.python.command
    return (*oracle.environment.as_root(), "nsenter", "--mount", "--target", run.target.pid, *run.python.command)


def watch(run, mode, seconds):
    """{(tid, what): Share} of a program of 3.15, and the main threads."""
    script = os.path.join(os.path.dirname(run.path), "tachyon_statuses.py")
    ended, truths = run.watch(lambda: recording.succeed(*modes.beside(), *started_beside(run), script,
                                                        run.target.pid, seconds, modes.RATE, mode))
    told = json.loads(ended.text)
    threads = {int(tid): seen for tid, seen in told["threads"].items()}
    whats = {"kept": mode} if mode != "wall" else {what: what for what in TOLD}
    shares = {(tid, what): modes.share_of(tid, truths[tid], what, threads.get(tid, {}).get(name, 0), told["looks"])
              for tid in truths for name, what in whats.items()}
    return shares, {tid for tid, seen in threads.items() if seen["main"] > 0.9 * seen["kept"] > 0}


def apart(ours, theirs):
    """How much further from each other two shares are than sampling and what the program did meanwhile explain."""
    span = max(abs(ours.least - theirs.most), abs(ours.most - theirs.least))
    return abs(ours.share - theirs.share) - ours.tolerance - theirs.tolerance - span
