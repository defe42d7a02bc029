"""One change over time: every device's steps, the pause, the tail, and the bytes that
the hosts' lines carry, as SVG."""

from __future__ import annotations

from typing import Dict, List, Tuple

from plot import line, text

WIDTH, LEFT, RIGHT, TOP = 900, 70, 20, 46
ROW, GAP, LINES = 22, 5, 120  # pixels of a device, between two, of the lines' panel
WINDOW = 0.1  # seconds of one sample of the lines

STYLE = """
    text { font-family: system-ui, "DejaVu Sans", sans-serif; font-size: 12px; }
    text { fill: #1f2328; }
    .small { font-size: 11px; fill: #57606a; } .end { text-anchor: end; }
    .grid { stroke: #d0d7de; } .back { fill: #ffffff; }
    .old { fill: #afb8c1; } .new { fill: #54aeff; } .wait { fill: #bc4c00; }
    .pause { fill: #bc4c00; opacity: 0.18; } .tail { fill: #8250df; opacity: 0.12; }
    .carried { fill: none; stroke-width: 1.3; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; } .small { fill: #9198a1; } .back { fill: #0d1117; }
      .grid { stroke: #3d444d; } .old { fill: #656c76; } .new { fill: #1f6feb; }
    }"""
COLOURS = ["#0969da", "#1a7f37", "#9a6700", "#cf222e"]


def box(kind: str, x: float, y: float, width: float, height: float) -> str:
    return (f'  <rect class="{kind}" x="{x:.1f}" y="{y:.1f}" '
            f'width="{max(width, 0.5):.1f}" height="{height:.1f}"/>')


class Timeline:
    def __init__(self, raw: dict, bytes_per_second: float):
        self.steps, self.marks = raw["steps"], raw["marks"]
        self.row, self.lines = raw["row"], raw["lines"]
        self.rate = bytes_per_second
        self.at = self.row["iteration"]
        self.devices = sorted({step["device"] for step in self.steps})
        self.begin = min([0.0, *(s["begin"] for s in self.steps
                                 if s["iteration"] == self.at - 1)])
        self.end = max(s["end"] for s in self.steps if s["iteration"] <= self.at + 2)
        self.bottom = TOP + len(self.devices) * ROW
        self.out: List[str] = []

    def x(self, seconds: float) -> float:
        share = (seconds - self.begin) / (self.end - self.begin)
        return LEFT + (WIDTH - LEFT - RIGHT) * min(max(share, 0.0), 1.0)

    def latest(self, mark: str) -> float:
        return max(each[mark] for each in self.marks if mark in each)

    def phases(self) -> List[Tuple[str, str, float, float]]:
        """(kind, words, begin, end)."""
        stopped, moved = self.latest("last_step"), self.latest("moved")
        return [("pause", f"pause {moved - stopped:.2f} s", stopped, moved),
                ("tail", "tail: masters and moments", moved, self.latest("finished"))]

    def carried(self) -> Dict[str, List[Tuple[float, float]]]:
        """By host: bytes a second that its line carries to it, over windows."""
        found: Dict[str, List[Tuple[float, float]]] = {}
        last: Dict[str, Tuple[float, int]] = {}
        for at, sample in self.lines:
            for host, (into, _) in sample.items():
                before, count = last.setdefault(host, (at, into))
                if at - before >= WINDOW:
                    found.setdefault(host, []).append(
                        ((at + before) / 2, (into - count) / (at - before)))
                    last[host] = (at, into)
        return found

    def svg(self) -> str:
        panel = self.bottom + 40
        for kind, words, begin, end in self.phases():
            self.out += [box(kind, self.x(begin), TOP - 8, self.x(end) - self.x(begin),
                             panel + LINES - TOP + 8),
                         text(self.x(begin) + 3, TOP - 14 - 14 * (kind == "pause"),
                              words)]
        for number, device in enumerate(self.devices):
            y = TOP + number * ROW
            self.out.append(text(LEFT - 8, y + 13, f"device {device}", "small end"))
            for step in self.steps:
                if step["device"] != device or step["end"] < self.begin:
                    continue
                if step["begin"] > self.end:
                    continue
                kind = "old" if step["iteration"] <= self.at else "new"
                left = self.x(step["begin"])
                self.out.append(box(kind, left + 0.5, y, self.x(step["end"]) - left - 1,
                                    ROW - GAP))
            for mark in self.marks:
                if mark["device"] == device and "waits" in mark:
                    left = self.x(mark["waits"])
                    self.out.append(box("wait", left, y,
                                        self.x(mark["finished"]) - left, ROW - GAP))
        self.panel(panel)
        height = panel + LINES + 40
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'width="{WIDTH}" height="{height}" role="img">',
            f"  <title>{self.row['case'].replace('>', '&gt;')}: steps, pause, tail, and "
            "what the lines carry</title>",
            f"  <style>{STYLE}\n  </style>",
            f'  <rect class="back" width="{WIDTH}" height="{height}"/>',
            *self.out, "</svg>\n"])

    def panel(self, top: float) -> None:
        """What each host's line carries to it, as a share of its rate."""
        def y(share: float) -> float:
            return top + LINES * (1 - min(share, 1.1) / 1.1)

        self.out.append(text(LEFT, top - 8, "bytes a second that each host's line "
                             "carries to it, of its rate", "plain"))
        for share in (0.0, 0.5, 1.0):
            self.out += [line("grid", LEFT, y(share), WIDTH - RIGHT, y(share)),
                         text(LEFT - 8, y(share) + 4, f"{share:.0%}", "small end")]
        for number, (host, points) in enumerate(sorted(self.carried().items())):
            shown = " ".join(f"{self.x(at):.1f},{y(rate / self.rate):.1f}"
                             for at, rate in points if self.begin <= at <= self.end)
            colour = COLOURS[number % len(COLOURS)]
            self.out += [f'  <polyline class="carried" stroke="{colour}" '
                         f'points="{shown}"/>',
                         f'  <text class="small" x="{LEFT + 60 * number}" '
                         f'y="{top + LINES + 32}" style="fill:{colour}">host {host}'
                         "</text>"]
        first = int(self.begin)
        step = max(1, int((self.end - self.begin) / 10))
        for second in range(first, int(self.end) + 1, step):
            if second >= self.begin:
                self.out.append(text(self.x(second) - 4, top + LINES + 16, f"{second}"))
        self.out.append(text(WIDTH - RIGHT - 150, top + LINES + 32,
                             "seconds since the decision"))
