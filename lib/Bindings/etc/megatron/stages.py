"""The layers of pipeline stages, as Megatron-Core divides them, where no planner can say
it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional


def split_layers(layout: Mapping[str, Any], layers: int) -> Optional[list[int]]:
    """The layers of each chunk in forward order; none where all have the same number.

    None for a pipeline_layout, which the planner alone reads.
    """
    if layout.get("pipeline_layout"):
        return None
    pp, vpp = layout["pp"], layout["vpp"]
    first, last = (layout.get(f"{end}_stage_layers") for end in ("first", "last"))
    if first is None and last is None:
        chunks = _with_ends(layout, layers, pp * vpp)
    else:
        stages = _between(first, last, layers, pp)
        chunks = [count // vpp for _ in range(vpp) for count in stages]
    is_even = len(set(chunks)) == 1 and sum(chunks) == layers
    return [] if is_even else chunks


def _with_ends(layout: Mapping[str, Any], layers: int, count: int) -> list[int]:
    """Where asked for, the embedding and the loss count as a layer each."""
    embedding = bool(layout.get("account_for_embedding"))
    loss = bool(layout.get("account_for_loss"))
    chunks = [(layers + embedding + loss) // count] * count
    chunks[0] -= embedding
    chunks[-1] -= loss
    return chunks


def _between(
    first: Optional[int], last: Optional[int], layers: int, pp: int
) -> list[int]:
    """The stages that have no number of their own share what the others leave."""
    given = {0: first, pp - 1: last} if first is not None else {pp - 1: last}
    fixed = {stage: count for stage, count in given.items() if count is not None}
    others = max(pp - len(fixed), 1)
    rest = (layers - sum(fixed.values())) // others
    return [fixed.get(stage, rest) for stage in range(pp)]
