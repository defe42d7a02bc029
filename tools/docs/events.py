"""The table of what events cost a job under etcrun (docs/etcrun/events.json)."""

from __future__ import annotations

import statistics


def pauses(result: dict) -> str:
    """Every pause, by the kind of the event."""
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
