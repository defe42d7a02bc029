"""Prints who holds what in a plan's JSON, one line a shard, by the ranks of both sides:

    boxes.py plan.json NAME...        prev 3: decoder.layers.0.mlp.linear_fc2.weight master [0:6, 0:5] [6:7, 0:2]

of the tensors whose names have one of NAME in them; all without NAME. A rank that holds none of them is said to.
"""

import json
import sys

with open(sys.argv[1]) as file:
    plan = json.load(file)
devices = {entry["device"]: entry for entry in plan["devices"]}
for side in ("prev", "curr"):
    for rank, device in enumerate(plan["placement"][side]):
        found = False
        # The dead have no entry.
        for number in devices[device][side] if device in devices else []:
            shard = plan["shards"][number]
            tensor = plan["tensors"][shard["tensor"]]
            if len(sys.argv) > 2 and not any(name in tensor["name"] for name in sys.argv[2:]):
                continue
            boxes = ("[" + ", ".join(f"{begin}:{end}" for begin, end in box) + "]" for box in shard["boxes"])
            print(f"{side} {rank}:", tensor["name"], tensor["type"], *boxes)
            found = True
        if not found:
            print(f"{side} {rank}: nothing")
