"""What the trainer's work on a GPU has to do with its state."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import torch

from etc.errors import UsageError


class Busy(UsageError):
    """The GPU is still at work."""


_stuck: set[torch.device] = set()
"""GPUs of this process where an abort in `prepare` did not complete."""

_SLICE = 0.02
"""Between two looks at whether it is worth to wait, in seconds."""


def wait_for(
    device: torch.device, seconds: float, check: Callable[[], None] = lambda: None
) -> None:
    """Waits until no kernel of the trainer uses memory that ETC reads or frees; not for
    ever, since a collective may wait for a process that has died.

    Raises UsageError if the GPU has failed, or does not get there in time, and whatever
    `check` raises meanwhile. Memory of the host needs no wait."""
    if device.type != "cuda":
        return
    failures: list[Exception] = []

    def wait() -> None:
        try:
            torch.cuda.synchronize(device)
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=wait, name="etc-synchronize", daemon=True)
    thread.start()
    end = time.monotonic() + seconds
    while thread.is_alive() and time.monotonic() < end:
        thread.join(_SLICE)
        check()
    if thread.is_alive():
        raise Busy(
            f"{device} is still at work after {seconds:g} s: abort the groups whose "
            f"collectives wait for processes that have ended (etc.Job.abort_groups)"
        )
    if failures:
        raise UsageError(
            f"{device} cannot be used any more: end this process, and let a new one join "
            f"({failures[0]})"
        ) from failures[0]


def note_stuck(device: torch.device) -> None:
    """Operations of a migration did not complete there."""
    _stuck.add(device)


def check_stuck(device: torch.device, seconds: float) -> None:
    """Raises UsageError if such operations, which may have ended since, do not end within
    so many seconds either. The trainer's own work may come after them, and takes a while."""
    try:
        wait_for(device, seconds if device in _stuck else min(seconds, 1.0))
        _stuck.discard(device)
    except Busy as error:  # otherwise the trainer's work: it may take longer
        if device in _stuck:
            raise UsageError(
                f"operations of a migration on {device} did not complete: end this "
                f"process, and let a new one join"
            ) from error


def settle(device: torch.device) -> None:
    """Waits until the GPU has done what it was given. Raises RuntimeError if a collective
    did not end well, whose result is then what was in memory."""
    if device.type != "cuda":
        return
    from etc.torch_private import nccl

    torch.cuda.synchronize(device)
    for group in nccl.backends():
        if not hasattr(group, "get_error"):
            raise UsageError(
                f"torch {torch.__version__} does not tell whether a collective of NCCL "
                f"failed: on GPUs etc.Job needs PyTorch 2.7 or later"
            )
        nccl.check_error(group)


def abort_groups(seconds: float) -> None:
    """Ends the collectives of all groups of NCCL, within so many seconds."""
    from etc.torch_private import nccl

    nccl.abort(nccl.backends(), seconds)


def make_room(device: torch.device) -> None:
    """Gives memory that PyTorch caches back to the driver: NCCL and ETC's own buffers
    do not come from PyTorch's allocator."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
