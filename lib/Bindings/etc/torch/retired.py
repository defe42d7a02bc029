"""A model whose state has moved: a forward pass, or a checkpoint, would read memory that
is freed."""

from __future__ import annotations

from typing import Any

import torch

from etc.tensors import has_memory
from etc.torch.entries import unwrapped
from etc.torch.placements import local_of


def retire(model: Any) -> None:
    """Has forward passes and state dicts of the model, and of its parts, raise an error
    while it lacks memory."""
    if not isinstance(model, torch.nn.Module):
        return
    model = unwrapped(model)
    modules = dict(model.named_modules())
    without: set[str] = set()
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        while name and not has_memory(local_of(tensor)):
            name = name.rpartition(".")[0]
            without.add(name)
    for name in without & modules.keys():
        modules[name].register_forward_pre_hook(_refuse, prepend=True)
        modules[name].register_state_dict_pre_hook(_refuse)


def _refuse(module: torch.nn.Module, *_: Any) -> None:
    for tensor in [*module.parameters(), *module.buffers()]:
        if not has_memory(local_of(tensor)):
            raise RuntimeError(
                f"{type(module).__name__}: its parameters have moved to another model "
                f"by etc.torch; use that one"
            )
