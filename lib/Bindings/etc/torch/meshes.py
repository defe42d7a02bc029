"""Whether a DeviceMesh is what its shards were cut by."""

from __future__ import annotations

from typing import Any

import torch.distributed as dist

from etc.torch import ranks as job
from etc.torch.placements import is_dtensor


def check_mesh(label: str, mesh: Any, was: int | None = None) -> None:
    """Raises a ValueError that names the tensor where ranks of its mesh are not those
    of the job, or its collectives and its shards number ranks in two ways.

    `was` is the rank that this process had in the job that made the mesh, where that
    is not the present one: its process groups are gone then.
    """
    world = job.size()
    array = mesh.mesh  # PyTorch computes it each time
    ranks = array.flatten().tolist()
    beyond = [rank for rank in ranks if not 0 <= rank < world]
    if beyond and was is None:
        raise ValueError(
            f"{label}: its DeviceMesh has rank {beyond[0]}, the job has ranks 0 to "
            f"{world - 1}; make the mesh again over this job's ranks, or pass was= if "
            f"it is the one before"
        )
    if len(set(ranks)) != len(ranks):
        raise ValueError(
            f"{label}: its DeviceMesh lists a rank twice in {array.tolist()}; make "
            f"the mesh again"
        )
    rank = job.rank() if was is None else was
    here = (array == rank).nonzero().flatten().tolist()
    coordinate = list(mesh.get_coordinate() or ())
    if coordinate != here:
        raise ValueError(
            f"{label}: its DeviceMesh has this rank at {coordinate}, and lists rank "
            f"{rank} at {here}: it is of a job with other ranks, or its list was "
            f"changed; make the mesh again, or pass was= if it is the one before"
        )
    for axis in range(mesh.ndim if coordinate else 0):
        line = array
        for other in reversed(range(mesh.ndim)):
            if other != axis:
                line = line.select(other, here[other])
        _check_line(label, mesh, axis, line.tolist(), was is None)


def _check_line(
    label: str, mesh: Any, axis: int, line: list[int], is_present: bool
) -> None:
    """`line`: the ranks along an axis through this one. PyTorch sorts those of a group."""
    group = sorted(line)
    if is_present:
        try:
            group = dist.get_process_group_ranks(mesh.get_group(axis))
        except (KeyError, RuntimeError, AssertionError, TypeError):  # by release
            raise ValueError(
                f"{label}: a process group of its DeviceMesh is gone; make the mesh "
                f"again after init_process_group, or pass was= if it is the one before"
            ) from None
    if line != group:
        raise ValueError(
            f"{label}: dimension {_name(mesh, axis)} of its DeviceMesh lists ranks "
            f"{line}, its process group {group}, so that collectives take "
            f"one rank's shard for another's; list ranks in ascending order"
        )


def _name(mesh: Any, axis: int) -> str:
    names = mesh.mesh_dim_names
    return repr(names[axis]) if names else str(axis)


class Seen:
    """Meshes that have been read, since PyTorch computes DeviceMesh.mesh each time: it
    takes longer than everything else that is read of a tensor."""

    def __init__(self) -> None:
        self._lists: dict[int, tuple[Any, Any, tuple[int, ...]]] = {}
        self._layouts: dict[Any, str] = {}

    def read(self, tensor: Any) -> tuple[tuple[int, ...], str]:
        """The ranks of a tensor's mesh, and how it is sharded: the same on all ranks
        that have a part of it. Nothing where it has no mesh."""
        if not is_dtensor(tensor):
            return (), ""
        mesh, placements = tensor.device_mesh, tuple(tensor.placements)
        if id(mesh) not in self._lists:
            ranks = mesh.mesh
            self._lists[id(mesh)] = mesh, ranks, tuple(ranks.flatten().tolist())
        _, ranks, flat = self._lists[id(mesh)]
        key = id(mesh), placements
        if key not in self._layouts:
            names = tuple(str(placement) for placement in placements)
            self._layouts[key] = f"{ranks.tolist()} as {names}"
        return flat, self._layouts[key]
