"""What all ranks agree on before anything moves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from etc.errors import PlanError
from etc.plans import Plan
from etc.torch import proof
from etc.torch import ranks as job
from etc.torch.carried import Carried
from etc.torch.layout import Layout
from etc.torch.planning import plan
from etc.torch.ranks import pack, unpack


def agree(
    prev: Layout, curr: Layout, given: Mapping[str, Any], verify: bool
) -> tuple[Plan, Carried, proof.Sums | None]:
    """The plan; what else is carried over; and the sums of what is there, to `verify`.
    Collective. `given` is what the plan is asked for.

    Rank 0 plans for all, while the others read: ranks of one host would take as long
    one after the other. Each checks the plan that it gets.

    Raises:
        ValueError: on every rank, where ranks contradict each other.
        etc.PlanError, etc.UnsatisfiableError: what `plan` raises, on every rank; the
            first one as well where rank 0 alone can't plan.
    """
    made, problem = _plan_for_all(prev, curr, given)
    kept = Carried(prev, curr)

    def read() -> tuple[dict[str, str], Any, Any]:
        options, carried = _named({**given, "verify": verify}), kept.told()
        return options, carried, proof.told(prev.entries.values()) if verify else None

    options, carried, parts = zip(*job.on_every_rank(read))
    _check_same(options)
    kept.hear(carried)
    told = pack((made.to_bytes() if made else b"", problem))
    packed, problem = unpack(job.from_first(told))
    if problem:
        plan(prev, curr, **given)  # raises the same, unless rank 0 alone lacks a file
        raise PlanError(f"rank 0: {problem}")
    if made is None:
        made = Plan.from_bytes(packed)
    return made, kept, proof.sums(parts) if verify else None


def _plan_for_all(
    prev: Layout, curr: Layout, given: Mapping[str, Any]
) -> tuple[Plan | None, str]:
    """On rank 0, the plan, or why there is none: the others wait for this rank."""
    if job.rank() != 0:
        return None, ""
    try:
        return plan(prev, curr, **given), ""
    except Exception as error:
        return None, str(error) or repr(error)


def _named(options: Mapping[str, Any]) -> dict[str, str]:
    """The options of this rank, as all ranks can compare them; None is the default."""
    return {
        name: json.dumps(_plain(value))
        for name, value in options.items()
        if value is not None
    }


def _plain(value: Any) -> Any:
    """For JSON; sets have no order."""
    if isinstance(value, Mapping):
        return {str(key): _plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, (list, tuple, range)):
        return list(map(_plain, value))
    return value if isinstance(value, (bool, int, float, type(None))) else str(value)


def _check_same(options: Sequence[dict[str, str]]) -> None:
    """Raises ValueError where a rank passes another option than rank 0."""
    first = options[0]
    for rank, other in enumerate(options):
        for name in {**first, **other}:
            if other.get(name) != first.get(name):
                raise ValueError(
                    f"{name}: is {other.get(name, 'not passed')} on rank {rank}, "
                    f"{first.get(name, 'not passed')} on rank 0; pass the same on all "
                    f"ranks"
                )
