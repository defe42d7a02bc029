"""Tables of what events cost a job under etcrun, and under torchrun (docs/etcrun)."""

from __future__ import annotations

import statistics


def pauses(result: dict) -> str:
    """Every pause, by the kind of the event."""
    kinds: dict[str, list[float]] = {}
    for event in result["events"]:
        kinds.setdefault(event["event"], []).append(event["pause_s"])
    count = len(result["events"])
    rows = [f"`{result['command']}` made these {count} events in one job:", ""]
    rows += ["| event | pauses in seconds | median |", "| --- | --- | ---: |"]
    for kind in sorted(kinds):
        listed = ", ".join(f"{pause:.1f}" for pause in kinds[kind])
        rows.append(f"| {kind} | {listed} | {statistics.median(kinds[kind]):.1f} s |")
    return "\n".join(rows) + "\n"


def beside(result: dict, stock: dict) -> str:
    """What the same first events cost under both, in seconds."""
    rows = [f"`{stock['command']}` made the first {len(stock['events'])} of these events:"]
    rows += ["", "| event | etcrun: pause | lost in all | torchrun: pause | lost in all |"]
    rows += ["| --- | ---: | ---: | ---: | ---: |"]
    pairs = list(zip(result["events"], stock["events"]))
    for ours, theirs in pairs:
        cells = [ours["pause_s"], ours["lost_s"], theirs["pause_s"], theirs["lost_s"]]
        shown = " | ".join(f"{cell:.1f} s" for cell in cells)
        rows.append(f"| {ours['event']} | {shown} |")
    here, there = (sum(e["lost_s"] for e in side) for side in zip(*pairs))
    rows.append(f"| all | | {here:.1f} s | | {there:.1f} s |")
    return "\n".join(rows) + "\n"
