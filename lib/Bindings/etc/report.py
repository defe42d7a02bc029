"""The figures of a migration, for one device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Report:
    """The figures of one device, in bytes and seconds."""

    device: int
    sent_bytes: int
    received_bytes: int
    internode_bytes: int
    """Of those received."""
    prepare_seconds: float
    seconds: float
    """Of the rounds: from the first one's start to the last one's end."""
    pack_seconds: float
    copy_seconds: float
    wait_seconds: float
    unpack_seconds: float
    acknowledge_seconds: float
    peak_bytes: int
    """The most that was live of the tensors of the plan, staging included."""
    proved_bytes: int
    """What the plan states for that."""
    state_bytes: int
    """max(prev, curr)."""
    staging_bytes: int
    pause_seconds: float
    """Of `seconds`, those until `run` returned."""
    finished_rounds: int
    """Of this device's `rounds`, so far, and `received_bytes` are of these."""
    rounds: int
    unfreed_bytes: int
    """Of released tensors whose storage could not be freed at once: it is shared
    with other tensors, or not PyTorch's. It goes when they go."""
