"""Whether a trace that --dry-run wrote agrees with its figures: check_prediction.py FORECAST.json TRACE."""

import json
import sys

forecast, trace = (json.load(open(path)) for path in sys.argv[1:])
peaks, end = {}, 0
for event in trace["traceEvents"]:
    if event["ph"] == "C":
        peaks[event["tid"]] = max(peaks.get(event["tid"], 0), event["args"]["live"])
    if event["ph"] == "X":
        end = max(end, event["ts"] + event["dur"])
stated = {device["device"]: device["peak_bytes"] for device in forecast["devices"]}
assert peaks == stated, (peaks, stated)
assert abs(end / 1e6 - forecast["seconds"]) < 1e-9, (end, forecast["seconds"])
print(len(peaks), "devices, peaks as stated, the last round ends with the forecast")
