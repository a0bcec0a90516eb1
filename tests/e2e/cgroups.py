# SPDX-License-Identifier: MIT
"""Cgroups with a quota of processor time, of version 1 or 2, whichever the machine has."""

import contextlib
import os

from environment import missing

PERIOD_US = 100000
PLACES = {"/sys/fs/cgroup/cpu": ("cpu.cfs_quota_us", "{quota}"), "/sys/fs/cgroup": ("cpu.max", "{quota} {period}")}


@contextlib.contextmanager
def limited(quota, name="own"):
    """The file that a process writes itself into to be in a cgroup of this name, as a/b, below one with this quota of a processor.
    Skips where no cgroup can be made."""
    made = []
    try:
        yield make(quota, name, made)
    finally:
        for folder in reversed(made):
            os.rmdir(folder)


def make(quota, name, made):
    for place, (limit, words) in PLACES.items():
        top = os.path.join(place, f"pyreel-test-{os.getpid()}")
        try:
            os.mkdir(top)
            made.append(top)
            with open(os.path.join(top, limit), "r+") as file:
                file.write(words.format(quota=int(quota * PERIOD_US), period=PERIOD_US))
            for part in name.split("/"):
                top = os.path.join(top, part)
                os.mkdir(top)
                made.append(top)
        except OSError:
            continue
        return os.path.join(top, "cgroup.procs")
    return missing("a cgroup with a quota: it needs root, and a folder of /sys/fs/cgroup that can be written to")


def throttled_s():
    """How long the processes below the limited cgroup had to wait for the next period, by the kernel's count."""
    for place in PLACES:
        path = os.path.join(place, f"pyreel-test-{os.getpid()}", "cpu.stat")
        if os.path.exists(path):
            with open(path) as file:
                counts = dict(line.split() for line in file)
            return int(counts.get("throttled_time", 0)) / 1e9 or int(counts.get("throttled_usec", 0)) / 1e6
    raise AssertionError("no cgroup with a quota")


def joining(procs):
    """What to put before a command that is to run there."""
    return "sh", "-c", f"echo $$ > {procs}; exec \"$@\"", "sh"
