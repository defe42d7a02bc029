"""Subclasses of tensors: which of them a new tensor can have."""

from __future__ import annotations

from typing import Any

import torch

from etc.torch.placements import is_dtensor
from etc.torch_private.tensors import local_tensor

_PLAIN = (torch.Tensor, torch.nn.Parameter)


def check_kind(label: str, tensor: Any, is_replaced: bool) -> None:
    """Raises ValueError where a tensor's class would be lost; is_replaced where a plain
    tensor or a DTensor takes its place."""
    if lost := _lost(tensor, is_replaced):
        raise ValueError(
            f"{label}: is a {lost}, a subclass of tensors that new ones would not have; "
            f"move a plain tensor, and convert it afterwards"
        )


def of_kind(old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    """A new tensor as one of the class and with the attributes of the old one."""
    if isinstance(old, torch.nn.Parameter):
        new = torch.nn.Parameter(new, requires_grad=old.requires_grad)
    if type(old) is not type(new):
        new.__class__ = type(old)
    new.__dict__.update({**old.__dict__, **new.__dict__})
    return new


def _lost(tensor: Any, is_replaced: bool) -> str:
    """The name of the class, or "" where a new tensor has it as well."""
    kind = type(tensor)
    if is_dtensor(tensor):
        from torch.distributed.tensor import DTensor

        local = type(local_tensor(tensor))
        is_kept = kind is DTensor and local in _PLAIN
        return "" if is_kept else f"{kind.__name__} of {local.__name__}"
    if kind in _PLAIN:
        return ""
    # Quantized tensors, for example, say themselves what their contents are.
    is_opaque = kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
    return kind.__name__ if is_replaced or is_opaque or not _can_be(kind) else ""


def _can_be(kind: type) -> bool:
    try:
        torch.empty(0).__class__ = kind
    except TypeError:  # it has slots
        return False
    return True
