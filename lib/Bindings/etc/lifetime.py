"""Migrations that still exist when Python exits, or when a process forks."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Protocol


class Closable(Protocol):
    def _close(self) -> None: ...


_alive: weakref.WeakSet[Closable] = weakref.WeakSet()


def close_at_exit(migration: Closable) -> None:
    """Closes its connections before Python exits; after that no callback can run."""
    _alive.add(migration)


@atexit.register
def _close_all() -> None:
    for migration in list(_alive):
        migration._close()


# A forked child has none of the threads, and must not touch the connections.
os.register_at_fork(after_in_child=_alive.clear)
