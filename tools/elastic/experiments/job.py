"""Runs the elastic trainer, and reads what its processes told."""

from __future__ import annotations

import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from typing import Dict, List, Optional, Tuple

import etc
import torch

TRAINER = pathlib.Path(__file__).resolve().parents[1]
DOCS = TRAINER.parents[1] / "docs"
sys.path.insert(0, str(DOCS.parent / "tools/etc-bench"))

from bench import write_sealed  # noqa: E402

UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


def origin() -> Dict[str, object]:
    """What is measured, and on what: an experiment's file has it beside its figures."""
    revision = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], cwd=DOCS,
                              capture_output=True, text=True).stdout.strip()
    return {"etc": etc.__version__, "revision": revision or None,
            "torch": torch.__version__, "processors": os.cpu_count()}


def write(content: dict, out: pathlib.Path) -> None:
    """What was measured, and its seal: a figure that is changed by hand is found."""
    write_sealed(json.loads(json.dumps(content)), out)


def bytes_per_second(rate: str) -> float:
    unit = next(unit for unit in UNITS if rate.endswith(unit))
    return float(rate[:-len(unit)]) * UNITS[unit] / 8


class Job:
    """A run that is over. `told` is what each device's processes told, in order."""

    def __init__(self, per_node: int = 8, **options):
        self.per_node = per_node
        self.folder = tempfile.TemporaryDirectory(prefix="elastic-")
        self.out = pathlib.Path(self.folder.name)
        command = [sys.executable, str(TRAINER), f"--out={self.out}",
                   f"--per-node={per_node}"]
        for name, value in options.items():
            text = value if isinstance(value, str) else json.dumps(value)
            command.append(f"--{name.replace('_', '-')}={text}")
        subprocess.run(command, check=True)
        self.told = {int(path.stem): [json.loads(line) for line in path.open()]
                     for path in sorted(self.out.glob("*.jsonl"))}

    def losses(self) -> List[float]:
        steps = [event for lines in self.told.values() for event in lines
                 if "loss" in event]
        by_iteration = {e["iteration"]: e["loss"] for e in steps}  # replicas say the same
        return [by_iteration[number] for number in sorted(by_iteration)]

    def survivors_keep_pids(self) -> bool:
        """Who takes part in a change and had a role before goes on as it was."""
        for lines in self.told.values():
            pid = None
            for event in lines:
                if event["event"] == "start":
                    pid = event["pid"]
                elif event.get("pid", pid) != pid:
                    return False
        return True

    def step_seconds(self, after: int, before: float) -> Optional[float]:
        """Median over iterations after + 2, ... that ended before a time: the first
        ones of a configuration are left out, and those that waited for a change."""
        steps: Dict[int, List[dict]] = {}
        for lines in self.told.values():
            for event in lines:
                if (event["event"] == "step" and event["iteration"] > after + 1
                        and not event["held"]):
                    steps.setdefault(event["iteration"], []).append(event)
        seconds = [max(e["end"] for e in events) - min(e["begin"] for e in events)
                   for events in steps.values()
                   if max(e["end"] for e in events) <= before]
        return statistics.median(seconds) if seconds else None

    def changes(self) -> List[dict]:
        epochs: Dict[int, List[dict]] = {}
        for lines in self.told.values():
            for event in lines:
                if "epoch" in event and event["event"] in ("change", "leave"):
                    epochs.setdefault(event["epoch"], []).append(event)
        rows = [self.change(epoch, epochs[epoch]) for epoch in sorted(epochs)]
        ends = [row.pop("last_step") for row in rows] + [float("inf")]
        begun = [0, *(row["iteration"] for row in rows)]
        decisions = [row["decided"] for row in rows] + [float("inf")]
        for i, (row, end) in enumerate(zip(rows, ends[1:])):
            row["iteration_seconds"] = self.step_seconds(row["iteration"], end)
            row.update(self.lost(begun[i], row, ends[i], decisions[i + 1]))
        return rows

    def spans(self) -> Dict[int, Tuple[float, float]]:
        """From the first begin to the last end of each iteration, on any device."""
        found: Dict[int, Tuple[float, float]] = {}
        for lines in self.told.values():
            for event in lines:
                if event["event"] == "step":
                    begin, end = found.get(event["iteration"], (math.inf, 0.0))
                    found[event["iteration"]] = (min(begin, event["begin"]),
                                                 max(end, event["end"]))
        return found

    def lost(self, begun: int, row: dict, last_step: float, next_one: float) -> dict:
        """The time that a change costs in all: what training would have done between the
        decision and the end of the iterations before the next one, at the speeds of
        iterations that no change has to do with. Its parts: slower iterations while it
        is prepared, the pause, a longer first iteration, longer later ones."""
        spans, decided, at = self.spans(), row["decided"], row["iteration"]
        before = [end - begin for i, (begin, end) in spans.items()
                  if max(begun + 1, row["slowed"]) < i <= at and end <= decided]
        after = {i: span for i, span in spans.items()
                 if i > at and span[1] <= next_one}
        steady = [end - begin for i, (begin, end) in after.items() if i > at + 2]
        if not before or not steady or at + 1 not in after:
            return {}
        old, new = statistics.median(before), statistics.median(steady)
        preparing = 0.0
        for i, (begin, end) in spans.items():
            if i <= at and end > decided:
                part = min(1.0, (end - decided) / (end - begin))
                preparing += part * (end - begin - old)
        first = after[at + 1]
        parts = {"preparing": preparing, "pause": row["pause"],
                 "first": first[1] - first[0] - new,
                 "later": sum(end - begin - new for i, (begin, end) in after.items()
                              if i > at + 1)}
        return {"old_seconds": old, "new_seconds": new, "lost_parts": parts,
                "lost": sum(parts.values()), "lost_iterations":
                sum(parts.values()) / new}

    def change(self, epoch: int, events: List[dict]) -> dict:
        """The pause, from the last old step's end anywhere to the first new one's
        begin everywhere, and its parts, each as long as until the last is there."""
        def latest(mark: str, events: List[dict]) -> float:
            return max(event[mark] for event in events if mark in event)

        going_on = [event for event in events if event["event"] == "change"]
        marks = [latest("last_step", events), latest("quiet", events),
                 *(latest(mark, going_on) for mark in
                   ("moved", "rewired", "first_step"))]
        parts = [end - begin for begin, end in zip(marks, marks[1:])]
        reports = [event["report"] for event in events]
        row = {"configuration": events[0]["configuration"], "last_step": marks[0],
               "iteration": events[0]["iteration"], "participants": len(events),
               "decided": events[0]["decided"], "slowed": events[0]["slowed"],
               "joining": sum(event["joining"] for event in events),
               "pause": marks[3] - marks[0],
               **dict(zip(("quiesce", "transfer", "rewire", "first_step"), parts)),
               "groups": max(event["prepared"]["groups"] for event in events),
               "prepare": max(event["prepared"]["prepare"] for event in events)}
        if "save" in reports[0]:
            row.update({step: max(report[step] for report in reports)
                        for step in reports[0]})
        else:
            row.update(
                plan=max(report["plan_seconds"] for report in reports),
                moved_bytes=sum(report["received_bytes"] for report in reports),
                peak_ratio=max(report["peak_bytes"] / report["state_bytes"]
                               for report in reports if report["state_bytes"]),
                within_proof=all(report["peak_bytes"] <= report["proved_bytes"]
                                 for report in reports))
        if any("finished" in event for event in events):
            row.update(tail=latest("finished", events) - marks[2],
                       waited=max(event["finished"] - event["waits"]
                                  for event in events if "waits" in event))
        row.update(self.planned(epoch))
        return row

    def planned(self, epoch: int) -> dict:
        """What the plan of a change moves, and the most that a host's line carries."""
        plan = etc.Plan.load(self.out / f"{epoch}.etcplan")
        content = plan.to_json()
        out: Dict[int, int] = {}
        into: Dict[int, int] = {}
        for device in content["devices"]:
            host = device["device"] // self.per_node
            for op in (op for turn in device["rounds"] for op in turn):
                if op["op"] != "send" or op["peer"] // self.per_node == host:
                    continue
                size = {"bf16": 2, "fp32": 4}[content["tensors"][op["tensor"]]["dtype"]]
                for begin, end in op["box"]:
                    size *= end - begin
                out[host] = out.get(host, 0) + size
                peer = op["peer"] // self.per_node
                into[peer] = into.get(peer, 0) + size
        summary = content["summary"]
        state = sum(summary[f"{what}_bytes"] for what in ("moved", "kept", "derived"))
        return {"planned_bytes": summary["moved_bytes"], "state_bytes": state,
                "port_bytes": max([0, *out.values(), *into.values()]),
                "internode_bytes": summary["internode_bytes"]}
