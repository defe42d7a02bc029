"""From two layouts to a plan."""

from __future__ import annotations

import itertools
from typing import Any

from etc.errors import UnsatisfiableError
from etc.planner import plan as plan_request
from etc.plans import Plan
from etc.torch.layout import Layout


def plan(before: Layout, after: Layout, cluster: Any = None, **fields: Any) -> Plan:
    """Plans the migration from one layout to another; every rank stays what it is.

    Args:
        before, after: of one job: both over the same ranks.
        cluster: as for `etc.plan`; without it nodes are the hosts of consecutive
            ranks.
        **fields: all other fields of a request, as for `etc.plan`.

    Raises:
        UnsatisfiableError: a tensor before has no place after, or the reverse.
    """
    nodes = [len(list(ranks)) for _, ranks in itertools.groupby(before.hosts)]
    try:
        return plan_request(
            prev={"inventory": before.inventory},
            curr={"inventory": after.inventory},
            cluster=nodes if cluster is None else cluster,
            **fields,
        )
    except UnsatisfiableError as error:
        lacking = _lacking(before, after, fields.get("types"))
        if lacking:
            raise UnsatisfiableError(lacking) from error
        raise


def _lacking(before: Layout, after: Layout, types: Any) -> str:
    """Which tensor the layout after has no place for, and why; "" where it has all."""
    was, has = (_tensors(side) for side in (before, after))
    gone = [key for key in was if key not in has and (types is None or key[0] in types)]
    if not gone:
        return ""
    state, name = gone[0]
    kind, _, dtype = state.rpartition(".")
    alike = [t for t, n in has if n == name and t.rpartition(".")[0] == kind]
    come = [n for t, n in has if t == state and (t, n) not in was]
    if alike:
        now = alike[0].rpartition(".")[2]
        why = f"is {dtype} before and {now} after; make it of one dtype"
    elif kind == "param":
        instead = f", and has {come[0]}, which was not there before" if come else ""
        why = f"the new model does not have it{instead}; give both the same tensors"
    elif all(t.startswith("param.") for t, _ in has):
        why = "no optimizer takes it; pass the new model's optimizer as well"
    else:
        why = "the new optimizer does not have this parameter; give it the same ones"
    more = f" (so for {len(gone) - 1} more)" if len(gone) > 1 else ""
    return f"{name} ({kind}): {why}{more}"


def _tensors(side: Layout) -> dict[tuple[str, str], None]:
    """(type, name) of all, in order."""
    return {(t["type"], t["name"]): None for t in side.inventory["tensors"]}
