"""The table of execution/run: medians and spread over repeated runs."""
import json
import pathlib
import statistics
import sys

runs = {}
for file in sorted(pathlib.Path(sys.argv[1]).glob("*.*.*.json")):
    transport, case, _ = file.name.split(".")[:3]
    runs.setdefault((transport, case), []).append(json.loads(file.read_text()))

print(f"{'transport':9} {'case':6} {'GB/s':>6} {'share of bare':>14} {'least':>7} {'most':>7} {'peak <= proved':>15}")
for (transport, case), results in runs.items():
    shares = [result["ceiling_share"] for result in results]
    devices = [device for result in results for device in result["devices"]]
    holds = all(device["peak_bytes"] <= device["proved_peak_bytes"] for device in devices)
    rate = statistics.median(result["gb_per_second"] for result in results)
    print(
        f"{transport:9} {case:6} {rate:6.2f} {statistics.median(shares):14.1%} {min(shares):7.1%} {max(shares):7.1%} "
        f"{'yes' if holds else 'NO':>15}"
    )
