"""Plans reconfigurations of the paper under --policy=paper and counts what they move, in units.

A unit is one layer x one slice of LCM(TP, TP'). It is counted on one matrix that tensor parallelism cuts, the first
of the MLP; all that it cuts move alike.

usage: paper_table.py COSTS SCRATCH -- ETC-OPT...
"""

import json
import math
import re
import subprocess
import sys

PER_NODE = 4
FFN, HIDDEN = 128, 32
MATRIX = "mlp.linear_fc1.weight"
CASES = [  # layers, prev, curr, nodes
    (32, "PP8TP1", "PP16TP1", 4),
    (36, "PP4TP2", "PP4TP4", 4),
    (36, "PP4TP4", "PP4TP2", 4),
    (36, "PP4TP2", "PP6TP4", 6),
    (36, "PP6TP4", "PP4TP2", 6),
    (36, "PP4TP2DP3", "PP4TP8DP1", 8),
    (32, "PP16TP1", "PP8TP1", 4),
    (16, "PP4", "PP2", 1),
]


def degrees(label):
    found = dict(re.findall(r"(PP|TP|DP)(\d+)", label))
    return [int(found.get(name, 1)) for name in ("PP", "TP", "DP")]


def plan(etc_opt, scratch, case, *more):
    layers, prev, curr, nodes = case
    command = etc_opt + ["--model=gpt2", f"--layers={layers}", f"--hidden={HIDDEN}", "--heads=8", f"--ffn={FFN}",
                         "--vocab=512", "--seq=32", "--types=param", f"--prev={prev}", f"--curr={curr}",
                         f"--cluster={nodes}x{PER_NODE}", "--policy=paper", "--emit=json", "--quiet",
                         "-o", scratch + ".json", *more]
    subprocess.run(command, check=True)


def group_of(plan, side, label):
    """The data-parallel group of every device of a side."""
    _, tp, dp = degrees(label)
    return {device: rank // tp % dp for rank, device in enumerate(plan["placement"][side])}


class Volumes:
    """What a plan moves of the matrix, in units."""

    def __init__(self, path, case, labels):
        with open(path, encoding="utf-8") as file:
            plan = json.load(file)
        self.moved = self.across = self.receives = self.sends = self.from_other_groups = 0
        slices = math.lcm(degrees(case[1])[1], degrees(case[2])[1])
        self.unit = FFN // slices * HIDDEN
        groups = [group_of(plan, side, label) for side, label in zip(("prev", "curr"), labels)]
        counted = {n for n, tensor in enumerate(plan["tensors"]) if tensor["name"].endswith(MATRIX)}
        for device in plan["devices"]:
            ops = [op for ops in device["rounds"] for op in ops if op["tensor"] in counted]
            self.add(device["device"], ops, groups)

    def add(self, device, ops, groups):
        def total(kind, where=lambda op: True):
            volume = sum(math.prod(end - begin for begin, end in op["box"])
                         for op in ops if op["op"] == kind and where(op))
            assert volume % self.unit == 0
            return volume // self.unit

        self.moved += total("recv")
        self.across += total("recv", lambda op: op["peer"] // PER_NODE != device // PER_NODE)
        self.receives = max(self.receives, total("recv"))
        self.sends = max(self.sends, total("send"))
        if groups[0].get(device) != groups[1].get(device):
            self.from_other_groups += total("refer")


def main():
    costs, scratch, etc_opt = sys.argv[1], sys.argv[2], sys.argv[4:]
    for case in CASES:
        plan(etc_opt, scratch, case, f"--paper-costs={costs}")
        plan(etc_opt, scratch, case, f"--paper-costs={costs}", "--two-stage")
        prev, curr = case[1:3]
        direct = Volumes(scratch + ".json", case, (prev, curr))
        first = Volumes(scratch + ".1.json", case, (prev, curr))
        second = Volumes(scratch + ".2.json", case, (curr, curr))
        line = (f"{prev} -> {curr}: assignment {first.moved} ({first.across}), two-stage {first.moved + second.moved}, "
                f"coalesced {direct.moved} ({direct.across}), busiest {direct.sends}/{direct.receives}")
        if first.from_other_groups:
            other = first.from_other_groups
            line += (f", isolated {first.moved + other}, {first.moved + other + second.moved}, "
                     f"{direct.moved + direct.from_other_groups}")
        print(line)


main()
