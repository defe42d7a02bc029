"""Whether a DeviceMesh is what its shards were cut by."""

from __future__ import annotations

from typing import Any

import torch.distributed as dist


def check_mesh(label: str, mesh: Any) -> None:
    """Raises a ValueError that names the tensor where ranks of its mesh are not those
    of the job, or its collectives and its shards number ranks in two ways."""
    ranks = mesh.mesh.flatten().tolist()
    world = dist.get_world_size()
    beyond = [rank for rank in ranks if not 0 <= rank < world]
    if beyond:
        raise ValueError(
            f"{label}: its DeviceMesh has rank {beyond[0]}, the job has ranks 0 to "
            f"{world - 1}; make the mesh again over this job's ranks"
        )
    if len(set(ranks)) != len(ranks):
        raise ValueError(
            f"{label}: its DeviceMesh lists a rank twice in {mesh.mesh.tolist()}; make "
            f"the mesh again"
        )
    here = (mesh.mesh == dist.get_rank()).nonzero().flatten().tolist()
    coordinate = mesh.get_coordinate()
    if list(coordinate or ()) != here:
        raise ValueError(
            f"{label}: the rank list of its DeviceMesh was changed after the mesh was "
            f"made (this rank is at {here}, and was at {list(coordinate or ())}); make "
            f"the mesh again"
        )
    if coordinate is not None:
        _check_groups(label, mesh, here)


def _check_groups(label: str, mesh: Any, here: list[int]) -> None:
    """PyTorch sorts the ranks of a group."""
    for axis in range(mesh.ndim):
        line: Any = mesh.mesh
        for other in reversed(range(mesh.ndim)):
            if other != axis:
                line = line.select(other, here[other])
        try:
            group = dist.get_process_group_ranks(mesh.get_group(axis))
        except (KeyError, RuntimeError, AssertionError):
            raise ValueError(
                f"{label}: a process group of its DeviceMesh is gone; make the mesh "
                f"again after init_process_group"
            ) from None
        if line.tolist() != group:
            raise ValueError(
                f"{label}: dimension {_name(mesh, axis)} of its DeviceMesh lists ranks "
                f"{line.tolist()}, its process group {group}, so that collectives take "
                f"one rank's shard for another's; list ranks in ascending order"
            )


def _name(mesh: Any, axis: int) -> str:
    names = mesh.mesh_dim_names
    return repr(names[axis]) if names else str(axis)


def describe_mesh(mesh: Any, placements: Any) -> str:
    """The same on all ranks that see one mesh."""
    return f"{mesh.mesh.tolist()} as {tuple(str(p) for p in placements)}"
