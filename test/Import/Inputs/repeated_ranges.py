"""Lists all the devices that there can be, 200 times; prints the errors, and the memory that this took."""

import resource
import subprocess

REQUEST = ["etc-opt", "--model=gpt2", "--prev=PP2", "--curr=PP4", "--cluster=1x4"]

for option in ("--devices", "--failed"):
    ranges = ",".join(["0-1048575"] * 200)
    run = subprocess.run(
        [*REQUEST, "--emit=json", f"{option}={ranges}"], capture_output=True, text=True
    )
    print(run.stderr, end="")
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print("less than 256 MiB" if most < 256 else f"{most} MiB")
