"""How the processes of a change meet at a store."""

from __future__ import annotations

import time
from typing import Any, Optional

import torch.distributed as dist

from etc.errors import PeerError
from etc.plans import Plan
from etc.rendezvous import StoreAdapter
from etc.torch_private.stores import store_of

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
        base = store_of() if store is None else store
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
    def invited(cls, store: Any, timeout: float, device: int) -> Meeting:
        """Called by a process that does not train. Raises PeerError if no change
        needs it in time."""
        meeting = cls.awaited(store, device, timeout, timeout, "")
        if meeting is None:
            raise PeerError(f"device {device}: no change needed it within {timeout} s")
        return meeting

    @classmethod
    def awaited(
        cls, store: Any, device: int, timeout: float, wait: float, over: str
    ) -> Optional[Meeting]:
        """The next change that needs a process that does not train; None if there is
        none within `wait` seconds, or `end` is called with `over`."""
        count = store.add(f"{NAME}/joined/{device}", 1)
        key = f"{NAME}/invitation/{device}/{count}"
        limit = time.monotonic() + wait
        while not store.check([key]):
            if time.monotonic() > limit or store.check([f"{NAME}/over/{over}"]):
                store.add(f"{NAME}/joined/{device}", -1)
                return None
            time.sleep(0.05)
        return cls(store, timeout, int(store.get(key)))

    def publish(self, agreement: bytes) -> None:
        """Publishes a value for the invited processes; called by the first rank."""
        if dist.get_rank() == 0:
            self.set("agreement", agreement)

    def store(self, what: str) -> Any:
        """A separate store for a part of the change."""
        return dist.PrefixStore(f"{NAME}/{self._number}/{what}", self._base)

    def set(self, key: str, value: bytes) -> None:
        StoreAdapter(self.store("values")).set(key, value)

    def find(self, key: str, timeout: float) -> Optional[bytes]:
        """None if no process sets the key within `timeout` seconds."""
        return StoreAdapter(self.store("values")).get(key, timeout)

    def get(self, key: str) -> bytes:
        """Raises PeerError if no process sets the key in time."""
        value = self.find(key, self.timeout)
        if value is None:
            raise PeerError(f"no {key} from the other processes in {self.timeout} s")
        return value

    def arrive(self, leaves: bool, count: int) -> None:
        """Waits for the `count` others, since this process may serve their store."""
        if not leaves and self.store("values").add("arrived", 1) == count:
            self.set("all there", b"1")
        if leaves:
            self.get("all there")


def end(store: Any, over: str) -> None:
    """No more change is coming, for all that wait for one."""
    store.set(f"{NAME}/over/{over}", b"1")
