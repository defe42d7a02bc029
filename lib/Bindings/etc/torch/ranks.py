"""What every rank tells every other one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

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
    gathered: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(gathered, (problem, made))
    for rank, (problem, _) in enumerate(gathered):
        if problem:
            raise ValueError(f"rank {rank}: {problem}")
    return [value for _, value in gathered]
