"""torch's groups of NCCL: whether their collectives ended well, and how they are ended."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from etc.errors import UsageError

REQUIRED = {
    # A collective that fails or times out is ended, and not the process.
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "2",
    # Otherwise nothing looks after collectives.
    "TORCH_NCCL_BLOCKING_WAIT": "0",
}
"""By default torch ends a process when NCCL reports that another one is gone."""

DEFAULTS = {
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


def outlive_peers() -> None:
    """Before groups of NCCL are made: sets torch's variables, and the device if torch
    has not opened one."""
    nccl = getattr(dist, "ProcessGroupNCCL", None)
    if nccl is not None and not hasattr(nccl, "get_error"):
        raise UsageError(
            f"World: torch {torch.__version__} does not tell whether a collective of "
            "NCCL failed; on GPUs World needs PyTorch 2.7 or later"
        )
    for name, value in REQUIRED.items():
        if os.environ.get(name, value) != value:
            warnings.warn(
                f"World: {name} is {os.environ[name]}, with which a member that dies "
                f"would end the others, or hold them up; it is {value} from here on",
                stacklevel=3,
            )
        os.environ[name] = value
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
    if torch.cuda.is_available() and not torch.cuda.is_initialized():
        local = int(os.environ.get("LOCAL_RANK", "0"))
        torch.cuda.set_device(local % torch.cuda.device_count())


def connect(group: Any, device: int, check: Callable[[], None]) -> None:
    """NCCL would connect a group at its first collective, and nothing ends its wait for a
    peer that is lost meanwhile. `check` raises if one was lost: then no kernel of the
    group stays on the GPU, where all that comes later would wait for it."""
    torch.cuda.set_device(device)
    with torch.cuda.stream(torch.cuda.Stream(device)):
        ones = torch.ones(1, device="cuda")
        group.allreduce([ones]).wait()
        done = torch.cuda.Event()
        done.record()
        while not done.query():
            _check_or_abort(group, check)
            time.sleep(0.001)
        _check_or_abort(group, check)
        check_error(group)
        if ones.item() != group.size():
            raise RuntimeError("a group of NCCL could not be connected")


def _check_or_abort(group: Any, check: Callable[[], None]) -> None:
    try:
        check()
    except BaseException:
        group.abort()
        raise


def settle() -> None:
    """Waits until the GPU has done what it was given. Raises RuntimeError if a collective
    did not end well: one that was ended leaves in its result what was there."""
    groups = backends()
    if groups:
        torch.cuda.synchronize()
    for group in groups:
        check_error(group)


def check_error(group: Any) -> None:
    error = group.get_error()
    if error.name != "SUCCESS":
        raise RuntimeError(f"a collective of NCCL failed: {error.name}")


def abort(groups: Iterable[Any], seconds: float) -> None:
    """Ends their collectives, at once: one may wait behind another's on the GPU, and
    torch's abort returns when those of its group have ended. Waits for that no longer
    than `seconds`."""
    threads = [
        threading.Thread(target=_quietly, args=(group.abort,), daemon=True)
        for group in groups
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))


def backends() -> list[Any]:
    """NCCL's part of this process's groups, in the order in which they were made."""
    if not dist.is_nccl_available():
        return []
    found = []
    for group in list(distributed_c10d._world.pg_map):
        try:
            backend = group._get_backend(torch.device("cuda"))
        except Exception:
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
        pass  # it has ended before
