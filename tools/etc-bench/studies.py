"""What the studies of reconfigurations share: the paper's cases and figures, cluster
files, the identity rank mapping."""

from __future__ import annotations

import json
import math
import pathlib
import re
from typing import NamedTuple

from bench import Bench

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CLUSTERS = ROOT / "runtime" / "view" / "simulate" / "clusters"


class Published(NamedTuple):
    """The paper's table of checkpoint-based approaches, in milliseconds."""

    etc: float
    fastest_save: float
    fastest_load: float  # resharding included

    @property
    def fastest(self) -> float:
        return self.fastest_save + self.fastest_load


class Reconfiguration(NamedTuple):
    prev: str
    curr: str
    layers: int
    published: Published

    @property
    def name(self) -> str:
        return f"{self.prev} -> {self.curr}"

    def nodes(self, per_node: int) -> int:
        return math.ceil(max(world(self.prev), world(self.curr)) / per_node)


# GPT-3 with hidden size 3072; 36 layers, and 32 where 36 do not divide.
SIX = [
    Reconfiguration("PP8TP1", "PP16TP1", 32, Published(1500.88, 719.50, 3637.74)),
    Reconfiguration("PP4TP2", "PP4TP4", 36, Published(1464.20, 961.69, 7480.16)),
    Reconfiguration("PP4TP4", "PP4TP2", 36, Published(1347.83, 1036.85, 7540.86)),
    Reconfiguration("PP4TP2", "PP6TP4", 36, Published(4425.39, 1034.46, 9254.7)),
    Reconfiguration("PP6TP4", "PP4TP2", 36, Published(3577.33, 962.63, 7869.14)),
    Reconfiguration(
        "PP4TP2DP3", "PP4TP8DP1", 36, Published(4396.12, 1475.39, 10969.26)
    ),
]


def sizes(configuration: str) -> dict[str, int]:
    """PP4TP2 as {"pp": 4, "tp": 2}."""
    return {
        key.lower(): int(size)
        for key, size in re.findall(r"([A-Z]+)(\d+)", configuration)
    }


def world(configuration: str) -> int:
    return math.prod(sizes(configuration).values())


def default_order(
    bench: Bench,
    name: str,
    model: str,
    prev: str,
    curr: str,
    nodes: int,
    per_node: int,
    *options: str,
) -> pathlib.Path:
    """A plan where current rank r is on device r, as launchers place it."""
    request = {
        "model": model,
        "prev": prev,
        "curr": sizes(curr) | {"devices": list(range(world(curr)))},
        "cluster": {"nodes": nodes, "devices_per_node": per_node},
    }
    file = bench.work / f"{name}.json"
    file.write_text(json.dumps(request))
    return bench.plan(name, str(file), *options)


def simulate(bench: Bench, plan: pathlib.Path, cluster: pathlib.Path | str) -> dict:
    """What etc-run predicts; a name is one of the cluster files that come with it."""
    file = CLUSTERS / f"{cluster}.json" if isinstance(cluster, str) else cluster
    return bench.execute(plan, "--dry-run", f"--cluster={file}")
