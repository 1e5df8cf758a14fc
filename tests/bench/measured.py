# SPDX-License-Identifier: MIT
"""measured.py COMMAND...: runs a command without its output; prints its seconds, seconds of CPU and memory."""
import resource
import subprocess
import sys
import time

start = time.monotonic()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
use = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%.2f s, %.2f s of CPU, %d MiB" % (time.monotonic() - start, use.ru_utime + use.ru_stime, use.ru_maxrss >> 10))
