"""How the processes of a change meet at a store."""

from __future__ import annotations

from typing import Any, Optional

import torch.distributed as dist

from etc.errors import PeerError
from etc.plans import Plan
from etc.rendezvous import StoreAdapter

NAME = "etc-megatron"


class Meeting:
    """One change's keys in a store."""

    def __init__(self, store: Any, timeout: float, number: int) -> None:
        self._base, self.timeout, self._number = store, timeout, number

    @classmethod
    def called(cls, store: Any, timeout: float, plan: Plan) -> Meeting:
        """Called by the processes that train; collective over the default group.

        Devices of the plan that do not train are invited.
        """
        from torch.distributed import distributed_c10d

        base = distributed_c10d._get_default_store() if store is None else store
        number: list[Any] = [None]
        if dist.get_rank() == 0:
            number = [base.add(f"{NAME}/changes", 1)]
        dist.broadcast_object_list(number)
        meeting = cls(base, timeout, number[0])
        if dist.get_rank() == 0:
            prev = plan.placement["prev"]
            for device in plan.participants:
                if device not in prev:
                    count = base.add(f"{NAME}/invited/{device}", 1)
                    base.set(f"{NAME}/invitation/{device}/{count}", str(number[0]))
        return meeting

    @classmethod
    def invited(cls, store: Any, timeout: float, device: int) -> tuple[Meeting, bytes]:
        """Called by a process that does not train: (meeting, what was published)."""
        count = store.add(f"{NAME}/joined/{device}", 1)
        key = f"{NAME}/invitation/{device}/{count}"
        number = StoreAdapter(store).get(key, timeout)
        if number is None:
            raise PeerError(f"device {device}: no change needed it within {timeout} s")
        meeting = cls(store, timeout, int(number))
        return meeting, meeting.get("agreement")

    def publish(self, agreement: bytes) -> None:
        """Publishes a value for the invited processes; called by the first rank."""
        if dist.get_rank() == 0:
            self.set("agreement", agreement)

    def store(self, what: str) -> Any:
        """A separate store for a part of the change."""
        return dist.PrefixStore(f"{NAME}/{self._number}/{what}", self._base)

    def set(self, key: str, value: bytes) -> None:
        self.store("values").set(key, value)

    def get(self, key: str) -> bytes:
        """Raises PeerError if no process sets the key in time."""
        value: Optional[bytes]
        value = StoreAdapter(self.store("values")).get(key, self.timeout)
        if value is None:
            raise PeerError(f"no {key} from the other processes in {self.timeout} s")
        return value

    def arrive(self, leaves: bool, count: int) -> None:
        """Waits for the `count` others, since this process may serve their store."""
        if not leaves and self.store("values").add("arrived", 1) == count:
            self.set("all there", b"1")
        if leaves:
            self.get("all there")
