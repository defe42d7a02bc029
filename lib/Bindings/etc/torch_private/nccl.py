"""torch's groups of NCCL: whether their collectives ended well, and how they are ended."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from etc.errors import UsageError

SETTINGS = {
    # A collective that fails or times out is ended, and not the process.
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "2",
    # Nor does a second thread end it, where the first one is held up.
    "TORCH_NCCL_ENABLE_MONITORING": "0",
    # That thread would sleep for eight minutes after a failure, and the end of the groups
    # wait for it.
    "TORCH_NCCL_DUMP_ON_TIMEOUT": "0",
    # How long all groups wait for one that failed: four times these milliseconds, and
    # seconds for the trace of what was under way.
    "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "25",
    "TORCH_FR_BUFFER_SIZE": "0",
}
"""By default torch ends a process when NCCL reports that another one is gone."""


def outlive_peers() -> None:
    """Before groups of NCCL are made. What the user has set stays."""
    nccl = getattr(dist, "ProcessGroupNCCL", None)
    if nccl is not None and not hasattr(nccl, "get_error"):
        raise UsageError(
            f"World: torch {torch.__version__} does not tell whether a collective of "
            "NCCL failed; on GPUs World needs PyTorch 2.7 or later"
        )
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)


def connect(device: int) -> None:
    """All groups, in the order in which they were made. NCCL would connect them at their
    first collective, and nothing ends its wait for a peer that is lost meanwhile."""
    torch.cuda.set_device(device)
    for backend in backends():
        backend.allreduce([torch.zeros(1, device="cuda")]).wait()
    torch.cuda.current_stream().synchronize()


def settle() -> None:
    """Waits until the GPU has done what it was given. Raises RuntimeError if a collective
    did not end well: one that was ended leaves in its result what was there."""
    if not torch.cuda.is_initialized():
        return
    torch.cuda.synchronize()
    for backend in backends():
        error = backend.get_error()
        if error.name != "SUCCESS":
            raise RuntimeError(f"a collective of NCCL failed: {error.name}")


def abort() -> None:
    """Ends the collectives of all groups, at once: one may wait behind another's on the
    GPU, and torch's abort returns when those of its group have ended."""
    threads = [
        threading.Thread(target=_quietly, args=(backend.abort,), daemon=True)
        for backend in backends()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def backends() -> list[Any]:
    """Of this process's groups, in the order in which they were made."""
    if not dist.is_nccl_available():
        return []
    found = []
    for group in list(distributed_c10d._world.pg_map):
        try:
            backend = group._get_backend(torch.device("cuda"))
        except RuntimeError:
            continue  # of Gloo alone
        # With TORCH_DISTRIBUTED_DEBUG=DETAIL it is in another one.
        backend = getattr(backend, "wrapped_pg", backend)
        if isinstance(backend, dist.ProcessGroupNCCL):
            found.append(backend)
    return found


def _quietly(call: Callable[[], Any]) -> None:
    try:
        call()
    except Exception:
        pass  # it has ended before, or ends at its time-out
