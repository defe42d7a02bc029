"""Who holds which box of which tensor, as the job's own tensors say it."""

from __future__ import annotations

import functools
import socket
import weakref
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from etc.tensors import NAMES
from etc.torch import optimizers, zero
from etc.torch import ranks as job
from etc.torch.described import Described
from etc.torch.entries import Entry, model_entries
from etc.torch.inventory import Held, Row, make_inventory
from etc.torch.meshes import Seen, check_mesh
from etc.torch.ranks import on_every_rank, pack, unpack
from etc.torch.rows import pack_boxes
from etc.torch.spans import Box, planned_shape

# The modules and optimizers of changes that `begin` began, until they are finished.
UNFINISHED: weakref.WeakSet[Any] = weakref.WeakSet()


class _Said(NamedTuple):
    """What a rank tells the others."""

    host: str
    number: int | None
    """Its rank as its meshes have it; None where it has no model."""
    is_old: bool
    """Whether that is the rank in the job before."""
    common: bytes
    """What it knows of the optimizer, and its rows, packed: most ranks say the same."""
    boxes: array[int]
    """What it holds of each row."""


@dataclass(frozen=True)
class Layout:
    """The tensors of all ranks, and how this rank reaches its own."""

    inventory: dict[str, Any]
    """An etc-inventory (docs/inventory-format.md): rank r is device r."""
    hosts: list[str]
    """The host of every rank."""
    optimizer: Described
    """What all ranks know of the optimizer."""
    entries: dict[tuple[str, str], Entry] = field(repr=False)
    """This rank's tensors, by type and name."""
    source: tuple[Any, Any] = field(repr=False)
    """The model and the optimizer of this rank."""
    others: tuple[Any, ...] = field(repr=False)
    """What else of this rank has a state."""
    was: int | None = field(repr=False)
    """As `layout` takes it."""


def layout(
    model: Any,
    optimizer: Any = None,
    *others: Any,
    like: Layout | None = None,
    was: int | None = None,
) -> Layout:
    """Reads how the job's tensors lie on its ranks. Collective over all ranks.

    Args:
        model: a module, or a state dict {name: tensor}: DTensors of any device mesh
            over the job's ranks, and plain tensors, of which a rank that has one has
            all; or an engine of DeepSpeed's, which has its optimizer and scheduler.
            None on a rank that has nothing. Tensors may be on the meta device, where
            they only say what is wanted.
        optimizer: the torch optimizer of the module's parameters, or a list of several,
            each with parameters of its own.
        *others: objects with state_dict() and load_state_dict() whose state is the
            same on all ranks, such as the scheduler of the learning rate.
        like: the layout before. The optimizer is then a new one, which is to have
            the states that the one in `like` has.
        was: the rank of this process when the model's meshes were made, if
            init_process_group has been called again since; all ranks that have a
            model pass it then.

    Raises:
        ValueError: on every rank, where one has a tensor whose placements or mesh do
            not say what it holds, or two ranks contradict each other; the message
            names the rank and the tensor.
    """

    if zero.is_engine(model) and optimizer is None:
        optimizer, scheduler = zero.Partitions(model), model.lr_scheduler
        others = (optimizer, *([scheduler] if scheduler else []), *others)
        model = model.module

    return _layout(model, optimizer, others, like, was, None)


def read_again(earlier: Layout, like: Layout | None, was: int | None) -> Layout:
    """A layout as it is now: the steps, the options and the states of other objects may
    have changed since. Collective.

    Raises ValueError on every rank where tensors are others than they were.
    """
    was = earlier.was if was is None else was
    return _layout(*earlier.source, earlier.others, like, was, earlier)


def _check_same(
    then: dict[tuple[str, str], Entry], now: dict[tuple[str, str], Entry]
) -> None:
    for key, entry in {**then, **now}.items():
        if key not in then:
            change = "was not there"
        elif key not in now:
            change = "is gone, and was there"
        elif now[key].boxes != then[key].boxes:
            change = "was elsewhere"
        else:
            continue
        raise ValueError(
            f"{entry.label}: {change} when the layout was read; read both layouts again, "
            f"with like= for the one after"
        )


def _layout(
    model: Any,
    optimizer: Any,
    others: tuple[Any, ...],
    like: Layout | None,
    was: int | None,
    earlier: Layout | None,
) -> Layout:
    def read() -> _Said:
        if zero.is_engine(model):
            raise ValueError("engine: has its optimizer; pass the engine alone")
        known, entries = read_entries(model, optimizer, like, was)
        mine.update((entry.key, entry) for entry in entries)
        if earlier is not None:
            _check_same(earlier.entries, mine)
        seen = Seen()
        return _Said(
            host=socket.gethostname(),
            number=None if model is None else _number(was),
            is_old=was is not None,
            common=pack((known, [_row(entry, seen) for entry in entries])),
            boxes=pack_boxes(map(planned_boxes, entries)),
        )

    mine: dict[tuple[str, str], Entry] = {}
    gathered = on_every_rank(read)
    numbers = [said.number for said in gathered]
    _check_numbers(numbers, [said.is_old for said in gathered])
    unpacked = functools.cache(unpack)
    described = Described()
    heard: set[bytes] = set()
    for rank, said in enumerate(gathered):
        if said.common not in heard:
            described.add(rank, unpacked(said.common)[0])
        heard.add(said.common)
    held = [Held(unpacked(said.common)[1], said.boxes) for said in gathered]
    return Layout(
        inventory=make_inventory(held, numbers),
        hosts=[said.host for said in gathered],
        optimizer=described,
        entries=mine,
        source=(model, optimizer),
        others=others,
        was=was,
    )


