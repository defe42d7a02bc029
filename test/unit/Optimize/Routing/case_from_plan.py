"""Turns the JSON of a plan into an instance of the routing problem: the plan's roles, and no routing.

    etc-opt ... --emit=json | case_from_plan.py runtime/view/simulate/clusters/h100.json > NAME.case

Bytes that the same devices held and the same devices receive are one atom.
"""

import collections
import itertools
import json
import sys
from collections.abc import Iterable

BYTES = {"bf16": 2, "fp16": 2, "fp32": 4}


def find_boxes(plan: dict, side: str) -> dict:
    """By tensor, the boxes that devices hold: (box, device)."""
    boxes = collections.defaultdict(list)
    for device in plan["devices"]:
        for number in device[side]:
            shard = plan["shards"][number]
            for box in shard["boxes"]:
                boxes[shard["tensor"]].append((tuple(map(tuple, box)), device["device"]))
    return boxes


def find_sources(plan: dict) -> dict:
    """By tensor that is received, the tensor that its bytes come from."""
    sources = {}
    for device in plan["devices"]:
        for op in (op for ops in device["rounds"] for op in ops if op["op"] == "recv"):
            sources[op["tensor"]] = op.get("source", op["tensor"])
    return sources


def cells(boxes: list) -> list:
    """Boxes that are wholly inside or outside of each of these."""
    axes = []
    for axis in zip(*boxes):
        cuts = sorted({end for span in axis for end in span})
        axes.append(list(zip(cuts, cuts[1:])))
    return list(itertools.product(*axes))


def who_has(cell: tuple, boxes: tuple) -> frozenset:
    return frozenset(
        device
        for box, device in boxes
        if all(outer[0] <= inner[0] and inner[1] <= outer[1] for inner, outer in zip(cell, box))
    )


def split(held: tuple, wanted: tuple) -> collections.Counter:
    """Elements by (holders, needers)."""
    atoms = collections.Counter()
    for cell in cells([box for box, _ in held + wanted]):
        holders, needers = who_has(cell, held), who_has(cell, wanted)
        elements = 1
        for begin, end in cell:
            elements *= end - begin
        if holders and needers - holders:
            atoms[holders, needers - holders] += elements
    return atoms


def find_atoms(plan: dict) -> collections.Counter:
    """Bytes by (holders, needers)."""
    prev, curr = find_boxes(plan, "prev"), find_boxes(plan, "curr")
    known, atoms = {}, collections.Counter()
    for tensor, source in find_sources(plan).items():
        key = tuple(prev[source]), tuple(curr[tensor])
        if key not in known:
            known[key] = split(*key)
        for sets, elements in known[key].items():
            atoms[sets] += elements * BYTES[plan["tensors"][tensor]["dtype"]]
    return atoms


def write_list(devices: Iterable[int]) -> str:
    return " ".join(map(str, sorted(devices)))


def main() -> None:
    plan = json.load(sys.stdin)
    with open(sys.argv[1]) as file:
        cluster = json.load(file)
    link, port = cluster["link"], cluster["port"]
    for count in plan["world"]["nodes"]:
        print(
            f"nodes 1 devices {count} nics {port['per_node']}"
            f" link {int(link['bytes_per_second'])} nic {int(port['bytes_per_second'])}"
        )
    absent = set(range(sum(plan["world"]["nodes"]))) - set(plan["world"]["participants"])
    if absent:
        print("spare", write_list(absent))
    for (holders, needers), count in sorted(
        find_atoms(plan).items(), key=lambda item: (sorted(item[0][0]), sorted(item[0][1]))
    ):
        print(f"atom {count}: {write_list(holders)} -> {write_list(needers)}")


if __name__ == "__main__":
    main()
