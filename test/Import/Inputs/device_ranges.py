"""What etc-opt says of texts that are neither devices nor ranges of them."""

import subprocess
import sys

REQUEST = ["etc-opt", "--model=gpt2", "--prev=PP2", "--curr=PP4", "--cluster=1x4"]

for option in ("--devices", "--failed"):
    for text in ("5-2", "0-", "-3", "0-1-2", "x", "0-4294967295", "1048576"):
        run = subprocess.run(
            [*REQUEST, "--emit=json", f"{option}={text}"], capture_output=True, text=True
        )
        print(run.stderr, end="")
        if run.returncode != 2 or f'"{text}"' not in run.stderr:
            sys.exit(f"{option}={text}: exit code {run.returncode}")
