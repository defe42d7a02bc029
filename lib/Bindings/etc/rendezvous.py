"""How participants find each other: a store, a process group, or a directory."""

from __future__ import annotations

import datetime
import inspect
import sys
import time
from typing import Any, Protocol

from etc.plans import Plan
from etc.torch_private.stores import store_of


class Store(Protocol):
    """The interface that ETC needs of a store; torch.distributed's stores have it."""

    def set(self, key: str, value: Any) -> Any:
        """Sets a value, bytes or str."""

    def get(self, key: str) -> bytes:
        """The value; waits until it is set."""


def check_member(plan: Plan, rank: int | None, world_size: int | None) -> int:
    """This process's position among the participants. Raises ValueError."""
    count = len(plan.participants)
    if world_size is not None and world_size != count:
        raise ValueError(
            f"the plan has {count} participants, the group has {world_size}: every "
            f"device of {plan.participants} needs one process, and no other takes part"
        )
    if rank is None:
        raise ValueError("rank: which participant is this process?")
    if not 0 <= rank < count:
        raise ValueError(f"rank {rank}: the plan has {count} participants")
    return rank


def from_group(plan: Plan, group: Any) -> tuple[Any, int]:
    """(store, rank) of a torch.distributed process group, or of the default one.

    The group's rank r runs participant r.
    """
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized():
        raise UsageGroupError
    members = dist.get_world_size(group)
    rank = check_member(plan, dist.get_rank(group), members)
    return store_of(group), rank


UsageGroupError = ValueError(
    "participants have no way to find each other: pass store=, rank= and "
    "world_size=, or initialize torch.distributed"
)


def is_of_torch(store: Any) -> bool:
    """Whether PyTorch made it; does not import PyTorch."""
    torch = sys.modules.get("torch.distributed")
    return torch is not None and isinstance(store, getattr(torch, "Store", ()))


class StoreAdapter:
    """A store with the runtime's interface: bytes in and out, and bounded waits."""

    def __init__(self, store: Store) -> None:
        self.store: Any = store
        self.can_wait = hasattr(store, "wait")
        self.can_check = hasattr(store, "check")
        # torch 1.13 can't look for a key, and a wait that ends without its key spoils
        # the connection: the limit stays in force, and the answer comes later, for the
        # next question. There each key has a counter beside it, which can be read.
        self.counts = is_of_torch(store) and not self.can_check
        # A job's own store bounds every wait itself.
        self.look = getattr(store, "_look", None)

    def set(self, key: str, value: bytes) -> None:
        self.store.set(key, value)
        self._count(key)

    def set_first(self, key: str, value: bytes) -> bytes:
        """Sets a key that has no value yet; returns the value that it has then."""
        first = self.store.compare_set(key, "", value.decode())
        self._count(key)
        return first.encode() if isinstance(first, str) else bytes(first)

    def get(self, key: str, timeout: float) -> bytes | None:
        """The value, or None if no process sets it in time."""
        if self.look is not None:
            return self.look(key, timeout)
        if self.counts or self.can_check:
            return self._read(key) if self._appears(key, timeout) else None
        if timeout < 0.01 and not self.can_wait:
            return None  # it cannot be polled without waiting
        if self.can_wait:
            limit = datetime.timedelta(seconds=max(timeout, 0.001))
            begin = time.monotonic()
            try:
                self.store.wait([key], limit)
            except RuntimeError:
                if time.monotonic() - begin < 0.9 * timeout:
                    raise  # the store itself has failed
                return None
        return self._read(key)

    def _count(self, key: str) -> None:
        if self.counts:
            self.store.add(f"{key}/there", 1)

    def _is_there(self, key: str) -> bool:
        if self.counts:
            return bool(self.store.add(f"{key}/there", 0) > 0)
        return bool(self.store.check([key]))

    def _appears(self, key: str, timeout: float) -> bool:
        """Looks less and less often, since thousands may look. PyTorch's own wait would
        log a warning whenever it ends without the key."""
        begin, pause = time.monotonic(), 0.002
        while not self._is_there(key):
            left = begin + timeout - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(pause, left))
            pause = min(2 * pause, 0.1)
        return True

    def _read(self, key: str) -> bytes:
        value = self.store.get(key)
        return value.encode() if isinstance(value, str) else bytes(value)


def attempt(store: Store, tag: str, world_size: int) -> tuple[str, int]:
    """(a tag that no earlier migration over the store had, the change's number).

    Every participant calls this once per migration, so a counter identifies the
    migration. A store without counters needs a new tag each time, and its changes have
    the number 0.
    """
    add = getattr(store, "add", None)
    if add is None or not inspect.isroutine(add):
        return tag, 0
    arrivals = add(f"{tag}/{world_size}/arrivals", 1)
    number = (arrivals - 1) // world_size
    return f"{tag}/{world_size}/{number}", number + 1
