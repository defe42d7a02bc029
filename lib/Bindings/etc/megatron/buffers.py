"""State of a model that is no parameter: the router's expert_bias.

Every rank that has the layer has all of it, and it is small, so it travels with what is
equal on all ranks instead of by the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist

from etc.megatron.modules import global_name, unwrapped
from etc.torch_private.tensors import saved_buffers


def of_chunks(chunks: Sequence[Any]) -> Iterator[tuple[str, torch.Tensor]]:
    """(global name, buffer) of all buffers that checkpoints have."""
    for chunk in chunks:
        model = unwrapped(chunk)
        modules = dict(model.named_modules())
        for path, module in modules.items():
            for leaf, buffer in saved_buffers(module):
                yield global_name(f"{path}.{leaf}", modules), buffer


def gather(chunks: Sequence[Any]) -> dict[str, torch.Tensor]:
    """The buffers of all ranks. Collective over the default group.

    Raises ValueError if two ranks have different values.
    """
    mine = {name: buffer.detach().cpu() for name, buffer in of_chunks(chunks)}
    everyone: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, mine)
    found: dict[str, tuple[torch.Tensor, int]] = {}
    for rank, theirs in enumerate(everyone):
        for name, buffer in theirs.items():
            known, first = found.setdefault(name, (buffer, rank))
            if not torch.equal(known, buffer):
                raise ValueError(
                    f"{name}: is a buffer that differs between ranks {first} and "
                    f"{rank}; only buffers that are equal on all ranks are carried over"
                )
    return {name: buffer for name, (buffer, _) in found.items()}


def write(chunks: Sequence[Any], values: Mapping[str, torch.Tensor]) -> None:
    """Writes them into a new model. Raises ValueError if it has others."""
    for name, buffer in of_chunks(chunks):
        value = values.get(name)
        if value is None or value.shape != buffer.shape:
            raise ValueError(
                f"{name}: the new model has this buffer with shape "
                f"{list(buffer.shape)}, the old one "
                f"{'does not have it' if value is None else list(value.shape)}"
            )
        buffer.data = value.to(buffer.device, copy=True)
