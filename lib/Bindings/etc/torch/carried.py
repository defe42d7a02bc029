"""What a change carries over that no plan moves: objects with a state of their own,
extra states of modules, and buffers that are not persistent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from etc.torch import extra_states, receivers, schedulers
from etc.torch.described import is_equal
from etc.torch.layout import Layout
from etc.torch.optimizers import name_of
from etc.torch.ranks import on_every_rank, pack
from etc.torch.transient import Forms, Transient


class Said(NamedTuple):
    """What a rank tells the others."""

    before: list[tuple[str, Any]] | None
    """The names and states of its objects; None where it has no model."""
    after: list[tuple[str, bool]] | None
    """The names of its new objects, and whether they have a state."""
    buffers: tuple[Forms, Forms]
    extra: dict[str, bytes] | None
    wanted: set[str] | None


class Carried:
    """What this rank has of it before, and is to have."""

    def __init__(self, prev: Layout, curr: Layout) -> None:
        self._prev, self._curr = prev, curr
        self._buffers = Transient(prev.source[0], curr.source[0])
        self._states: list[tuple[str, Any]] = []
        self._extra: dict[str, bytes] = {}

    def told(self) -> Said:
        """For all ranks to hear."""
        prev, curr = self._prev, self._curr
        schedulers.check(prev, curr)
        _check_memory(prev)
        receivers.ready(curr.source[0])
        return Said(
            before=None if prev.source[0] is None else list(map(_state, prev.others)),
            after=None if curr.source[0] is None else list(map(_form, curr.others)),
            buffers=self._buffers.forms(),
            extra=extra_states.told(prev.source[0]),
            wanted=extra_states.wanted(curr.source[0]),
        )

    def hear(self, said: Sequence[Said]) -> None:
        """Keeps what all ranks say together. Collective, since a rank may lack buffers.

        Raises ValueError where a state differs between ranks or has no object after,
        where a buffer is on no rank, or where one on the meta device can't get memory.
        """
        self._buffers.check([each.buffers for each in said])
        self._states = _agreed([each.before for each in said])
        for rank, each in enumerate(said):
            if each.after is not None:
                _check_objects(rank, each.after, self._states)
        self._extra = extra_states.agreed(
            [each.extra for each in said], [each.wanted for each in said]
        )
        told = on_every_rank(self._buffers.told) if self._buffers.are_missing else []
        self._buffers.hear(told)

    def put(self, device: torch.device) -> None:
        """Gives it to this rank's new objects."""
        self._buffers.put(device)
        receivers.settle(self._curr.source[0])
        extra_states.put(self._curr.source[0], self._extra)
        for other, (_, state) in zip(self._curr.others, self._states):
            other.load_state_dict(state)


def _check_memory(prev: Layout) -> None:
    for entry in prev.entries.values():
        if entry.boxes and entry.local is None:
            raise ValueError(
                f"{entry.label}: has no memory to be moved from, as it is on the meta "
                f"device; pass the model that trains"
            )


def _check_objects(
    rank: int, after: list[tuple[str, bool]], states: list[tuple[str, Any]]
) -> None:
    """Whether a rank has the objects after that ranks had before."""
    names, before = ([name for name, _ in side] for side in (after, states))
    if ("Partitions" in names) != ("Partitions" in before):
        raise ValueError(
            f"rank {rank}: the state of a DeepSpeed engine moves to an engine alone; "
            f"pass one on both sides"
        )
    if names != before:
        raise ValueError(
            f"rank {rank}: the objects behind the optimizer are {names} after, "
            f"{before} before; pass the same ones"
        )
    for (name, has_state), (_, state) in zip(after, states):
        if has_state and not _is_stateful(state):
            raise ValueError(
                f"rank {rank}: {name} has a state after and none before, as one that is "
                f"enabled after alone; make both alike"
            )


def _form(other: Any) -> tuple[str, bool]:
    state = other.state_dict() if hasattr(other, "state_dict") else {}
    return name_of(other), _is_stateful(state)


def _is_stateful(state: Any) -> bool:
    return not (isinstance(state, Mapping) and not state)


def _state(other: Any) -> tuple[str, Any]:
    if isinstance(other, torch.optim.Optimizer):
        raise ValueError(
            f"{name_of(other)}: is a second optimizer; pass those of one model as a list, "
            f"as in move((model, [optimizer, other]), (new_model, [new_optimizer, "
            f"new_other]))"
        )
    if not (hasattr(other, "state_dict") and hasattr(other, "load_state_dict")):
        raise ValueError(
            f"{name_of(other)}: has no state_dict and load_state_dict; carry it over "
            f"yourself"
        )
    state = other.state_dict()
    try:
        pack(state)
    except Exception as error:
        raise ValueError(
            f"{name_of(other)}: its state can't be sent to other ranks ({error}); carry "
            f"it over yourself"
        ) from error
    return name_of(other), state


def _agreed(gathered: list[list[tuple[str, Any]] | None]) -> list[tuple[str, Any]]:
    """What all ranks say that had objects before."""
    first: list[tuple[str, Any]] = []
    said_by = -1
    for rank, states in enumerate(gathered):
        if states is None:
            continue
        if said_by < 0:
            first, said_by = states, rank
        if [name for name, _ in states] != [name for name, _ in first]:
            raise ValueError(
                f"ranks {said_by} and {rank} pass other objects behind the optimizer; "
                f"pass the same ones on all ranks"
            )
        for (name, mine), (_, other) in zip(first, states):
            if not is_equal(mine, other):
                raise ValueError(
                    f"{name}: its state differs between ranks {said_by} and {rank}; "
                    f"carry it over yourself"
                )
    return first
