"""Inventories: which device holds which part of which tensor."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from etc.plans import Plan

Inventory = dict[str, Any]
FORMAT = "etc-inventory"


def is_inventory(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("format") == FORMAT


def empty(device: int) -> Inventory:
    """Of a device that holds nothing."""
    return {
        "format": FORMAT,
        "version": 1,
        "tensors": [],
        "shards": [],
        "devices": [{"device": device, "has": []}],
    }


def join(inventories: Iterable[Mapping[str, Any]]) -> Inventory:
    """One of all devices. Raises ValueError if two list the same device, or do not
    agree on a tensor."""
    tensors: dict[tuple[str, str], dict[str, Any]] = {}  # in the order of numbers
    shards: dict[str, tuple[int, dict[str, Any]]] = {}
    devices: dict[int, dict[str, Any]] = {}
    for each in inventories:
        numbers = _add_tensors(tensors, each["tensors"])
        has = []
        for shard in each["shards"]:
            moved = {"tensor": numbers[shard["tensor"]], "boxes": shard["boxes"]}
            has.append(shards.setdefault(json.dumps(moved), (len(shards), moved))[0])
        for entry in each["devices"]:
            if entry["device"] in devices:
                raise ValueError(f"two inventories list device {entry['device']}")
            held = [has[number] for number in entry["has"]]
            devices[entry["device"]] = {"device": entry["device"], "has": held}
    return {
        "format": FORMAT,
        "version": 1,
        "tensors": list(tensors.values()),
        "shards": [shard for _, shard in shards.values()],
        "devices": [devices[device] for device in sorted(devices)],
    }


def _add_tensors(
    known: dict[tuple[str, str], dict[str, Any]], tensors: Iterable[dict[str, Any]]
) -> list[int]:
    """Their numbers among those that are known."""
    numbers = {key: number for number, key in enumerate(known)}
    result = []
    for tensor in tensors:
        key = tensor["type"], tensor["name"]
        first = known.setdefault(key, tensor)
        if any(first[what] != tensor[what] for what in ("dtype", "shape")):
            raise ValueError(
                f"{tensor['name']} ({tensor['type']}): inventories differ in its dtype "
                f"or shape"
            )
        result.append(numbers.setdefault(key, len(numbers)))
    return result


def inventory_of(plan: Plan) -> Inventory:
    """What the roles of the resulting inventory hold, on their devices."""
    tensors: dict[Any, int] = {}  # numbers, in order
    shards: dict[Any, int] = {}
    roles = []
    for device in plan.placement["curr"]:
        has = []
        for kind, named in plan.curr_tensors(device).items():
            for name, spec in named.items():
                tensor = (name, kind, spec.dtype, spec.global_shape)
                number = tensors.setdefault(tensor, len(tensors))
                has.append(shards.setdefault((number, spec.boxes), len(shards)))
        roles.append({"device": device, "has": has})
    return {
        "format": FORMAT,
        "version": 1,
        "tensors": [
            dict(zip(("name", "type", "dtype", "shape"), tensor)) for tensor in tensors
        ],
        "shards": [{"tensor": number, "boxes": boxes} for number, boxes in shards],
        "roles": roles,
    }
