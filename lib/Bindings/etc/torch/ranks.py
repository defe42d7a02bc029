"""What every rank tells every other one."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any, TypeVar

import torch
import torch.distributed as dist

T = TypeVar("T")


def on_every_rank(make: Callable[[], T]) -> list[T]:
    """make() of each rank, in order. Collective over the default process group.

    Raises a ValueError on all ranks where make() raised on one; the message names it.
    """
    if not dist.is_available() or not dist.is_initialized():
        raise ValueError(
            "torch.distributed is not initialized, so ranks can't tell each other what "
            "they have; call init_process_group first"
        )
    made: Any = None
    problem = ""
    try:
        made = make()
    except Exception as error:  # the others wait for this rank
        problem = str(error) or repr(error)
    packed: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(packed, _pack((problem, made)))
    gathered = [pickle.loads(said) for said in packed]
    for rank, (problem, _) in enumerate(gathered):
        if problem:
            raise ValueError(f"rank {rank}: {problem}")
    return [value for _, value in gathered]


class _Pickler(pickle.Pickler):
    """Numbers that are tensors, such as the steps of an optimizer, are packed as numbers:
    PyTorch packs each as an archive. One on an accelerator is unpacked on the receiver's
    own device."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) is not torch.Tensor or value.dim() or value.requires_grad:
            return NotImplemented
        return _number, (value.item(), value.dtype, value.device.type)


def _pack(value: Any) -> bytes:
    packed = io.BytesIO()
    _Pickler(packed).dump(value)
    return packed.getvalue()


def _number(value: Any, dtype: torch.dtype, device: str) -> torch.Tensor:
    return torch.tensor(value, dtype=dtype, device=device)
