"""The stores of process groups."""

from __future__ import annotations

from typing import Any


def store_of(group: Any = None) -> Any:
    """The store of a torch.distributed process group, or of the default one."""
    from torch.distributed import distributed_c10d as c10d

    if group is None:
        return c10d._get_default_store()
    if hasattr(c10d, "_get_process_group_store"):
        return c10d._get_process_group_store(group)
    return c10d._pg_map[group][1]  # torch 1.13
