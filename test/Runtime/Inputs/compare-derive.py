"""Compares a plan that derives parameters with one of the same request that moves them."""

import json
import sys

derived, moved = (json.load(open(path)) for path in sys.argv[1:])


def parts(plan):
    return [plan["summary"][name + "_bytes"] for name in ("moved", "kept", "zeroed", "derived")]


def ops(plan, kind):
    return [op for device in plan["devices"] for round in device["rounds"] for op in round if op["op"] == kind]


assert parts(moved)[3] == 0 and not ops(moved, "derive")
assert parts(derived)[0] * 14 == parts(moved)[0] * 12, (parts(derived), parts(moved))
# What is derived is what is not moved, and nothing else differs.
assert parts(derived)[3] == parts(moved)[0] - parts(derived)[0] > 0
assert parts(derived)[1:3] == parts(moved)[1:3]
assert derived["placement"] == moved["placement"]
# Both are as good as their certificates allow.
for plan in derived, moved:
    assert plan["summary"]["bound"]["moved_bytes"] == plan["summary"]["moved_bytes"]

for op in ops(derived, "derive"):
    tensor, source = derived["tensors"][op["tensor"]], derived["tensors"][op["source"]]
    assert (tensor["type"], source["type"], tensor["name"]) == ("param", "master", source["name"])
assert not [op for kind in ("send", "recv") for op in ops(derived, kind)
            if derived["tensors"][op["tensor"]]["type"] == "param"]
