"""Migrations whose last reference goes, and what is under way when Python exits or forks.

Python ends daemon threads wherever they take its lock after its exit has begun, and
where C++ has called back into Python that ends the process.
"""

from __future__ import annotations

import atexit
import functools
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class Closable(Protocol):
    _is_open: bool

    def _close(self) -> None: ...


class Waiting(Protocol):
    def _interrupt(self) -> None: ...


_alive: weakref.WeakSet[Closable] = weakref.WeakSet()
_stores: weakref.WeakSet[Waiting] = weakref.WeakSet()
_calls: set[threading.Event] = set()
_is_exiting = False


def _must_end() -> bool:
    """Whether Python exits and does not wait for this thread."""
    is_main = threading.current_thread() is threading.main_thread()
    return _is_exiting and not is_main


def close_at_exit(migration: Closable) -> None:
    """Closes its connections before Python exits; after that no callback can run."""
    if _must_end():
        raise SystemExit
    _alive.add(migration)


def interrupt_at_exit(store: Waiting) -> None:
    """Calls of it that wait, in threads for which Python does not, end then."""
    _stores.add(store)


def ends_at_exit(function: Function) -> Function:
    """Of C++ that waits for other processes or calls back into Python: a daemon thread
    ends there, as by SystemExit, before Python exits."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        if _must_end():
            raise SystemExit
        over = threading.Event()
        _calls.add(over)
        try:
            return function(*arguments, **options)
        finally:
            _calls.discard(over)
            over.set()
            if _must_end():
                raise SystemExit

    return call  # type: ignore[return-value]


def guard(callback: Callable[..., Any]) -> Callable[..., Any]:
    """A callback of it, which is not called any more when Python exits."""

    def guarded(*arguments: Any) -> Any:
        if _must_end():
            raise SystemExit
        return callback(*arguments)

    return guarded


def guard_wait(
    get: Callable[[str, float], bytes | None],
) -> Callable[[str, float], bytes | None]:
    """The same of one that waits for a value, for None in time: bit by bit."""

    def guarded(key: str, timeout: float) -> bytes | None:
        end = time.monotonic() + timeout
        while True:
            if _must_end():
                raise SystemExit
            left = end - time.monotonic()
            value = get(key, max(0.0, min(left, 1.0)))
            if value is not None or left <= 1.0:
                return value

    return guarded


@atexit.register
def _close_all() -> None:
    global _is_exiting
    _is_exiting = True
    for migration in list(_alive):
        migration._close()
    end = time.monotonic() + 10
    for over in list(_calls):
        while not over.wait(0.05) and time.monotonic() < end:
            for store in list(_stores):
                store._interrupt()


def close_handle(handle: Any) -> None:
    """Also in a callback, whose thread would be waited for: then by another one."""
    if handle.is_calling():
        threading.Thread(target=handle.close, name="etc-close").start()
    else:
        handle.close()


def warn_of_drop(migration: object, plan: object, is_apart: bool) -> None:
    """Located where the last reference went. Python shows by default that state which
    was under way is lost to the job."""
    what = ", and its deferred state did not arrive" if is_apart else ""
    warnings.warn(
        f"{plan!r}: the migration was dropped before it was over{what}; call finish() or "
        "close(), or use it in a with statement",
        RuntimeWarning if is_apart else ResourceWarning,
        stacklevel=3,
        source=migration,
    )


def _forget_all() -> None:
    """A forked child has none of the threads, and must not touch the connections."""
    for migration in list(_alive):
        migration._is_open = False
    _alive.clear()
    _stores.clear()
    _calls.clear()


os.register_at_fork(after_in_child=_forget_all)
