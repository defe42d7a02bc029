"""Which boxes of a whole tensor a rank's DTensor holds."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

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
    return _has_placements(tensor.__class__)


@functools.cache
def _has_placements(kind: type) -> bool:
    return hasattr(kind, "placements") and hasattr(kind, "device_mesh")


class Cut(NamedTuple):
    """What a Shard or _StridedShard of a mesh dimension does. PyTorch takes the two for
    equal where the axis is."""

    axis: int
    factor: int
    """Into how many chunks the axis is cut first, each of which is then shared out."""


Cuts = tuple["Cut | None", ...]  # by mesh dimension; none where it replicates


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
        return boxes([[(0, extent)] if extent else [] for extent in shape])
    mesh = tensor.device_mesh
    _check_placements(label, tensor)
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        return ()
    found = _boxes_of_part(
        shape,
        tuple(map(_cut_of, tensor.placements)),
        tuple(mesh.size(axis) for axis in range(mesh.ndim)),
        tuple(coordinate),
        tuple(local_tensor(tensor).shape),
    )
    if isinstance(found, str):
        raise ValueError(f"{label}: {found.format(_list(tensor.placements))}")
    return found


@functools.lru_cache(maxsize=4096)  # most tensors of a model have the shape of another
def _boxes_of_part(
    shape: tuple[int, ...],
    cuts: Cuts,
    sizes: tuple[int, ...],
    at: tuple[int, ...],
    local: tuple[int, ...],
) -> tuple[Box, ...] | str:
    """The boxes of the rank at a coordinate of a mesh, whose part has the shape `local`;
    or what is wrong, with {} for the placements."""
    ways = [
        cut(shape, cuts, sizes, at) for cut in (left_to_right, tensor_parallel_first)
    ]
    fitting = [
        way for way in ways if way is not None and tuple(map(size_of, way)) == local
    ]
    if not fitting:
        return (
            f"this rank has {list(local)} of {list(shape)}, which is not what its "
            f"placements {{}} give; distribute it again"
        )
    if len(fitting) == 2 and fitting[0] != fitting[1]:
        return (
            f"{list(shape)} is cut by {{}} into uneven parts that can be two different "
            f"ones; pad the axis to a multiple of its shards"
        )
    axes = fitting[0]
    if not all(axes):
        return ()
    if not is_in_memory_order(axes):
        return (
            f"this rank's part of {list(shape)} lies in pieces behind one another in "
            f"each row, as {{}} cut it; redistribute it to Shard placements"
        )
    return boxes(axes)


def left_to_right(
    shape: Sequence[int], cuts: Cuts, sizes: Sequence[int], at: Sequence[int]
) -> list[Spans] | None:
    """By axis, what the placements of a mesh of these sizes give the rank at a
    coordinate: each cuts what those before it left, as distribute_tensor does. None where
    this release of torch would not."""
    axes: list[Spans] = [[(0, extent)] if extent else [] for extent in shape]
    for cut, size, index in zip(cuts, sizes, at):
        if cut is None:
            continue
        spans, factor = axes[cut.axis], cut.factor
        if factor > 1 and size_of(spans) % (factor * size):
            if not cuts_uneven_strides():
                return None
        axes[cut.axis] = strided_chunk(spans, factor, size, index)
    return axes


def tensor_parallel_first(
    shape: Sequence[int], cuts: Cuts, sizes: Sequence[int], at: Sequence[int]
) -> list[Spans] | None:
    """The same as fully_shard cuts what is a DTensor already: a _StridedShard comes
    after the later mesh dimensions that make its split factor. The two differ where
    rows do not divide; None where there are no such dimensions."""
    order: dict[int, list[int]] = {}
    for mesh_axis in reversed(range(len(sizes))):
        cut = cuts[mesh_axis]
        if cut is None:
            continue
        before = order.setdefault(cut.axis, [])
        done, place = 1, 0
        while done < cut.factor and place < len(before):
            done *= sizes[before[place]]
            place += 1
        if done != cut.factor:
            return None
        before.insert(place, mesh_axis)
    axes: list[Spans] = [[(0, extent)] if extent else [] for extent in shape]
    for axis, mesh_axes in order.items():
        for mesh_axis in mesh_axes:
            axes[axis] = chunk(axes[axis], sizes[mesh_axis], at[mesh_axis])
    return axes


def _cut_of(placement: Any) -> Cut | None:
    if type(placement).__name__ not in ("Shard", "_StridedShard"):
        return None
    return Cut(placement.dim, getattr(placement, "split_factor", 1))


def _check_placements(label: str, tensor: Any) -> None:
    names = tensor.device_mesh.mesh_dim_names
    for axis, placement in enumerate(tensor.placements):
        where = f"mesh dimension {names[axis] if names else axis}"
        if placement.is_partial():
            raise ValueError(
                f"{label}: is {placement} on {where}, a sum that no rank holds yet; "
                f"redistribute it to Replicate or Shard"
            )
        if _cut_of(placement) is None and not placement.is_replicate():
            raise ValueError(
                f"{label}: is {placement} on {where}, a placement that is not known; "
                f"redistribute it to Replicate or Shard"
            )


def _list(placements: Any) -> str:
    return "(" + ", ".join(str(placement) for placement in placements) + ")"
