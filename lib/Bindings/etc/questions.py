"""Queries to the planner other than plans.

Each function takes a request as `etc.plan` does, and raises the same exceptions.
`rates` are GB/s (decimal) of a device in each direction, between nodes and inside one,
for which times are predicted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from etc.planner import Path, planner_for, whole_request
from etc.plans import Plan

Rates = tuple[float, float]


def frontier(
    request: Mapping[str, Any] | Path | None = None,
    *,
    rates: Rates | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """What the plan moves, splits and frees under each placement and objective.

    Returns {"rows": [...], "bound": {...}, ...}, the format "etc-frontier" of
    docs/which-nodes.md.
    """
    whole = _whole(request, fields)
    return json.loads(planner_for("frontier").frontier(whole, rates))


def which_nodes(
    count: int,
    request: Mapping[str, Any] | Path | None = None,
    *,
    rates: Rates | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """The `count` nodes that are cheapest to give back.

    Returns {"best": [{"nodes": [...], "moved_bytes": ..., ...}, ...], ...}, the
    format "etc-which-nodes" of docs/which-nodes.md.
    """
    if count < 1:
        raise ValueError(f"count: expected a positive integer, got {count}")
    whole = _whole(request, fields)
    return json.loads(planner_for("which_nodes").which_nodes(whole, count, rates))


def price(
    request: Mapping[str, Any] | Path | None = None, **fields: Any
) -> dict[str, Any] | None:
    """How much more the placement moves than roles on any device would.

    Returns {"place", "relays_aside", "moved_bytes", "internode_bytes", "seconds",
    "of_pause"}, with None for what is not known; None if there is no price, for example
    because the request already allows any device. If state is deferred, of_pause is
    true, and the seconds are those of the pause.
    """
    return json.loads(planner_for("price").price(_whole(request, fields), None))


def explain(request: Mapping[str, Any] | Path | None = None, **fields: Any) -> str:
    """What etc-opt --emit=summary says: what the plan moves, keeps and needs, the
    price of its placement, and what the trainer has to set itself."""
    return planner_for("explain").explain(_whole(request, fields), None)


def two_stage(
    request: Mapping[str, Any] | Path | None = None, **fields: Any
) -> tuple[Plan, Plan]:
    """The paper's method in two plans: to the assigned roles, then to their devices.

    The request's policy is "paper"; `etc.plan` composes both into one plan, which
    never moves more. Run one after the other, they end where it does.
    """
    whole = _whole(request, {"policy": "paper", **fields})
    first, second = planner_for("two_stage").two_stage(whole)
    return Plan.from_bytes(first), Plan.from_bytes(second)


def _whole(request: Mapping[str, Any] | Path | None, fields: dict[str, Any]) -> str:
    own = {name: fields.pop(name, None) for name in _LAYOUT}
    return whole_request(request, **own, fields=fields)


_LAYOUT = ("model", "prev", "curr", "cluster")
