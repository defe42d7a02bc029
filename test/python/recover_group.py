"""What the processes of a trainer compute together: a collective of torch's Gloo."""

from __future__ import annotations

import datetime
from typing import Any

import torch
import torch.distributed as dist


class Broken(Exception):
    """The collective ended with an error: a member died, or was silent for too long."""


class Group:
    """All processes of the job, connected among each other by Gloo."""

    def __init__(
        self, path: str, rank: int, size: int, host: str, timeout: float
    ) -> None:
        options = dist.ProcessGroupGloo._Options()
        options._devices = [dist.ProcessGroupGloo.create_device(hostname=host)]
        options._timeout = datetime.timedelta(seconds=timeout)
        self.size = size
        self.group: Any = dist.ProcessGroupGloo(
            dist.FileStore(path, size), rank, size, options
        )

    def all_reduce(self, step: int) -> None:
        """As of gradients: all contribute the step at which they are."""
        tensor = torch.full((4096,), float(step))
        try:
            self.group.allreduce([tensor]).wait()
        except RuntimeError as error:
            raise Broken(str(error)) from None
        if not bool((tensor == self.size * step).all()):
            raise AssertionError(f"step {step} of {self.size}: reduced to {tensor}")
