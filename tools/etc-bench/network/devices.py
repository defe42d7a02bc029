"""The node of every rank of a plan, a line each: devices of a 4-node cluster of equal nodes."""
import json
import subprocess
import sys

run, plan = sys.argv[1:]
forecast = json.loads(subprocess.run([run, "--dry-run", "--json", plan], check=True, capture_output=True).stdout)
devices = [entry["device"] for entry in forecast["devices"]]
per_node = -(-(max(devices) + 1) // 4)
for device in devices:
    print(device // per_node)
