"""What modules keep besides tensors, and tell by get_extra_state."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from etc.torch.described import is_equal
from etc.torch.entries import plain_name, unwrapped


def told(model: Any) -> dict[str, bytes] | None:
    """Of each module of this rank that has one, by its name in a state dict, packed;
    None where there is no model."""
    if not isinstance(model, torch.nn.Module):
        return None
    return {name: _pack(name, m.get_extra_state()) for name, m in _having(model)}


def wanted(model: Any) -> set[str] | None:
    """The names of those that this rank is to get."""
    if not isinstance(model, torch.nn.Module):
        return None
    for name, module in _having(model):
        if type(module).set_extra_state is torch.nn.Module.set_extra_state:
            raise ValueError(f"{name}: its module has no set_extra_state; write one")
    return {name for name, _ in _having(model)}


def agreed(
    before: Sequence[dict[str, bytes] | None], after: Sequence[set[str] | None]
) -> dict[str, bytes]:
    """What all ranks say together.

    Raises ValueError where they contradict, or modules before and after have not the
    same; a state dict on one side has none to tell or to take.
    """
    found: dict[str, tuple[int, bytes]] = {}
    for rank, states in enumerate(before):
        for name, packed in (states or {}).items():
            first, known = found.setdefault(name, (rank, packed))
            if packed != known and not is_equal(_unpack(packed), _unpack(known)):
                raise ValueError(
                    f"{name}: differs between ranks {first} and {rank}; make it equal"
                )
    names = set().union(*(asked for asked in after if asked is not None))
    if any(s is not None for s in before) and any(a is not None for a in after):
        for name in sorted(names ^ found.keys()):
            has, lacks = ("before", "after") if name in found else ("after", "before")
            raise ValueError(
                f"{name}: a module has it {has} and none {lacks}; give both models a "
                f"get_extra_state and a set_extra_state there"
            )
    return {name: packed for name, (_, packed) in found.items()}


def put(model: Any, states: dict[str, bytes]) -> None:
    """Gives this rank's modules theirs."""
    if isinstance(model, torch.nn.Module):
        for name, module in _having(model):
            if name in states:
                module.set_extra_state(_unpack(states[name]))


def _having(model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    for name, module in unwrapped(model).named_modules():
        if type(module).get_extra_state is not torch.nn.Module.get_extra_state:
            yield plain_name(f"{name}._extra_state".removeprefix(".")), module


def _pack(name: str, state: Any) -> bytes:
    packed = io.BytesIO()
    try:
        torch.save(state, packed)
    except Exception as error:
        raise ValueError(
            f"{name}: can't be sent to other ranks ({error}); let get_extra_state "
            f"return what torch.save can write"
        ) from error
    return packed.getvalue()


def _unpack(packed: bytes) -> Any:
    return torch.load(io.BytesIO(packed), map_location="cpu", weights_only=False)
