"""The tables of the systems beside ETC, from what tools/elastic/experiments/systems
measured: medians and ranges."""

from __future__ import annotations

import statistics
from typing import Callable, Dict, List

ETC = "etc"
STEPS = ("save", "convert", "load")
SHARED = "shared folder"  # what the names of such ways end with


def steps_of(row: dict) -> List[float]:
    return [row[step] for step in STEPS if step in row]


def seconds_of(row: dict) -> float:
    """What the state's way takes: a checkpoint's steps, or the whole pause."""
    return sum(steps_of(row)) or row["pause"]


class Systems:
    """`raw` is the file of results; `table(head, rows)` writes a table."""

    def __init__(self, raw: dict, cases: List[str], table: Callable):
        self.raw, self.cases, self.table = raw, cases, table
        self.rows: Dict[str, Dict[str, List[dict]]] = {}
        for way, rows in raw["ways"].items():
            by_case = self.rows.setdefault(way, {})
            for row in rows:
                by_case.setdefault(row["case"], []).append(row)

    def median(self, way: str, case: str) -> float:
        return statistics.median(map(seconds_of, self.rows[way][case]))

    def cell(self, way: str, case: str) -> str:
        found = [seconds_of(row) for row in self.rows[way][case]]
        text = f"{self.median(way, case):.2f} ({min(found):.2f} to {max(found):.2f})"
        return text if way == ETC else f"{text}: {self.ratio(way, case):.1f}x"

    def ratio(self, way: str, case: str) -> float:
        return self.median(way, case) / self.median(ETC, case)

    def bound(self, case: str) -> str:
        rate = self.raw["setting"]["bytes_per_second"]
        row = self.rows[ETC][case][0]
        return f"{row['port_bytes'] / rate:.2f}" if rate else "-"

    def of(self, place: str) -> List[str]:
        return [way for way in self.rows if way.endswith(place)]

    def times(self, paper: Dict[str, float]) -> str:
        """Who moves bytes over the hosts' links, and the paper's factor."""
        ways = [way for way in self.rows if way not in self.of(SHARED)]
        rows = [[case, self.bound(case), *(self.cell(way, case) for way in ways),
                 f"{paper[case]:.2f}x"] for case in self.cases]
        return self.table(["change", "bound", *ways, "paper"], rows)

    def shared(self) -> str:
        ways = self.of(SHARED)
        return self.table(["change", *ways], [
            [case, *(self.cell(way, case) for way in ways)] for case in self.cases])

    def steps(self) -> str:
        rows = []
        for way, by_case in self.rows.items():
            if not steps_of(by_case[self.cases[0]][0]):
                continue
            cells = [way]
            for case in self.cases:
                medians = map(statistics.median, zip(*map(steps_of, by_case[case])))
                cells.append(" + ".join(f"{median:.2f}" for median in medians))
            rows.append(cells)
        return self.table(["way", *self.cases], rows)

    def sentences(self) -> str:
        lines = []
        for way in self.rows:
            if way == ETC:
                continue
            ratios = [self.ratio(way, case) for case in self.cases]
            faster = sum(round(ratio, 2) < 1 for ratio in ratios)
            lines.append(f"- {way}: {min(ratios):.2f} to {max(ratios):.2f} times as long as "
                         f"etc; faster in {faster} of {len(ratios)} changes.")
        return "\n".join(lines)

    def text(self, paper: Dict[str, float]) -> str:
        setting = self.raw["setting"]
        parts = [
            f"Seconds, as medians and ranges of {setting['times']} runs, with "
            f"hidden size {setting['hidden']}, PyTorch {setting['torch']} and megatron-core "
            f"{setting['megatron-core']} on {setting['processors']} processors. *Bound* is "
            "the time that the busiest link needs for the bytes of etc's plan; *paper* is "
            "the published time of the paper's fastest baseline divided by that of its "
            "ETC, at the paper's size.",
            self.times(paper), self.sentences()]
        if self.of(SHARED):
            parts += ["In a shared folder in memory, where no byte crosses a link:",
                      self.shared()]
        return "\n\n".join([
            *parts, "Save + load, or save + convert + load, in medians of seconds:",
            self.steps()])
