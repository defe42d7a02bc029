"""How far a migration is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from etc.plans import Plan


class Progress:
    """Told by the runtime before every round, and after the last one."""

    def __init__(self, listener: Callable[[int, int, int], None]) -> None:
        self.update = listener

    def close(self) -> None:
        """The migration is over, whatever it came to."""


class _Bar(Progress):
    """Bytes received, as a bar of tqdm's."""

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
    """A listener, a bar where tqdm is installed, or nothing."""
    if callable(wanted):
        return Progress(wanted)
    if not wanted:
        return None
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return _Bar(tqdm, plan, rank)
