"""Starts a job, stops all of its processes for a while, as Ctrl-Z and fg do, and lets them go on.

Usage: stop_job.py SECONDS COMMAND...
"""

import os
import signal
import subprocess
import sys
import time


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


seconds, command = float(sys.argv[1]), sys.argv[2:]
job = subprocess.Popen(command, start_new_session=True)
while job.poll() is None and len(children(job.pid)) < 4:
    time.sleep(0.01)
time.sleep(1.5)  # they have met, and one of them takes its time
os.killpg(job.pid, signal.SIGSTOP)
time.sleep(seconds)
os.killpg(job.pid, signal.SIGCONT)
sys.exit(job.wait())
