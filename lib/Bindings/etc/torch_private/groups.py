"""How torch makes, names and ends process groups and meshes, for `World`."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d


def make_gloo(store: Any, rank: int, size: int, seconds: float) -> Any:
    """A group of processes that are not those of the default group."""
    return dist.ProcessGroupGloo(store, rank, size, datetime.timedelta(seconds=seconds))


def gather(group: Any, packed: bytes) -> list[bytes]:
    """What each process of a group of Gloo passes, in order. Collective."""
    counts = _by_process(group, torch.tensor([len(packed)])).flatten().tolist()
    room = bytearray(packed.ljust(max(*counts, 1), b"\0"))
    parts = _by_process(group, torch.frombuffer(room, dtype=torch.uint8))
    return [part[:count].numpy().tobytes() for part, count in zip(parts, counts)]


def _by_process(group: Any, mine: torch.Tensor) -> torch.Tensor:
    """The tensors of all processes, one behind the other, over the first one: Gloo's
    all-gather goes round a ring, where each process wakes up as often as there are
    processes. With eight on two cores, it takes ten times as long."""
    parts = torch.empty(group.size(), *mine.shape, dtype=mine.dtype)
    to_first = dist.GatherOptions()
    to_first.rootRank = 0
    outputs = [list(parts)] if group.rank() == 0 else []
    group.gather(outputs, [mine], to_first).wait()
    _share(group, parts)
    return parts


def share(group: Any, packed: bytes) -> bytes:
    """What the first process of a group of Gloo passes. Collective."""
    length = torch.tensor([len(packed)])
    _share(group, length)
    room = torch.empty(int(length), dtype=torch.uint8)
    if group.rank() == 0 and packed:
        room = torch.frombuffer(bytearray(packed), dtype=torch.uint8)
    if len(room):
        _share(group, room)
    return room.numpy().tobytes()


def _share(group: Any, tensor: torch.Tensor) -> None:
    from_first = dist.BroadcastOptions()
    from_first.rootRank = from_first.rootTensor = 0
    group.broadcast([tensor], from_first).wait()


_gloo: Any = None
"""How torch makes a group of Gloo."""

Run = Callable[[Callable[[], Any]], Any]


def create_gloo_by(run: Run) -> None:
    """Groups of Gloo that torch makes, for meshes as well, are made by run(make)."""
    global _gloo
    backends = distributed_c10d.Backend
    if not hasattr(backends, "_ensure_backend_registered"):
        _construct_gloo_by(run)
        return
    backends._ensure_backend_registered("gloo")
    plugins = backends._plugins
    _gloo = _gloo or plugins["GLOO"]
    create = _gloo.creator_fn
    plugins["GLOO"] = _gloo._replace(
        creator_fn=lambda *given: run(lambda: create(*given))
    )


def _construct_gloo_by(run: Run) -> None:
    """The same in torch 2.8 and earlier, which calls the class by its name."""
    made_by_torch = dist.ProcessGroupGloo

    class Named(type):
        def __call__(cls, *given: Any, **named: Any) -> Any:
            return run(lambda: made_by_torch(*given, **named))

        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, made_by_torch)

    distributed_c10d.ProcessGroupGloo = Named("ProcessGroupGloo", (), {})


def limit_groups(limit: datetime.timedelta) -> None:
    """Groups that are made without a time-out, such as those of a mesh, get this one
    (torch gives Gloo's half an hour)."""
    distributed_c10d.default_pg_timeout = limit
    distributed_c10d.default_pg_nccl_timeout = limit


def forget_meshes() -> None:
    """DTensor keeps the results of operators by mesh, and takes a mesh for an earlier
    one of the same ranks, whose groups are gone."""
    from torch.distributed.tensor import DTensor, debug

    if hasattr(debug, "_clear_sharding_prop_cache"):
        debug._clear_sharding_prop_cache()
        return
    propagator = DTensor._op_dispatcher.sharding_propagator
    propagator.propagate_op_sharding.cache.cache_clear()  # torch 2.8 and earlier


def forget_names() -> None:
    """Groups are named by a counter that all processes must share. Where the default
    group's creation failed, torch has counted it, and there is nothing to destroy."""
    if not dist.is_initialized():
        distributed_c10d._world.group_count = 0


def forget_groups() -> None:
    """As torch does at the end of `destroy_process_group`, and fails to do where it is
    interrupted: without it, there can be no other default group."""
    distributed_c10d._update_default_pg(None)
    world = distributed_c10d._world
    for name in (
        "pg_map",
        "pg_names",
        "pg_group_ranks",
        "pg_backend_config",
        "pg_to_tag",
        "tags_to_pg",
        "pg_coalesce_state",
        "pg_flight_recorder_hooks",
    ):
        getattr(world, name, {}).clear()
    distributed_c10d._unregister_all_process_groups()
    world.group_count = 0
