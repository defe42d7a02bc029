"""Checks a deferred plan from its JSON alone.

usage: check_deferred PLAN [TYPE...]

The tail moves what is not of the model, or the types, and the pause all else; the bound of the pause
is not above what its rounds take; the peak of the tail is counted again. Where one
device gives another all of its state, parameters arrive in the order of the forward
pass.
"""

import json
import math
import re
import sys

BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "fp64": 8, "i64": 8, "u8": 1}


def position(name: str) -> int:
    """In the forward pass."""
    if layer := re.search(r"layers\.(\d+)\.", name):
        return int(layer.group(1))
    return -1 if name.startswith("embedding") else 1000


def check_order(plan: dict, pause: int) -> None:
    (device,) = (d for d in plan["devices"] if d["curr"])
    last = -1
    for ops in device["rounds"][:pause]:
        arrive = [position(plan["tensors"][op["tensor"]]["name"]) for op in ops]
        assert last <= min(arrive), (last, arrive)
        last = max(arrive)
    assert last == 1000, "nothing behind the layers"


def main(path: str, types: list[str]) -> None:
    with open(path, encoding="utf-8") as file:
        plan = json.load(file)
    tensors, shards = plan["tensors"], plan["shards"]
    first = plan["pause"]["rounds"]
    total = plan["summary"]["rounds"]
    assert first + plan["summary"]["deferred_rounds"] == total, (first, total)
    assert plan["pause"]["bound_s"] <= plan["pause"]["predicted_s"] + 1e-6, plan["pause"]
    assert plan["pause"]["predicted_s"] <= plan["time"]["predicted_s"] + 1e-6
    for tensor in tensors:
        is_state = tensor["type"] not in ("param", "buffer")
        late = tensor["type"] in types if types else is_state
        assert tensor.get("deferred", False) == late, tensor
    moved = {False: 0, True: 0}
    for device in plan["devices"]:
        prev = {shards[i]["tensor"]: shards[i]["boxes"] for i in device["prev"]}
        curr = {shards[i]["tensor"]: shards[i]["boxes"] for i in device["curr"]}
        for number, ops in enumerate(device["rounds"]):
            for op in ops:
                late = tensors[op["tensor"]].get("deferred", False)
                stays = op["op"] == "refer" and prev.get(
                    op.get("source", op["tensor"])
                ) == curr.get(op["tensor"])
                if not (stays and number < first):
                    assert late == (number >= first), (number, first, op)
                if op["op"] == "recv":
                    moved[late] += math.prod(e - b for b, e in op["box"])
        elements = sum(
            math.prod(e - b for b, e in box)
            for tensor, boxes in curr.items()
            if tensors[tensor]["type"] == "param"
            for box in boxes
        )
        assert device["tail_peak"] >= 4 * elements, device["device"]
    if len(plan["devices"]) == 2:
        check_order(plan, first)
    assert plan["summary"]["rounds"] == 0 or sum(moved.values()) > 0
    print(f"pause of {first} of {total} rounds")


main(sys.argv[1], sys.argv[2:])
