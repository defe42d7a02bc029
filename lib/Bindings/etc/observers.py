"""Callbacks of the caller during a migration."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from etc.progress import Progress

if TYPE_CHECKING:
    import torch


class Observers:
    """`progress` and `on_release`. Their exceptions do not end a migration."""

    def __init__(
        self,
        progress: Progress | None,
        on_release: Callable[[str, str, torch.Tensor], None] | None,
    ) -> None:
        self._progress = progress
        self._on_release = on_release
        self.errors: list[Exception] = []

    def update(self, round: int, rounds: int, received_bytes: int) -> None:
        """Called before each round, and after the last one."""
        if self._progress is not None:
            self._call(self._progress.update, round, rounds, received_bytes)

    def release(self, kind: str, name: str, tensor: torch.Tensor) -> None:
        """Called before a tensor is released."""
        if self._on_release is not None:
            self._call(self._on_release, kind, name, tensor)

    def close(self) -> None:
        """Called when the migration is over, with or without success."""
        if self._progress is not None:
            self._call(self._progress.close)

    def warn(self) -> None:
        """Issues a RuntimeWarning, located at run()'s caller, if there were errors."""
        if not self.errors:
            return
        first = self.errors[0]
        warnings.warn(
            f"the migration is complete; progress or on_release raised "
            f"{len(self.errors)} exceptions (migration.observer_errors), the first: "
            f"{type(first).__name__}: {first}",
            RuntimeWarning,
            stacklevel=5,
        )

    def _call(self, observer: Callable[..., None], *arguments: Any) -> None:
        try:
            observer(*arguments)
        except Exception as error:  # noqa: BLE001
            # Frames would keep tensors alive that are to be released.
            error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
            traceback.clear_frames(error.__traceback__)
            self.errors.append(error)
