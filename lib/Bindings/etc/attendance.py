"""Who of a change's participants has left the job's store, or recovers."""

from __future__ import annotations

import time
from typing import Any

from etc.errors import PeerError
from etc.job_store import JobStore
from etc.plans import Plan
from etc.rendezvous import Store, StoreAdapter

_GRACE = 2.0
"""Who is back by then was cut off for a moment, or not told by a new hub yet."""


def enroll(store: Store, tag: str, device: int) -> None:
    """Says for good that the device's process has been there. Only a job's own store
    knows who has left."""
    if isinstance(store, JobStore):
        store.compare_set(_key(tag, device), "", "1")


def _key(tag: str, device: int) -> str:
    return f"{tag}/there/{device}"


class Attendance:
    """The participants of a plan, of whom this process waits for all.

    Those that have previous state are members of the job: one that was there and is not
    any more does not come back with it. One without may be yet to come, or be replaced,
    as long as this process has not seen it while it waits."""

    def __init__(self, store: Store, tag: str, plan: Plan, device: int) -> None:
        self._store = store if isinstance(store, JobStore) else None
        self._adapter = StoreAdapter(store)
        self._tag = tag
        self._own = device
        self._participants = plan.participants
        self._holders = set(plan.placement["prev"])
        self._seen: set[int] = set()
        self._absent: dict[int, float] = {}  # since when

    def check(self) -> None:
        """Raises PeerError that names a participant that has left."""
        if self._store is None:
            return
        here = set(self._store.devices)
        if self._own not in here:
            return  # others gave it up; the store will say so
        for rank, device in enumerate(self._participants):
            if device in here:
                self._seen.add(device)
                self._absent.pop(device, None)
            elif self._was_there(device):
                since = self._absent.setdefault(device, time.monotonic())
                if time.monotonic() - since > _GRACE:
                    raise PeerError(
                        f"participant {rank} (device {device}) has left the job's "
                        f"store: its process has closed it, has ended, or is silent"
                    )

    def see_all(self) -> None:
        self._seen.update(self._participants)

    def _was_there(self, device: int) -> bool:
        if device in self._holders and device not in self._seen:
            mark = self._adapter.get(_key(self._tag, device), 0.001)
            if mark is not None:
                self._seen.add(device)
        return device in self._seen


def _mark(tag: str, device: int, generation: int) -> str:
    """At which a recovery says that the device's process is there (runtime/recovery)."""
    return f"{tag}/recovery/{generation + 1}/held/{device}"


def withdraw(adapter: StoreAdapter, tag: str, device: int, generation: int) -> None:
    """Of this process, which may have called etc.recover in vain."""
    mark = _mark(tag, device, generation)
    if adapter.get(mark, 0.001):
        adapter.set(mark, b"")


class Recovering:
    """Which participant has called etc.recover, and so does not come: one at a time is
    looked for, however many there are."""

    def __init__(self, adapter: StoreAdapter, tag: str, plan: Plan) -> None:
        self._adapter = adapter
        self._tag = tag
        self._participants = plan.participants
        self._next = 0
        self._since: float | None = None

    def check(self, generation: int) -> None:
        """Raises PeerError that names a participant. One whose recovery has failed, and
        that prepares, too, has time to say so."""
        device = self._participants[self._next % len(self._participants)]
        if not self._adapter.get(_mark(self._tag, device, generation), 0.001):
            self._next, self._since = self._next + 1, None
            return
        self._since = self._since or time.monotonic()
        if time.monotonic() - self._since > _GRACE:
            raise PeerError(f"device {device} has called etc.recover; call it, too")


class AttendedStore:
    """A store of participants that have all come, for one change. Until `is_over`, its
    waits end when one of them leaves."""

    def __init__(
        self,
        adapter: StoreAdapter,
        attendance: Attendance,
        tag: str,
        generation: int = 0,
    ) -> None:
        self._adapter = adapter
        self._attendance = attendance
        self._tag = tag
        self._generation = generation
        self.is_over = False
        attendance.see_all()

    def set(self, key: str, value: bytes) -> None:
        self._adapter.set(key, value)

    def get(self, key: str) -> Any:
        raise NotImplementedError("waits are bounded")

    def _look(self, key: str, timeout: float) -> bytes | None:
        value = self._adapter.get(key, timeout)
        if value is None and not self.is_over:
            try:
                self._attendance.check()
            except PeerError as error:
                # As a participant says that it does not take part; see
                # ChangeRendezvous.
                refusal = f"{self._generation} -1 {error}"
                self._adapter.set(f"{self._tag}/refused", refusal.encode())
                raise
        return value
