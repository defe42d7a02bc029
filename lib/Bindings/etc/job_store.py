"""A store that lives in the processes of a job."""

from __future__ import annotations

import datetime
import os
import weakref
from typing import Any

from etc import _run
from etc.errors import PeerError
from etc.lifetime import ends_at_exit, guard, guard_wait, interrupt_at_exit
from etc.rendezvous import Store, StoreAdapter

_alive: weakref.WeakSet[JobStore] = weakref.WeakSet()


_open = ends_at_exit(_run.JobStore)


class JobStore:
    """A key-value store in the processes of a job, for jobs whose processes and nodes
    fail: `etc.Job`, `etc.prepare` and `etc.recover` take it as their store.

        with etc.JobStore(first, device) as store:     # each process, once
            job = etc.Job(store, device, plan=plan, state=state)
            ...

    Processes find each other over `first`, which is not needed afterwards. The one that
    comes first is the hub. If it fails, the one that joined next takes over, at the
    address that it told when it joined. What `set` stored remains as long as its
    process or the hub does, and what `compare_set` stored as long as any process.

    Values are set and read where the hub is connected with more than half of the
    processes; those that certainly ended do not count. So a process that was stopped or
    cut off, and comes back, finds what the others decided meanwhile. Where less than
    half are left that can reach each other, calls raise PeerError.

    A thread of ETC's does all this, whatever Python does. Connections are TLS 1.3 with
    a secret of the job. Any thread may use a store.

    Args:
        first: a torch.distributed store with `compare_set`, or None with `contact`.
        device: this process's device.
        contact: instead of `first`, the attribute `contact` of a store in a process
            that is still there.
        tag: the same in all processes of the job, and in no other job of `first`.
        host: the name or address at which others reach this host; by default ETC_HOST
            in the environment, or otherwise the host's own name.
        silence: a process that gives no sign of life for this many seconds is given up.
        timeout: the longest wait for the others, in seconds.

    Raises:
        PeerError: no process of the job answers in time.
    """

    def __init__(
        self,
        first: Store | None,
        device: int,
        *,
        contact: str | None = None,
        tag: str = "etc",
        host: str | None = None,
        silence: float = 5.0,
        timeout: float = 300.0,
    ) -> None:
        if (first is None) == (contact is None):
            raise ValueError("pass either a first store or a contact")
        # A FileStore of a number of processes removes its file when all have dropped it:
        # who joins later would found a store of its own.
        self._first = first
        adapter = StoreAdapter(first) if first is not None else None
        self._timeout = timeout
        self._owner = os.getpid()
        self._handle = _open(
            device=device,
            host=host or os.environ.get("ETC_HOST"),
            contact=contact,
            tag=tag,
            silence=silence,
            timeout=timeout,
            set=guard(adapter.set) if adapter else None,
            get=guard_wait(adapter.get) if adapter else None,
            set_first=guard(adapter.set_first) if adapter else None,
        )
        _alive.add(self)
        interrupt_at_exit(self)

    @ends_at_exit
    def set(self, key: str, value: bytes | str) -> None:
        """Sets a value. Later ones replace it."""
        self._handle.set(key, _bytes(value))

    @ends_at_exit
    def get(self, key: str) -> bytes:
        """The value; waits until it is set, for at most `timeout` seconds: then raises
        PeerError."""
        return self._handle.get(key, self._timeout)

    @ends_at_exit
    def compare_set(self, key: str, expected: str, desired: bytes | str) -> bytes:
        """Sets a key that has no value yet; returns the value that it has then.

        `expected` must be "": there is no other comparison."""
        if expected:
            raise ValueError(f'expected: expected "", got {expected!r}')
        return self._handle.set_first(key, _bytes(desired))

    @ends_at_exit
    def wait(
        self, keys: list[str], timeout: datetime.timedelta | None = None
    ) -> None:
        """Waits until all keys are set; raises PeerError if they are not in time."""
        for key in keys:
            seconds = self._timeout if timeout is None else timeout.total_seconds()
            self._handle.get(key, seconds)

    def _interrupt(self) -> None:
        self._handle.interrupt()

    @ends_at_exit
    def _look(self, key: str, timeout: float) -> bytes | None:
        try:
            return self._handle.get(key, timeout)
        except PeerError:
            return None

    @property
    @ends_at_exit
    def contact(self) -> str:
        """What a process that joins later needs: one line, which is a secret. It is of
        use as long as one of today's processes is there."""
        return self._handle.contact()

    @property
    @ends_at_exit
    def devices(self) -> list[int]:
        """Of the processes that take part, in the order in which they joined: the first
        is the hub. A process that ended leaves the list at once, one that is silent
        after `silence` seconds."""
        return self._handle.devices()

    @ends_at_exit
    def close(self) -> None:
        """Leaves: those who wait for this process, in `prepare` say, learn that it does
        not come. No other thread may be using the store."""
        self._handle.close()
        self._first = None

    def __enter__(self) -> JobStore:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _close_copies() -> None:
    """A child that was forked has none of the threads, and its copies of connections
    would keep others from noticing that its parent ended."""
    for store in list(_alive):
        store._handle.close_after_fork()
    _alive.clear()


os.register_at_fork(after_in_child=_close_copies)
