"""The loss of a run with changes, and how far it is from the run without, as SVG."""

from __future__ import annotations

import math
from typing import List

WIDTH, LEFT, RIGHT = 860, 64, 20
UPPER, LOWER = (30, 270), (320, 430)  # the two panels, top and bottom
LEAST = -8  # of the lower panel: 1e-8; a difference of 0 is drawn below it

STYLE = """
    text { font-family: system-ui, "DejaVu Sans", sans-serif; font-size: 12px; }
    text { fill: #1f2328; }
    .small { font-size: 11px; fill: #57606a; } .end { text-anchor: end; }
    .grid { stroke: #d0d7de; } .change { stroke: #bc4c00; stroke-dasharray: 4 3; }
    .without { stroke: #8c959f; stroke-width: 4; fill: none; }
    .migrated { stroke: #0969da; stroke-width: 1.5; fill: none; }
    .dot { fill: #0969da; } .back { fill: #ffffff; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; } .small { fill: #9198a1; } .back { fill: #0d1117; }
      .grid { stroke: #3d444d; } .migrated { stroke: #4493f8; } .dot { fill: #4493f8; }
    }"""


def text(x: float, y: float, content: str, kind: str = "small") -> str:
    return f'  <text class="{kind}" x="{x:.1f}" y="{y:.1f}">{content}</text>'


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return (f'  <line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" '
            f'y2="{y2:.1f}"/>')


class Plot:
    def __init__(self, raw: dict):
        self.migrated, self.without = raw["migrated"], raw["without"]
        self.changes = raw["pauses"]
        self.start = raw["start"]
        self.out: List[str] = []

    def x(self, iteration: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * iteration / len(self.migrated)

    def y(self, loss: float) -> float:
        low, high = self.range
        return UPPER[1] - (UPPER[1] - UPPER[0]) * (loss - low) / (high - low)

    @property
    def range(self):
        every = self.migrated + self.without
        return math.floor(min(every)), math.ceil(max(every))

    def y_difference(self, value: float) -> float:
        share = (math.log10(value) - LEAST) / -LEAST if value else -0.14
        return LOWER[1] - 20 - (LOWER[1] - 20 - LOWER[0]) * share

    def curve(self, kind: str, losses: List[float]) -> None:
        points = " ".join(f"{self.x(i + 1):.1f},{self.y(loss):.1f}"
                          for i, loss in enumerate(losses))
        self.out.append(f'  <polyline class="{kind}" points="{points}"/>')

    def axes(self) -> None:
        for loss in range(self.range[0], self.range[1] + 1):
            self.out += [line("grid", LEFT, self.y(loss), WIDTH - RIGHT, self.y(loss)),
                         text(LEFT - 8, self.y(loss) + 4, str(loss), "small end")]
        for power in range(LEAST, 1, 4):
            y = self.y_difference(10.0 ** power)
            self.out += [line("grid", LEFT, y, WIDTH - RIGHT, y),
                         text(LEFT - 8, y + 4, f"1e{power}", "small end")]
        self.out.append(text(LEFT - 8, self.y_difference(0) + 4, "0", "small end"))
        for iteration in range(0, len(self.migrated) + 1, 20):
            self.out.append(text(self.x(iteration) - 6, LOWER[1] + 22, str(iteration)))

    def marks(self) -> None:
        self.out.append(text(self.x(0) + 4, UPPER[0] - 6, self.start))
        for change in self.changes:
            x = self.x(change["iteration"] + 0.5)
            self.out += [line("change", x, UPPER[0] - 16, x, LOWER[1]),
                         text(x + 4, UPPER[0] - 6, change["configuration"])]

    def differences(self) -> None:
        for i, (a, b) in enumerate(zip(self.migrated, self.without)):
            self.out.append(f'  <circle class="dot" r="2" cx="{self.x(i + 1):.1f}" '
                            f'cy="{self.y_difference(abs(a - b)):.1f}"/>')

    def svg(self) -> str:
        self.axes()
        self.marks()
        self.curve("without", self.without)
        self.curve("migrated", self.migrated)
        self.differences()
        self.out += [text(LEFT + 120, UPPER[0] + 20, "loss: with changes (blue) over "
                          "the run without (grey)", "plain"),
                     text(LEFT + 120, LOWER[0] - 12, "distance of the two; 0: the same "
                          "bits", "plain"),
                     text(WIDTH - RIGHT - 60, LOWER[1] + 38, "iteration")]
        height = LOWER[1] + 50
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'width="{WIDTH}" height="{height}" role="img">',
            "  <title>Loss with and without changes of configuration</title>",
            f"  <style>{STYLE}\n  </style>",
            f'  <rect class="back" width="{WIDTH}" height="{height}"/>',
            *self.out, "</svg>\n"])
