"""Runs a command that must fail: with this exit code, one line of diagnostics, and no output, not even half of one.

    fails.py CODE COMMAND...
"""

import os
import subprocess
import sys
import tempfile

code, command = int(sys.argv[1]), sys.argv[2:]
with tempfile.TemporaryDirectory() as folder:
    output = os.path.join(folder, "output")
    run = subprocess.run([*command, "-o", output], capture_output=True, text=True)
    print(run.stderr, end="")
    left = os.listdir(folder)
if run.returncode != code:
    sys.exit(f"exit code {run.returncode}, expected {code}")
if run.stdout or left:
    sys.exit(f"wrote {run.stdout or left}")
if run.stderr.count("\n") != 1:
    sys.exit("expected a diagnostic of one line")
