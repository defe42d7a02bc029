"""Prints what a plan moves in units of one layer x one slice of LCM(TP, TP'): `moved (between nodes)`.

Counts the tensors of layers that tensor parallelism cuts, and no others, so that the figures are whole numbers:

    units.py plan.json --slices 4
"""

import argparse
import json

SPLIT = ("linear_qkv.weight", "linear_qkv.bias", "linear_proj.weight", "linear_fc1.weight", "linear_fc1.bias",
         "linear_fc2.weight")
BYTES = {"bf16": 2, "fp32": 4}


def volume(ranges):
    count = 1
    for begin, end in ranges:
        count *= end - begin
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan")
    parser.add_argument("--slices", type=int)
    args = parser.parse_args()
    with open(args.plan) as file:
        plan = json.load(file)
    node = [n for n, count in enumerate(plan["world"]["nodes"]) for _ in range(count)]
    tensors = plan["tensors"]
    counted = [t["name"].startswith("decoder.layers.") and t["name"].endswith(SPLIT) for t in tensors]
    layers = len({t["name"].split(".")[2] for t, c in zip(tensors, counted) if c})
    state = sum(volume([(0, n) for n in t["shape"]]) * BYTES[t["dtype"]] for t, c in zip(tensors, counted) if c)
    unit = state // (layers * args.slices)
    moved = between = 0
    for device in plan["devices"]:
        for operations in device["rounds"]:
            for op in operations:
                if op["op"] == "recv" and counted[op["tensor"]]:
                    size = volume(op["box"]) * BYTES[tensors[op["tensor"]]["dtype"]]
                    moved += size
                    between += size if node[device["device"]] != node[op["peer"]] else 0
    assert moved % unit == 0 and between % unit == 0
    print(f"{moved // unit} ({between // unit})")


if __name__ == "__main__":
    main()
