"""The paper's six reconfigurations, with PP, TP and the devices of a node halved, and the
model and hosts that they are measured on."""

from __future__ import annotations

import re
from typing import Dict, List

# In an order in which each begins near where the one before ended.
CASES = [("PP4", "PP8"), ("PP2DP3", "PP2TP4"), ("PP2", "PP2TP2"), ("PP2TP2", "PP2"),
         ("PP2", "PP3TP2"), ("PP3TP2", "PP2")]
# Those that lead back to where the other began; they can take turns.
PAIRS = [CASES[:1], CASES[1:2], CASES[2:4], CASES[4:]]
START = CASES[0][0]
MODEL = {"layers": 24, "heads": 8, "seq": 32}
HOSTS = {"nodes": 4, "per_node": 2}


def devices(configuration: str) -> List[int]:
    """Rank r on device r, as a job that starts from a checkpoint has it."""
    count = 1
    for size in re.findall(r"\d+", configuration):
        count *= int(size)
    return list(range(count))


def side(configuration: str) -> Dict[str, object]:
    sizes = {name.lower(): int(size)
             for name, size in re.findall(r"(PP|TP|DP)(\d+)", configuration)}
    return {**sizes, "devices": devices(configuration)}
