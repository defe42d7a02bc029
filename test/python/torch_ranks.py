"""What PyTorch itself gives each rank, without its peers: fake process groups.

Every rank is a process of its own, since meshes are kept for the life of one; all are forked from this one, which has
imported what they need.
"""

from __future__ import annotations

import inspect
import math
import multiprocessing
from typing import Any, Callable

import torch
import torch._dynamo  # each rank would import it
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from torch.testing._internal.distributed.fake_pg import FakeStore

OLD = torch.__version__ < (2, 9)


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


class Refused(Exception):
    """What this release of PyTorch does not shard."""


def distribute(tensor: torch.Tensor, mesh: Any, placements: Any) -> DTensor:
    """distribute_tensor, of a tensor that every rank has."""
    rows = [1] * tensor.dim()
    for placement, size in zip(placements, mesh.shape):
        if placement.is_shard():
            rows[placement.dim] *= size * getattr(placement, "split_factor", 1)
    strided = {p.dim for p in placements if hasattr(p, "split_factor")}
    # 2.8 does not cut as fully_shard does, and 2.6 not at all.
    if OLD and any(tensor.size(axis) % rows[axis] for axis in strided):
        raise Refused(f"{list(tensor.shape)} by {placements}")
    if "src_data_rank" in inspect.signature(distribute_tensor).parameters:
        return distribute_tensor(tensor, mesh, placements, src_data_rank=None)
    local = tensor  # torch 2.6 cuts alike, and asks rank 0 for the parts
    for axis, (placement, index) in enumerate(zip(placements, mesh.get_coordinate())):
        if placement.is_shard():
            parts, _ = placement._split_tensor(
                local, mesh.size(axis), with_padding=False
            )
            local = parts[index]
    return DTensor.from_local(
        local,
        mesh,
        placements,
        run_check=False,
        shape=tensor.shape,
        stride=tensor.stride(),
    )


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
        tensor = distribute(tensor, mesh["tp"], [Shard(split)])
    module = torch.nn.Module()
    module.weight = torch.nn.Parameter(tensor)
    replicated = sizes[0] > 1
    try:
        fully_shard(
            module, mesh=mesh["replicate", "shard"] if replicated else mesh["shard"]
        )
    except NotImplementedError as error:
        if OLD and "does not support uneven sharding" in str(error):  # 2.6
            raise Refused(error) from error
        raise
    return module.weight
