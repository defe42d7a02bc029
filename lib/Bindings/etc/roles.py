"""Places in a hybrid-parallel grid, by Megatron's order of ranks."""

from __future__ import annotations

import re

Role = dict[str, int]


def sizes_of(label: str) -> dict[str, int]:
    """The sizes of "PP4TP2DP3+zero1": {"pp": 4, "tp": 2, "dp": 3, "cp": 1}."""
    sizes = {"pp": 1, "tp": 1, "dp": 1, "cp": 1}
    for name, size in re.findall(r"([A-Z]+)(\d+)", label.split("+")[0]):
        sizes[name.lower()] = int(size)
    return sizes


def role_of(placement: list[int], label: str, device: int) -> Role | None:
    """The role of the rank that is placed on `device`, or None.

    Where the configuration is an inventory, not a grid, only "rank" is known.
    """
    if device not in placement:
        return None
    rank = placement.index(device)
    sizes = sizes_of(label)
    world = sizes["pp"] * sizes["tp"] * sizes["dp"] * sizes["cp"]
    if world != len(placement):
        return {"rank": rank}
    # The first varies fastest.
    inner = ("pp", "dp") if "+order=pp-dp" in label else ("dp", "pp")
    role: Role = {}
    rest = rank
    for name in ("tp", "cp", *inner):
        role[name] = rest % sizes[name]
        rest //= sizes[name]
    role["rank"] = rank
    return role
