"""Which boxes of a whole tensor a rank's DTensor holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from etc.torch.spans import (
    Box,
    Spans,
    boxes,
    chunk,
    is_in_memory_order,
    size_of,
    strided_chunk,
)
from etc.torch_private.tensors import cuts_uneven_strides, local_tensor


def is_dtensor(tensor: Any) -> bool:
    """Whether it says a device mesh and placements."""
    return hasattr(tensor, "placements") and hasattr(tensor, "device_mesh")


def local_of(tensor: Any) -> Any:
    """This rank's part, detached: memory of the tensor, no copy."""
    local = local_tensor(tensor) if is_dtensor(tensor) else tensor
    return local.detach()


def boxes_of(label: str, tensor: Any) -> tuple[Box, ...]:
    """What this rank holds: boxes that lie in its memory in this order.

    Raises a ValueError that names the tensor and a remedy where its placements do
    not say it.
    """
    shape = tuple(tensor.shape)
    if not is_dtensor(tensor):
        return boxes([[(0, extent)] for extent in shape])
    mesh = tensor.device_mesh
    _check_placements(label, tensor)
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        return ()
    sizes = [mesh.size(axis) for axis in range(mesh.ndim)]
    ways = [
        cut(shape, tensor.placements, sizes, list(coordinate))
        for cut in (left_to_right, tensor_parallel_first)
    ]
    local = tuple(local_of(tensor).shape)
    fitting = [way for way in ways if way and tuple(map(size_of, way)) == local]
    if not fitting:
        raise ValueError(
            f"{label}: this rank has {list(local)} of {list(shape)}, which is not what "
            f"its placements {_list(tensor.placements)} give; distribute it again"
        )
    if len(fitting) == 2 and fitting[0] != fitting[1]:
        raise ValueError(
            f"{label}: {list(shape)} is cut by {_list(tensor.placements)} into uneven "
            f"parts that can be two different ones; pad the axis to a multiple of its "
            f"shards"
        )
    axes = fitting[0]
    if not all(axes):
        return ()
    if not is_in_memory_order(axes):
        raise ValueError(
            f"{label}: this rank's part of {list(shape)} lies in pieces behind one "
            f"another in each row, as {_list(tensor.placements)} cut it; redistribute "
            f"it to Shard placements"
        )
    return boxes(axes)


def left_to_right(
    shape: Sequence[int], placements: Any, sizes: Sequence[int], at: Sequence[int]
) -> list[Spans] | None:
    """By axis, what the placements of a mesh of these sizes give the rank at a
    coordinate: each cuts what those before it left, as distribute_tensor does. None where
    this release of torch would not."""
    axes: list[Spans] = [[(0, extent)] if extent else [] for extent in shape]
    for placement, size, index in zip(placements, sizes, at):
        if not _cuts(placement):
            continue
        spans, factor = axes[placement.dim], getattr(placement, "split_factor", 1)
        if factor > 1 and size_of(spans) % (factor * size):
            if not cuts_uneven_strides():
                return None
        axes[placement.dim] = strided_chunk(spans, factor, size, index)
    return axes


def tensor_parallel_first(
    shape: Sequence[int], placements: Any, sizes: Sequence[int], at: Sequence[int]
) -> list[Spans] | None:
    """The same as fully_shard cuts what is a DTensor already: a _StridedShard comes
    after the later mesh dimensions that make its split factor. The two differ where
    rows do not divide; None where there are no such dimensions."""
    order: dict[int, list[int]] = {}
    for mesh_axis in reversed(range(len(sizes))):
        placement = placements[mesh_axis]
        if not _cuts(placement):
            continue
        before = order.setdefault(placement.dim, [])
        done, place = 1, 0
        while done < getattr(placement, "split_factor", 1) and place < len(before):
            done *= sizes[before[place]]
            place += 1
        if done != getattr(placement, "split_factor", 1):
            return None
        before.insert(place, mesh_axis)
    axes: list[Spans] = [[(0, extent)] if extent else [] for extent in shape]
    for axis, mesh_axes in order.items():
        for mesh_axis in mesh_axes:
            axes[axis] = chunk(axes[axis], sizes[mesh_axis], at[mesh_axis])
    return axes


def _cuts(placement: Any) -> bool:
    return type(placement).__name__ in ("Shard", "_StridedShard")


def _check_placements(label: str, tensor: Any) -> None:
    names = tensor.device_mesh.mesh_dim_names
    for axis, placement in enumerate(tensor.placements):
        where = f"mesh dimension {names[axis] if names else axis}"
        if placement.is_partial():
            raise ValueError(
                f"{label}: is {placement} on {where}, a sum that no rank holds yet; "
                f"redistribute it to Replicate or Shard"
            )
        if not _cuts(placement) and not placement.is_replicate():
            raise ValueError(
                f"{label}: is {placement} on {where}, a placement that is not known; "
                f"redistribute it to Replicate or Shard"
            )


def _list(placements: Any) -> str:
    return "(" + ", ".join(str(placement) for placement in placements) + ")"