def _number(was: int | None) -> int:
    """The rank as the meshes of this process have it."""
    return job.rank() if was is None else was


def _check_numbers(numbers: Sequence[int | None], are_old: Sequence[bool]) -> None:
    """Whether every rank with a model was another one, and all of one job."""
    holders = [rank for rank, number in enumerate(numbers) if number is not None]
    first: dict[int | None, int] = {}
    for rank in holders:
        if are_old[rank] != are_old[holders[0]]:
            raise ValueError(
                f"was: rank {rank if are_old[rank] else holders[0]} passes it, rank "
                f"{holders[0] if are_old[rank] else rank} does not; pass it on all "
                f"ranks that have a model"
            )
        other = first.setdefault(numbers[rank], rank)
        if other != rank:
            raise ValueError(
                f"was: ranks {other} and {rank} both say that they were rank "
                f"{numbers[rank]}; pass each process's own"
            )


def read_entries(
    model: Any,
    optimizer: Any,
    like: Layout | None = None,
    was: int | None = None,
) -> tuple[Described, list[Entry]]:
    """What this rank has, or is to have, and what it knows of its optimizer."""
    if model is None:
        return Described(), []
    is_module = isinstance(model, torch.nn.Module)
    sides = (model, *optimizers.members(optimizer)) if is_module else ()
    if any(side in UNFINISHED for side in sides):
        raise ValueError(
            "optimizer: its states are still under way; call finish of the last change"
        )
    reader = reader_of(optimizer)
    read = zero.model_entries if reader is zero else model_entries
    entries = list(read(model))
    known = Described()
    if optimizer is not None:
        if not isinstance(model, torch.nn.Module):
            raise ValueError(
                "optimizer: its parameters have names in a module only; pass the "
                "module, not a state dict"
            )
        if like is None:
            known, states = reader.describe(model, optimizer)
        else:
            states = reader.expect(model, optimizer, like.optimizer)
        entries += states
    _check_apart(entries, reader is zero)
    checked = set()
    for entry in entries:
        if entry.mesh is not None and id(entry.mesh) not in checked:
            checked.add(id(entry.mesh))
            check_mesh(entry.label, entry.mesh, was)
    return known, entries


def _check_apart(entries: list[Entry], are_ranges: bool) -> None:
    """Whether each has a name and memory of its own; ranges of one flat tensor may begin
    where an empty one does."""
    names: set[tuple[str, str]] = set()
    owners: dict[tuple[Any, int], str] = {}
    for entry in entries:
        if (entry.kind, entry.name) in names:
            raise ValueError(
                f"{entry.label}: two tensors have this name, as names are without what "
                f"wrappers put in; rename one"
            )
        names.add((entry.kind, entry.name))
        local = None if are_ranges else entry.local
        if local is None or not local.numel():
            continue
        place = local.device, local.data_ptr()
        owner = owners.setdefault(place, entry.label)
        if owner != entry.label:
            raise ValueError(
                f"{entry.label}: has the memory of {owner}; make it one parameter, as "
                f"tied weights are, or leave it out of the state dict"
            )


def reader_of(optimizer: Any) -> Any:
    """The module whose describe, expect and finish are for this optimizer."""
    return zero if isinstance(optimizer, zero.Partitions) else optimizers


def _row(entry: Entry, seen: Seen) -> Row:
    mesh_ranks, layout = seen.read(entry.like)
    return Row(
        entry.type,
        entry.name,
        NAMES[entry.moved_as],
        planned_shape(tuple(entry.like.shape)),
        mesh_ranks,
        layout,
    )


def planned_boxes(entry: Entry) -> tuple[Box, ...]:
    """What this rank has of an entry, in the planning shape."""
    return tuple(_planned(entry, box) for box in entry.boxes)


def _planned(entry: Entry, box: Box) -> Box:
    """A box of the tensor as one of its planning shape."""
    shape = tuple(entry.like.shape)
    if len(shape) <= 3:
        return box or ((0, 1),)
    if any(span != (0, extent) for span, extent in zip(box[3:], shape[3:])):
        raise ValueError(
            f"{entry.label}: is cut along an axis behind the third; "
            f"redistribute it to shards of its first three"
        )
    (begin, end), inner = box[2], 1
    for extent in shape[3:]:
        inner *= extent
    return (*box[:2], (begin * inner, end * inner))
