"""Executes the JSON of a plan in one process, without ETC (docs/plan-example.md).

The value of an element is its number in the whole tensor, so that the result can be
checked. Knows what the example needs: send, recv, refer, zero and release, of elements
of two bytes.
"""

import itertools
import json
import math
import sys

BYTES = 2  # of a bf16


def places(box):
    """The elements of a box, row by row: each its index in every dimension."""
    return itertools.product(*(range(begin, end) for begin, end in box))


def number(place, shape):
    """The place of an element in a tensor that is stored row by row."""
    return sum(i * math.prod(shape[d + 1 :]) for d, i in enumerate(place))


def span(box, whole):
    """The first and the last byte of a box, in memory that holds the box `whole`."""
    shape = [end - begin for begin, end in whole]
    ends = ([begin for begin, _ in box], [end - 1 for _, end in box])
    first, last = (
        number([i - begin for i, (begin, _) in zip(place, whole)], shape)
        for place in ends
    )
    return f"{BYTES * first}..{BYTES * last + BYTES - 1}"


def hold(plan, shards):
    """The state of a device: of each tensor, its elements by place."""
    state = {}
    for shard in (plan["shards"][i] for i in shards):
        shape = plan["tensors"][shard["tensor"]]["shape"]
        elements = state.setdefault(shard["tensor"], {})
        for box in shard["boxes"]:
            elements.update({place: number(place, shape) for place in places(box)})
    return state


def ops_of(device, at):
    """What a device does in a round; it may have nothing to do in the last ones."""
    return device["rounds"][at] if at < len(device["rounds"]) else []


def show(plan, device, op, offset, size):
    """A line about a part of a message."""
    shards = [plan["shards"][i] for i in device["prev"]]
    whole = next(it["boxes"][0] for it in shards if it["tensor"] == op["tensor"])
    name = plan["tensors"][op["tensor"]]["name"].removeprefix("decoder.layers.0.")
    place = f"{name} {op['box']}, in {span(op['box'], whole)}"
    print(f"  bytes {offset}..{offset + size - 1}: {place}")


def run_round(plan, at, prev, curr):
    """One round of all devices: what leaves first, then what arrives."""
    messages = {}
    for device in plan["devices"]:
        me = device["device"]
        for op in ops_of(device, at):
            where = list(places(op["box"])) if "box" in op else []
            if op["op"] == "send":
                message = messages.setdefault((me, op["peer"]), [])
                if not message:
                    print(f"round {at}, device {me} to {op['peer']}")
                show(plan, device, op, BYTES * len(message), BYTES * len(where))
                message += [prev[me][op["tensor"]][place] for place in where]
            elif op["op"] in ("refer", "zero"):
                kept = prev[me].get(op["tensor"], {})
                curr[me].setdefault(op["tensor"], {}).update(
                    {p: kept[p] if op["op"] == "refer" else 0 for p in where}
                )
    for device in plan["devices"]:
        me = device["device"]
        for op in ops_of(device, at):
            if op["op"] == "recv":
                message = messages[op["peer"], me]
                for place in places(op["box"]):
                    curr[me].setdefault(op["tensor"], {})[place] = message.pop(0)
            elif op["op"] == "release":
                del prev[me][op["tensor"]]
    assert not any(messages.values()), "both ends of a message list the same boxes"


def is_right(plan, device, state):
    """Whether a device holds its current shards, with zeros in rows that are new."""
    wanted = hold(plan, device["curr"])
    for tensor, elements in wanted.items():
        shapes = plan["tensors"][tensor]
        rows = shapes.get("prev_shape", shapes["shape"])[0]
        elements.update({place: 0 for place in elements if place[0] >= rows})
    return state == wanted


plan = json.load(open(sys.argv[1]))
prev = {d["device"]: hold(plan, d["prev"]) for d in plan["devices"]}
curr = {d["device"]: {} for d in plan["devices"]}
for at in range(plan["summary"]["rounds"]):
    run_round(plan, at, prev, curr)
for device in plan["devices"]:
    right = is_right(plan, device, curr[device["device"]])
    print(f"device {device['device']}:", "right" if right else "WRONG")
