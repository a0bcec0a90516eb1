# SPDX-License-Identifier: MIT
"""Has Tachyon attach to a program and record it until it has enough samples: tachyon_attach.py FILE PROGRAM SAMPLES
OPTION... Prints the pid of the program. The two must see the same files, so they are started together."""
import subprocess
import sys

from profiling.sampling import cli
from profiling.sampling.binary_collector import BinaryCollector

path, program, samples, *options = sys.argv[1:]
collect = BinaryCollector.collect


def collect_enough(self, *what):
    collect(self, *what)
    self.running = self.total_samples < int(samples)


BinaryCollector.collect = collect_enough
target = subprocess.Popen([sys.executable, program, "600"], stdout=subprocess.PIPE)
try:
    target.stdout.readline()
    sys.argv[1:] = ["attach", "--binary", *options, "-o", path, str(target.pid)]
    cli.main()
finally:
    target.kill()
    target.wait()
print(target.pid)
