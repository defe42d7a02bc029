"""The progress of a migration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from etc.plans import Plan


class Progress:
    """Called by the runtime before each round, and after the last one."""

    def __init__(self, listener: Callable[[int, int, int], None]) -> None:
        self.update = listener

    def close(self) -> None:
        """Called when the migration is over, with or without success."""


class _Bar(Progress):
    """Shows the bytes received as a tqdm bar."""

    def __init__(self, tqdm: Any, plan: Plan, rank: int) -> None:
        super().__init__(self._update)
        self._tqdm = tqdm
        self._plan = plan
        self._rank = rank
        self._bar: Any = None

    def _update(self, round: int, rounds: int, received_bytes: int) -> None:
        if self._bar is None:
            self._bar = self._tqdm(
                desc=f"device {self._plan.participants[self._rank]}",
                unit="B",
                unit_scale=True,
                leave=False,
            )
        self._bar.set_postfix_str(f"round {round}/{rounds}", refresh=False)
        self._bar.update(received_bytes - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def make_progress(
    wanted: bool | Callable[[int, int, int], None] | None, plan: Plan, rank: int
) -> Progress | None:
    """A listener, a bar if tqdm is installed, or None."""
    if callable(wanted):
        return Progress(wanted)
    if not wanted:
        return None
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return _Bar(tqdm, plan, rank)
