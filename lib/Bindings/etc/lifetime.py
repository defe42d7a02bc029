"""Migrations whose last reference goes, or that exist when Python exits or forks."""

from __future__ import annotations

import atexit
import os
import threading
import warnings
import weakref
from typing import Any, Protocol


class Closable(Protocol):
    _is_open: bool

    def _close(self) -> None: ...


_alive: weakref.WeakSet[Closable] = weakref.WeakSet()


def close_at_exit(migration: Closable) -> None:
    """Closes its connections before Python exits; after that no callback can run."""
    _alive.add(migration)


@atexit.register
def _close_all() -> None:
    for migration in list(_alive):
        migration._close()


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


os.register_at_fork(after_in_child=_forget_all)
