"""What PyTorch itself gives each rank, without its peers: fake process groups.

Every rank is a process of its own, since meshes are kept for the life of one; all are forked from this one, which has
imported what they need.
"""

from __future__ import annotations

import math
import multiprocessing
from typing import Any, Callable

import torch
import torch._dynamo  # each rank would import it
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor
from torch.testing._internal.distributed.fake_pg import FakeStore


def on_every_rank(world: int, body: Callable[..., Any], *args: Any) -> list:
    """body(*args) as every rank of a world of fake peers."""
    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        jobs = [
            pool.apply_async(_as_rank, (rank, world, body, args))
            for rank in range(world)
        ]
        return [job.get(timeout=300) for job in jobs]


def _as_rank(rank, world, body, args):
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    return body(*args)


def whole(shape: tuple[int, ...]) -> torch.Tensor:
    """A tensor that says where each element is."""
    return torch.arange(float(math.prod(shape))).view(shape)


def sharded(
    shape: tuple[int, ...],
    split: int | None,
    sizes: tuple[int, int, int],
) -> torch.Tensor:
    """A parameter of a module under tensor parallelism, along axis `split` of it, and
    then fully_shard; `sizes` are those of a mesh (replicate, shard, tp)."""
    mesh = init_device_mesh("cpu", sizes, mesh_dim_names=("replicate", "shard", "tp"))
    tensor = whole(shape)
    if split is not None and sizes[2] > 1:
        tensor = distribute_tensor(
            tensor, mesh["tp"], [Shard(split)], src_data_rank=None
        )
    module = torch.nn.Module()
    module.weight = torch.nn.Parameter(tensor)
    replicated = sizes[0] > 1
    fully_shard(
        module, mesh=mesh["replicate", "shard"] if replicated else mesh["shard"]
    )
    return module.weight
