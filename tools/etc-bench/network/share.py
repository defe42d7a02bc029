"""The busiest port's share of the line's rate in a run, and what the simulator makes of the same plan."""
import json
import subprocess
import sys
import tempfile

UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}

run, rate, plan, ranks, out = sys.argv[1:]
unit = next(unit for unit in UNITS if rate.endswith(unit))
line = float(rate[: -len(unit)]) * UNITS[unit] / 8
nodes = [int(number) for number in open(ranks)]
result = json.load(open(out))

cluster = {
    "name": f"4 hosts at {rate}",
    "link": {"bytes_per_second": 4e9, "latency_seconds": 1e-4},
    # Ethernet, IP and TCP headers leave 1448 of 1538 bytes on the line; the bucket counts 1514 of them.
    "port": {"per_node": 1, "bytes_per_second": line * 1448 / 1514, "latency_seconds": 3e-4},
    "pack": {"bytes_per_second": 2e9},
}
with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
    json.dump(cluster, file)
    file.flush()
    command = [run, "--dry-run", "--json", "--cluster=" + file.name, plan]
    forecast = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

seconds = result["seconds"]
busiest = forecast["busiest_port_seconds"] * cluster["port"]["bytes_per_second"]
error = forecast["seconds"] / seconds - 1
print(
    f"{plan.split('/')[-1]}: {result['internode_bytes'] / 1e6:.1f} MB between hosts in {seconds:.3f} s; busiest port "
    f"{busiest / 1e6:.1f} MB, {busiest / line / seconds:.1%} of {rate}; simulated {forecast['seconds']:.3f} s "
    f"({error:+.1%}); verified {result['verified']}"
)
