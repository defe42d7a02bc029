"""Checks tensors against a plan."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, MutableMapping
from typing import Any

import torch

from etc.plans import PREV, Plan, TensorSpec
from etc.tensors import DTYPES, has_memory, is_same_memory

Key = tuple[str, str]  # (type, name)


def check_state(
    plan: Plan,
    device: int,
    state: Mapping[str, Mapping[str, torch.Tensor]],
    where: torch.device,
) -> dict[Key, torch.Tensor]:
    """Returns the tensors of `state` by type and name, after checking all of them.

    Raises KeyError, TypeError or ValueError, with the name of the tensor.
    """
    if not isinstance(state, Mapping):
        raise TypeError(f"state: expected {{type: {{name: tensor}}}}, got {state!r:.60}")
    for kind, tensors in state.items():
        if not isinstance(tensors, MutableMapping):
            raise TypeError(
                f"state[{kind!r}]: expected a dictionary of tensors by name, got "
                f"{type(tensors).__name__}"
            )
    expected = plan._specs(PREV, device)
    found = {
        (kind, name): tensor
        for kind, tensors in state.items()
        for name, tensor in tensors.items()
    }
    missing = [key for key in expected if key not in found]
    unknown = [key for key in found if key not in expected]
    if missing or unknown:
        raise KeyErrorText(_name_differences(plan, device, missing, unknown))
    for key, tensor in found.items():
        check_tensor(_label(key), tensor, expected[key], where)
    return {key: found[key] for key in expected}


class KeyErrorText(KeyError):
    """A KeyError whose message is shown without quotes."""

    def __str__(self) -> str:
        return str(self.args[0])


def _label(key: Key) -> str:
    return f"{key[1]} ({key[0]})"


def _name_differences(
    plan: Plan, device: int, missing: list[Key], unknown: list[Key]
) -> str:
    parts = [f"device {device} of {plan!r}"]
    if missing:
        parts.append(_list("missing from state", missing))
    if unknown:
        text = _list("not of this plan", unknown)
        near = difflib.get_close_matches(
            unknown[0][1], [name for _, name in missing], n=1
        )
        parts.append(text + (f" (is it {near[0]}?)" if near else ""))
    return "; ".join(parts)


def _list(what: str, keys: list[Key], most: int = 3) -> str:
    names = ", ".join(_label(key) for key in keys[:most])
    more = f" and {len(keys) - most} more" if len(keys) > most else ""
    return f"{what}: {names}{more}"


def check_tensor(
    label: str, tensor: Any, spec: TensorSpec, where: torch.device
) -> None:
    """Checks one tensor against its specification in the plan."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{label}: expected a tensor, got {type(tensor).__name__}")
    if tensor.dtype != DTYPES[spec.dtype]:
        raise TypeError(
            f"{label}: is {tensor.dtype}, the plan has {DTYPES[spec.dtype]}"
        )
    flat = (math.prod(spec.shape),)
    scalar = () if flat == (1,) else flat
    if tuple(tensor.shape) not in (spec.shape, flat, scalar):
        raise ValueError(
            f"{label}: has shape {list(tensor.shape)}, the plan gives this device "
            f"{list(spec.shape)}"
        )
    if not tensor.is_contiguous():
        raise ValueError(
            f"{label}: is not contiguous (strides {list(tensor.stride())}); "
            f"hand over tensor.contiguous()"
        )
    if tensor.device != where:
        raise ValueError(f"{label}: is on {tensor.device}, device= says {where}")
    if not has_memory(tensor):
        raise ValueError(f"{label}: its storage was freed")


def check_unmoved(
    tensors: Mapping[Key, torch.Tensor],
    addresses: Mapping[Key, int],
    state: Mapping[str, Mapping[str, torch.Tensor]],
) -> None:
    """Checks that tensors have not moved since they were handed over, and that `state`
    still contains them."""
    for key, tensor in tensors.items():
        now = state.get(key[0], {}).get(key[1], tensor)
        if now is not tensor and not is_same_memory(now, tensor):
            raise RuntimeError(
                f"{_label(key)}: state has another tensor than prepare() was given, "
                f"whose values would be lost; update tensors in place, or prepare "
                f"again"
            )
        if tensor.numel() == 0:
            continue
        if not has_memory(tensor) or tensor.data_ptr() != addresses[key]:
            raise RuntimeError(
                f"{_label(key)}: was freed or moved since prepare(); tensors that "
                f"are handed over keep their memory until run() releases them"
            )
