"""Buffers that are not persistent: no plan moves them, and a new model that has them on
the meta device gets copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch

from etc.torch.entries import buffers_of, swapper, unwrapped
from etc.torch.placements import is_dtensor, local_of


class Form(NamedTuple):
    """What a rank tells of a buffer."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    is_whole: bool
    """Whether each rank has all of it."""


Forms = dict[str, Form]


class Transient:
    """Those of this rank: what it has before, and what it is to have."""

    def __init__(self, before: Any, after: Any) -> None:
        self._has = {n: b for n, b in _transient(before) if not b.is_meta}
        self._wanted = {n: b for n, b in _transient(after) if b.is_meta}
        self._missing: set[str] = set()
        self._copies: dict[str, torch.Tensor] = {}

    def forms(self) -> tuple[Forms, Forms]:
        """Of what it is to have and of what it has, for all ranks to check."""
        return (
            {name: _form(buffer) for name, buffer in self._wanted.items()},
            {name: _form(buffer) for name, buffer in self._has.items()},
        )

    def check(self, said: Sequence[tuple[Forms, Forms]]) -> None:
        """Raises ValueError where a rank can't get what it is to have."""
        owners: Forms = {}
        for _, has in said:
            owners = {**has, **owners}
        for rank, (wanted, has) in enumerate(said):
            self._missing |= wanted.keys() - has.keys()
            for name, form in wanted.items():
                owned = has[name] if name in has else owners.get(name)
                if problem := _why_not(form, owned):
                    raise ValueError(f"rank {rank}: {name}: {problem}")

    @property
    def are_missing(self) -> bool:
        """Whether a rank lacks some, so that others have to tell them."""
        return bool(self._missing)

    def told(self) -> dict[str, torch.Tensor]:
        """What it has that others miss."""
        return {
            name: local_of(self._has[name]).cpu()
            for name in sorted(self._missing & self._has.keys())
        }

    def hear(self, told: Sequence[dict[str, torch.Tensor]]) -> None:
        """Keeps what it is to have; its own first."""
        copies = [{name: local_of(buffer) for name, buffer in self._has.items()}, *told]
        for name in self._wanted:
            self._copies[name] = next(found[name] for found in copies if name in found)

    def put(self, device: torch.device) -> None:
        """Makes the new buffers."""
        for name, buffer in self._wanted.items():
            swapper(buffer)(_like(buffer, self._copies[name].clone().to(device)))


def _transient(model: Any) -> Iterator[tuple[str, torch.Tensor]]:
    if not isinstance(model, torch.nn.Module):
        return
    for name, buffer, is_persistent in buffers_of(unwrapped(model)):
        if not is_persistent:
            yield name, buffer


def _form(buffer: Any) -> Form:
    is_whole = not is_dtensor(buffer) or all(
        placement.is_replicate() for placement in buffer.placements
    )
    return Form(tuple(buffer.shape), buffer.dtype, is_whole)


def _why_not(wanted: Form, owned: Form | None) -> str:
    """A reason why a buffer can't be a copy of another one."""
    if owned is None:
        return (
            "is a buffer on the meta device that is not persistent, and no rank had it "
            "before; build it with memory"
        )
    if owned[:2] != wanted[:2]:
        return (
            f"is {list(wanted.shape)} of {wanted.dtype} and was {list(owned.shape)} of "
            f"{owned.dtype}; this buffer is not persistent, so build it with memory"
        )
    if not (owned.is_whole and wanted.is_whole):
        return (
            "is sharded over a DeviceMesh, and not persistent; make it persistent, or "
            "build it with memory"
        )
    return ""


def _like(buffer: Any, whole: torch.Tensor) -> Any:
    """A tensor that every rank has, on the mesh of another one."""
    if not is_dtensor(buffer):
        return whole
    from torch.distributed.tensor import DTensor

    return DTensor.from_local(
        whole, buffer.device_mesh, buffer.placements, run_check=False
    )
