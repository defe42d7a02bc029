"""What one process holds of a migration, at any time."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from etc.errors import UsageError
from etc.inventory import Inventory
from etc.plans import TensorSpec
from etc.report import Report
from etc.state import Key, Tensors, by_type

if TYPE_CHECKING:
    import torch

    from etc import _run
    from etc.memory import Memory

# In the order of etc_outcome.
OUTCOMES = ("not begun", "old", "new", "mixed", "unreadable")


class Holdings:
    """The part of a `Migration` that tells what this process holds."""

    _handle: _run.Migration
    _memory: Memory
    _specs: dict[Key, TensorSpec]
    _is_apart: bool
    _may_free: bool

    @property
    def outcome(self) -> str:
        """What this process holds; "new" after `run`, or `finish` if state is deferred.

        "not begun": the previous state, untouched. "old": the previous state,
        complete, although rounds have begun. "new": the current state. "mixed": in
        eager mode, what remains of the previous state; what was released is in
        `received` or `state` of this participant or of others, or in transit, which
        `etc.recover` uses. "unreadable": operations on a GPU have not completed, and
        nothing that it holds can be read; it changes if they complete later. After an
        error participants may differ.
        """
        return OUTCOMES[self._handle.outcome()]

    @property
    def state(self) -> Tensors:
        """{type: {name: tensor}}: the current state if `outcome` is "new", else the
        previous tensors that were not released.

        Raises UsageError in eager mode while a thread of ETC's moves state, which
        frees previous tensors: `run` and `wait` return what may be read."""
        if self.outcome == "new":
            return self._current(lambda _: True)
        if self._is_apart and self._may_free:
            raise UsageError(
                "state: previous tensors are freed at any time until finish; run and "
                "wait return what may be read"
            )
        return by_type(dict(self._memory.old))

    @property
    def received(self) -> Tensors:
        """{type: {name: tensor}}: the new tensors that were created so far; after an
        error, those in which something has landed, which may be incomplete."""
        return by_type(dict(self._memory.new))

    def inventory(self) -> Inventory:
        """Which boxes of which tensors this process holds, in the format of
        `etc-run inventory` (docs/inventory-format.md): a request's `prev`, alone or in
        a list with those of other processes.

        After any outcome but "unreadable": previous tensors that were not released,
        and what has landed in `received`, of which the rest is not valid. Raises
        UsageError if the outcome is "unreadable", and while a thread of ETC's moves
        state."""
        return json.loads(self._handle.inventory())

    @property
    def report(self) -> Report:
        """The figures of this device, complete after `run` and `finish`."""
        return Report(**self._handle.report(), unfreed_bytes=self._memory.unfreed_bytes)

    def _current(self, wanted: Callable[[TensorSpec], bool]) -> Tensors:
        return by_type(
            {
                key: self._current_tensor(i, key)
                for i, (key, spec) in enumerate(self._specs.items())
                if wanted(spec)
            }
        )

    def _current_tensor(self, position: int, key: Key) -> torch.Tensor:
        stayed = self._handle.current(position)[1]
        return self._memory.old[key] if stayed else self._memory.new[key]
