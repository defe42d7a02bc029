"""State of a process: tensors by type and name."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    State = Mapping[str, MutableMapping[str, torch.Tensor]]

Key = tuple[str, str]  # (type, name)
Tensors = dict[str, dict[str, "torch.Tensor"]]


def by_type(tensors: Mapping[Key, torch.Tensor]) -> Tensors:
    """{type: {name: tensor}} of {(type, name): tensor}."""
    result: Tensors = {}
    for (kind, name), tensor in tensors.items():
        result.setdefault(kind, {})[name] = tensor
    return result
