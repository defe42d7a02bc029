"""Names of torch that its documentation does not list, and how `World` uses them.
Nothing else of World refers to them; test_etcrun_names.py checks each.
"""

from __future__ import annotations

import datetime
from typing import Any

import torch.distributed as dist
from torch.distributed.tensor import debug


def make_gloo(store: Any, rank: int, size: int, seconds: float) -> Any:
    """A group of processes that are not those of the default group."""
    return dist.ProcessGroupGloo(
        store, rank, size, datetime.timedelta(seconds=seconds)
    )


def forget_meshes() -> None:
    """DTensor keeps the results of operators by mesh, and takes a mesh for an earlier
    one of the same ranks, whose groups are gone."""
    debug._clear_sharding_prop_cache()


def abort_groups() -> None:
    """Ends the collectives of groups that can be ended (NCCL)."""
    from torch.distributed.distributed_c10d import _abort_process_group

    _abort_process_group()
