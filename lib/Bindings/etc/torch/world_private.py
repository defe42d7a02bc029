"""Names of torch that its documentation does not list, and how `World` uses them.
Nothing else of World refers to them; test_etcrun_names.py checks each.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d
from torch.distributed.tensor import debug


def make_gloo(store: Any, rank: int, size: int, seconds: float) -> Any:
    """A group of processes that are not those of the default group."""
    return dist.ProcessGroupGloo(store, rank, size, datetime.timedelta(seconds=seconds))


_gloo: Any = None
"""How torch makes a group of Gloo."""


def create_gloo_by(run: Callable[[Callable[[], Any]], Any]) -> None:
    """Groups of Gloo that torch makes, for meshes as well, are made by run(make)."""
    global _gloo
    backends = distributed_c10d.Backend
    backends._ensure_backend_registered("gloo")
    plugins = backends._plugins
    _gloo = _gloo or plugins["GLOO"]
    create = _gloo.creator_fn
    plugins["GLOO"] = _gloo._replace(
        creator_fn=lambda *given: run(lambda: create(*given))
    )


def limit_groups(limit: datetime.timedelta) -> None:
    """Groups that are made without a time-out, such as those of a mesh, get this one
    (torch gives Gloo's half an hour)."""
    distributed_c10d.default_pg_timeout = limit
    distributed_c10d.default_pg_nccl_timeout = limit


def forget_meshes() -> None:
    """DTensor keeps the results of operators by mesh, and takes a mesh for an earlier
    one of the same ranks, whose groups are gone."""
    debug._clear_sharding_prop_cache()


def forget_names() -> None:
    """Groups are named by a counter that all processes must share. Where the default
    group's creation failed, torch has counted it, and there is nothing to destroy."""
    if not dist.is_initialized():
        distributed_c10d._world.group_count = 0


def abort_groups() -> None:
    """Ends the collectives of groups that can be ended (NCCL)."""
    distributed_c10d._abort_process_group()
