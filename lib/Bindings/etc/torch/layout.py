"""Who holds which box of which tensor, as the job's own tensors say it."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist

from etc.torch import optimizers
from etc.torch.entries import Entry, model_entries
from etc.torch.inventory import Row, make_inventory
from etc.torch.spans import Box


@dataclass(frozen=True)
class Layout:
    """The tensors of all ranks, and how this rank reaches its own."""

    inventory: dict[str, Any]
    """An etc-inventory (docs/inventory-format.md): rank r is device r."""
    hosts: list[str]
    """The host of every rank."""
    optimizer: optimizers.Described
    """What all ranks know of the optimizer."""
    entries: dict[tuple[str, str], Entry] = field(repr=False)
    """This rank's tensors, by type and name."""
    source: tuple[Any, Any] = field(repr=False)
    """The model and the optimizer of this rank."""


def layout(model: Any, optimizer: Any = None, *, like: Layout | None = None) -> Layout:
    """Reads how the job's tensors lie on its ranks. Collective over all ranks.

    Args:
        model: a module, or a state dict {name: tensor}: DTensors of any device mesh
            over the job's ranks, and plain tensors, of which a rank that has one has
            all. None on a rank that has nothing. Tensors may be on the meta device,
            where they only say what is wanted.
        optimizer: the torch optimizer of the module's parameters.
        like: the layout before. The optimizer is then a new one, which is to have
            the states that the one in `like` has.

    Raises:
        ValueError: on every rank, where one has a tensor whose placements or mesh do
            not say what it holds; the message names the rank and the tensor.
    """
    _check_initialized()
    known, entries, rows, problem = optimizers.Described(), [], [], ""
    try:
        known, entries = _read(model, optimizer, like)
        rows = [_row(entry) for entry in entries]
    except Exception as error:  # the others wait for this rank
        problem = str(error) or repr(error)
    gathered = _gather((problem, socket.gethostname(), rows, known))
    for rank, (problem, *_) in enumerate(gathered):
        if problem:
            raise ValueError(f"rank {rank}: {problem}")
    described = optimizers.Described()
    for *_, other in gathered:
        described.add(other)
    return Layout(
        inventory=make_inventory([rows for _, _, rows, _ in gathered]),
        hosts=[host for _, host, _, _ in gathered],
        optimizer=described,
        entries={entry.key: entry for entry in entries},
        source=(model, optimizer),
    )


def _read(
    model: Any, optimizer: Any, like: Layout | None
) -> tuple[optimizers.Described, list[Entry]]:
    if model is None:
        return optimizers.Described(), []
    entries = list(model_entries(model))
    if optimizer is None:
        return optimizers.Described(), entries
    if not isinstance(model, torch.nn.Module):
        raise ValueError(
            "optimizer: its parameters have names in a module only; pass the module, "
            "not a state dict"
        )
    if like is None:
        known, states = optimizers.describe(model, optimizer)
        return known, entries + states
    states = optimizers.expect(model, optimizer, like.optimizer)
    return optimizers.Described(), entries + states


def _check_initialized() -> None:
    if not dist.is_available() or not dist.is_initialized():
        raise ValueError(
            "torch.distributed is not initialized, so ranks can't tell each other what "
            "they have; call init_process_group first"
        )


def _gather(value: Any) -> list[Any]:
    gathered: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(gathered, value)
    return gathered


def _row(entry: Entry) -> Row:
    return Row(
        entry.type,
        entry.name,
        entry.dtype,
        _planned_shape(tuple(entry.like.shape)),
        tuple(_planned(entry, box) for box in entry.boxes),
        entry.mesh_ranks,
        entry.layout,
    )


def _planned_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Of at most three axes: those from the third on are planned as one."""
    if len(shape) <= 3:
        return shape or (1,)
    inner = 1
    for extent in shape[2:]:
        inner *= extent
    return (*shape[:2], inner)


def _planned(entry: Entry, box: Box) -> Box:
    """A box of the tensor as one of its planning shape."""
    shape = tuple(entry.like.shape)
    if len(shape) <= 3:
        return box or ((0, 1),)
    if any(span != (0, extent) for span, extent in zip(box[3:], shape[3:])):
        raise ValueError(
            f"{entry.name} ({entry.kind}): is cut along an axis behind the third; "
            f"redistribute it to shards of its first three"
        )
    (begin, end), inner = box[2], 1
    for extent in shape[3:]:
        inner *= extent
    return (*box[:2], (begin * inner, end * inner))
