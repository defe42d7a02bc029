"""What a process trains with after a change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from etc.plans import Plan
from etc.report import Report
from etc.roles import Role


@dataclass
class Trainer:
    """The objects that a process trains with from now on; None without a role."""

    role: Optional[Role]
    """{"tp": 0, "cp": 0, "dp": 1, "pp": 0, "ep": 0}, or None: this process is free."""
    rank: Optional[int]
    """In the new default group."""
    model: list[Any]
    """Chunks, wrapped in DistributedDataParallel."""
    optimizer: Any
    opt_param_scheduler: Any
    iteration: int
    consumed_samples: int
    plan: Plan
    report: Report
    unseeded: list[str]
    """The roles of all processes whose generators the trainer has to seed: "P0T1",
    with data_parallel_random_init "P0T1D2"."""
    must_seed: bool
    """Whether this process's is one of them, and nobody seeded it yet."""
    _rest: Optional[Callable[[], None]] = field(default=None, repr=False)

    def finish(self) -> None:
        """Waits for deferred state, and makes `optimizer` and `opt_param_scheduler`.

        Collective over the processes with a role: between the first backward pass and
        the optimizer's step, and before a checkpoint or the next change. Until then
        nothing may write to parameters. Does nothing where nothing is deferred. Raises
        what `etc.Migration.finish` does, also from the second call on.
        """
        if self._rest is not None:
            self._rest()
            self._rest = None
