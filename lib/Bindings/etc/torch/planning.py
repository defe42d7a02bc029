"""From two layouts to a plan."""

from __future__ import annotations

import itertools
from typing import Any

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
    return plan_request(
        prev={"inventory": before.inventory},
        curr={"inventory": after.inventory},
        cluster=nodes if cluster is None else cluster,
        **fields,
    )
