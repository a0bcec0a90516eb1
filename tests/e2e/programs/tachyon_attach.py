# SPDX-License-Identifier: MIT
"""Has Tachyon attach to a program for a second and record it: tachyon_attach.py FILE PROGRAM. Prints its pid. The two
must see the same files, so they are started together."""
import subprocess
import sys

path, program = sys.argv[1:]
target = subprocess.Popen([sys.executable, program, "20"], stdout=subprocess.PIPE)
target.stdout.readline()
how = ["attach", "--binary", "-a", "-d", "1", "-o", path]
done = subprocess.run([sys.executable, "-m", "profiling.sampling", *how, str(target.pid)])
target.kill()
target.wait()
print(target.pid)
sys.exit(done.returncode)
