"""A model whose state has moved: a forward pass, or a checkpoint, would read memory that
is freed."""

from __future__ import annotations

from typing import Any

import torch

from etc.tensors import has_memory
from etc.torch.entries import layers_of
from etc.torch.placements import local_of


def retire(model: Any) -> None:
    """Has forward passes and state dicts of the model, and of its parts, raise an error
    while it lacks memory."""
    if not isinstance(model, torch.nn.Module):
        return
    *outer, inner = layers_of(model)
    modules = dict(inner.named_modules())
    without: set[str] = set()
    for name, tensor in [*inner.named_parameters(), *inner.named_buffers()]:
        while name and not has_memory(local_of(tensor)):
            name = name.rpartition(".")[0]
            without.add(name)
    # What is compiled passes the hooks of what it was made of.
    for module in [
        *(outer if without else []),
        *(modules[n] for n in without if n in modules),
    ]:
        _Refusal(module)


class _Refusal:
    """The hooks of a module, until a forward pass finds that it has memory again."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._handles = [
            module.register_forward_pre_hook(self, prepend=True),
            module.register_state_dict_pre_hook(self._check),
        ]

    def __call__(self, module: torch.nn.Module, *_: Any) -> None:
        self._check(module)
        for handle in self._handles:
            handle.remove()

    def _check(self, module: torch.nn.Module, *_: Any) -> None:
        for tensor in [*module.parameters(), *module.buffers()]:
            if not has_memory(local_of(tensor)):
                raise RuntimeError(
                    f"{type(module).__name__}: its parameters have moved to another "
                    f"model by etc.torch; use that one"
                )
