"""The table of what events cost a job under etcrun (docs/etcrun/events.json)."""

from __future__ import annotations

import json
import pathlib
import statistics


def pauses(path: pathlib.Path) -> str:
    """Every pause, by the kind of the event."""
    if not path.exists():
        return "Not measured yet.\n"
    result = json.loads(path.read_text())
    kinds: dict[str, list[float]] = {}
    for event in result["events"]:
        kinds.setdefault(event["event"], []).append(event["pause_s"])
    count = len(result["events"])
    rows = [f"{count} events of one job, by `{result['command']}`:", ""]
    rows += ["| event | pauses in seconds | median |", "| --- | --- | ---: |"]
    for kind in sorted(kinds):
        listed = ", ".join(f"{pause:.1f}" for pause in kinds[kind])
        rows.append(f"| {kind} | {listed} | {statistics.median(kinds[kind]):.1f} s |")
    return "\n".join(rows) + "\n"
