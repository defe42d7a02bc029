"""The tensor-parallel sharding of a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from etc.module_tree import Entry


@dataclass(frozen=True)
class Split:
    """The planning shape of a parameter, and the axis of it that is sharded."""

    planning_shape: tuple[int, ...]
    axis: int | None
    view: tuple[int, ...] | None = None
    """The trainer's shape, where that is another one."""


def find_split(
    template: str,
    whole: Entry,
    here: Entry | None,
    splits: Mapping[str, int | None],
    tp: int,
    has_meta: bool,
) -> Split:
    """Classifies a parameter, or raises a ValueError that names it.

    `whole` is the meta model's parameter, or this rank's if there is no meta model;
    `here` is this rank's, or None if another stage has it.
    """
    axis, stride = _stated(template, whole, here, splits)
    local = None if here is None else tuple(here.tensor.shape)
    if has_meta:
        shape = tuple(whole.parameter.shape)
    else:
        shape = _grown(local, axis, tp, here)
    if axis == "unknown":
        if local is None or not has_meta:
            raise ValueError(
                f"{template}: its tensor-parallel axis is unknown; pass "
                f"splits={{{template!r}: axis or None}}"
            )
        axis = _inferred(template, shape, local, tp)
    _check(template, shape, local, axis, tp)
    if axis is None or stride == 1:
        return Split(shape, axis)
    if shape[axis] % stride:
        raise ValueError(
            f"{template}: {shape[axis]} rows do not divide into {stride} equal parts "
            f"(partition_stride)"
        )
    planning = (*shape[:axis], stride, shape[axis] // stride, *shape[axis + 1 :])
    return Split(planning, axis + 1, shape)


def _stated(
    template: str, whole: Entry, here: Entry | None, splits: Mapping[str, int | None]
) -> tuple[Any, int]:
    """(axis, None, or "unknown"; stride)."""
    if template in splits:
        return splits[template], 1
    for entry in (here, whole):
        if entry is None:
            continue
        parameter = entry.parameter
        parallel = getattr(parameter, "tensor_model_parallel", None)
        if parallel is not None:
            if not parallel:
                return None, 1
            return parameter.partition_dim, max(parameter.partition_stride, 1)
        placements = getattr(parameter, "placements", None)
        if placements is not None:
            return _of_placements(template, parameter), 1
    return "unknown", 1


def _of_placements(template: str, parameter: Any) -> int | None:
    axes = []
    for mesh_axis, placement in enumerate(parameter.placements):
        if parameter.device_mesh.size(mesh_axis) == 1 and not placement.is_shard():
            continue
        if placement.is_partial():
            raise ValueError(f"{template}: is a partial DTensor, which holds no state")
        if placement.is_shard():
            axes.append(placement.dim)
    if len(axes) > 1:
        raise ValueError(f"{template}: is sharded along several of its axes")
    return axes[0] if axes else None


def _grown(
    local: tuple[int, ...] | None, axis: Any, tp: int, here: Entry | None
) -> tuple[int, ...]:
    """The global shape, derived from this rank's part."""
    assert local is not None and here is not None
    if hasattr(here.parameter, "placements"):
        return tuple(here.parameter.shape)
    if not isinstance(axis, int):
        return local
    return (*local[:axis], local[axis] * tp, *local[axis + 1 :])


def _inferred(
    template: str, shape: tuple[int, ...], local: tuple[int, ...], tp: int
) -> int | None:
    """By shape, as in the paper: the axis of which this rank has 1/tp."""
    if tp == 1:
        raise ValueError(
            f"{template}: with tp = 1 its tensor-parallel axis can't be derived from "
            f"its shape; pass splits={{{template!r}: axis or None}}"
        )
    if shape == local:
        return None
    axes = [
        axis for axis, (whole, part) in enumerate(zip(shape, local)) if whole != part
    ]
    if (
        len(axes) == 1
        and len(shape) == len(local)
        and shape[axes[0]] == local[axes[0]] * tp
    ):
        return axes[0]
    raise ValueError(
        f"{template}: has shape {list(local)} on this rank and {list(shape)} in the "
        f"meta model; expected them to differ by a factor of tp = {tp} in one axis; "
        f"build the meta model with this one's sizes, but all parallel sizes 1"
    )


def _check(
    template: str,
    shape: tuple[int, ...],
    local: tuple[int, ...] | None,
    axis: int | None,
    tp: int,
) -> None:
    if axis is not None and not 0 <= axis < len(shape):
        raise ValueError(f"{template}: axis {axis} is not in shape {list(shape)}")
    if local is None:
        return
    expected = tuple(
        extent // tp if i == axis else extent for i, extent in enumerate(shape)
    )
    if expected != local:
        how = "replicated" if axis is None else f"sharded along axis {axis}"
        raise ValueError(
            f"{template}: {how} over tp = {tp}; expected {list(expected)} of "
            f"{list(shape)} on this rank, got {list(local)}; pass another axis in "
            f"splits, or a meta model of this one's sizes"
        )
