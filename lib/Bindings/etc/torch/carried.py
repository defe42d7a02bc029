"""What a change carries over that no plan moves: objects with a state of their own, and
buffers that no state dict has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from etc.torch.entries import buffers_of, swapper, unwrapped
from etc.torch.layout import Layout
from etc.torch.optimizers import is_equal
from etc.torch.ranks import on_every_rank
from etc.torch_private.tensors import has_scheduler


def collect(prev: Layout, curr: Layout) -> Callable[[torch.device], None]:
    """Reads it on all ranks; what is returned puts it into this rank's new objects.
    Collective.

    Raises:
        ValueError: on every rank, where an object's state differs between ranks or has
            no object after, or where a buffer is on no rank.
    """
    has = dict(_transient(prev.source[0]))
    wanted = {n: b for n, b in _transient(curr.source[0]) if b.is_meta}
    missing = set().union(*on_every_rank(lambda: wanted.keys() - has.keys()))

    def read() -> tuple[list[Any] | None, list[str] | None, dict[str, torch.Tensor]]:
        _check_scheduler(prev)
        before = None if prev.source[0] is None else [_state(o) for o in prev.others]
        after = None if curr.source[0] is None else [_name(o) for o in curr.others]
        buffers = {n: has[n].cpu() for n in missing & has.keys()}
        return before, after, buffers

    gathered = on_every_rank(read)
    states = _agreed([before for before, _, _ in gathered])
    for rank, (_, names, _) in enumerate(gathered):
        if names is not None and ("Partitions" in names) != _of_engine(states):
            raise ValueError(
                f"rank {rank}: the state of a DeepSpeed engine moves to an engine alone; "
                f"pass one on both sides"
            )
        if names is not None and names != [name for name, _ in states]:
            raise ValueError(
                f"rank {rank}: the objects behind the optimizer are {names} after, "
                f"{[name for name, _ in states]} before; pass the same ones"
            )
    for name in sorted(missing):
        owned = next((b[name] for _, _, b in gathered if name in b), None)
        if owned is not None:
            has.setdefault(name, owned)
        else:
            raise ValueError(
                f"{name}: is a buffer on the meta device that no state dict has and no "
                f"rank had before; build it with memory"
            )
    for name, buffer in wanted.items():
        if (has[name].shape, has[name].dtype) != (buffer.shape, buffer.dtype):
            raise ValueError(
                f"{name}: is {list(buffer.shape)} and was {list(has[name].shape)}; no "
                f"state dict has this buffer, so build it with memory"
            )

    def put(device: torch.device) -> None:
        for name, buffer in wanted.items():
            swapper(buffer)(has[name].detach().clone().to(device))
        for other, (_, state) in zip(curr.others, states):
            other.load_state_dict(state)

    return put


def _transient(model: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """The buffers that are not persistent."""
    if not isinstance(model, torch.nn.Module):
        return
    for name, buffer, is_persistent in buffers_of(unwrapped(model)):
        if not is_persistent:
            yield name, buffer


def _check_scheduler(prev: Layout) -> None:
    """One that stays with the optimizer before would change its learning rate only."""
    _, optimizer = prev.source
    schedulers = [o for o in prev.others if hasattr(o, "get_last_lr")]
    # An engine's is of the torch optimizer inside.
    if has_scheduler(getattr(optimizer, "base", optimizer)):
        if not schedulers:
            raise ValueError(
                "optimizer: a scheduler sets its learning rate, and would go on with "
                "the optimizer before; pass it on both sides, as in move((model, "
                "optimizer, scheduler), (new_model, new_optimizer, new_scheduler))"
            )


def _of_engine(states: list[Any]) -> bool:
    return any(name == "Partitions" for name, _ in states)


def _name(other: Any) -> str:
    return type(other).__name__


def _state(other: Any) -> tuple[str, Any]:
    if not (hasattr(other, "state_dict") and hasattr(other, "load_state_dict")):
        raise ValueError(
            f"{_name(other)}: has no state_dict and load_state_dict; carry it over "
            f"yourself"
        )
    return _name(other), other.state_dict()


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
