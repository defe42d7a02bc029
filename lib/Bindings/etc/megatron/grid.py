"""Sizes and ranks of Megatron-Core's parallel_state, and of requests."""

from __future__ import annotations

import re
from typing import Any, Mapping, Union

SIZES = ("tp", "cp", "ep", "etp", "dp", "pp", "vpp")
STAGES = (
    "first_stage_layers",
    "last_stage_layers",
    "account_for_embedding",
    "account_for_loss",
    "pipeline_layout",
)
ORDERS = ("tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp")
Layout = Union[str, Mapping[str, Any]]


def read_grid(state: Any) -> dict[str, int]:
    """{"tp": 2, "tp_rank": 1, ...} of an initialized parallel_state."""
    return {
        "tp": state.get_tensor_model_parallel_world_size(),
        "pp": state.get_pipeline_model_parallel_world_size(),
        "dp": state.get_data_parallel_world_size(),
        "cp": state.get_context_parallel_world_size(),
        "ep": state.get_expert_model_parallel_world_size(),
        "etp": state.get_expert_tensor_parallel_world_size(),
        "vpp": state.get_virtual_pipeline_model_parallel_world_size() or 1,
        "tp_rank": state.get_tensor_model_parallel_rank(),
        "pp_rank": state.get_pipeline_model_parallel_rank(),
        "dp_rank": state.get_data_parallel_rank(),
        "cp_rank": state.get_context_parallel_rank(),
        "ep_rank": state.get_expert_model_parallel_rank(),
    }


def layout_of(grid: Mapping[str, int]) -> dict[str, Any]:
    """The sizes, as fields of a request."""
    layout = {size: grid[size] for size in ("tp", "pp", "dp", "cp", "vpp")}
    if grid["ep"] > 1 or grid["etp"] != grid["tp"]:
        layout.update(ep=grid["ep"], etp=grid["etp"])
    return layout


def order_of(grids: list[dict[str, int]]) -> str:
    """The one of ORDERS that matches the ranks of all processes, in order.

    Raises ValueError if none matches.
    """
    fits = [
        name
        for name in ORDERS
        if all(_rank(grid, name) == rank for rank, grid in enumerate(grids))
    ]
    if not fits:
        raise ValueError(
            f"parallel_state: its order of ranks is none of {', '.join(ORDERS)}"
        )
    return fits[0]


def dense(order: str) -> list[str]:
    """The sizes whose product is the world size, fastest-varying first."""
    return [name for name in order.split("-") if name != "ep"]


def same_order(left: str, right: str, sizes: Mapping[str, int]) -> bool:
    """Whether each rank has the same coordinates: sizes of 1 have no effect."""
    first, second = (
        [name for name in dense(order) if sizes[name] > 1] for order in (left, right)
    )
    return first == second


def _rank(grid: Mapping[str, int], order: str) -> int:
    rank, stride = 0, 1
    for name in dense(order):
        rank += stride * grid[f"{name}_rank"]
        stride *= grid[name]
    return rank


def stages_of(config: Any) -> dict[str, Any]:
    """How a TransformerConfig divides layers among stages, as fields of a request."""
    says = {
        "first_stage_layers": config.num_layers_in_first_pipeline_stage,
        "last_stage_layers": config.num_layers_in_last_pipeline_stage,
        "account_for_embedding": config.account_for_embedding_in_pipeline_split,
        "account_for_loss": config.account_for_loss_in_pipeline_split,
    }
    if config.pipeline_model_parallel_layout is not None:
        says["pipeline_layout"] = str(config.pipeline_model_parallel_layout)
    return {name: value for name, value in says.items() if value}


def sizes_of(shorthand: str) -> dict[str, int]:
    """{"pp": 4, "tp": 2, "dp": 3, "cp": 1} of a user's "PP4TP2DP3"."""
    sizes = {"pp": 1, "tp": 1, "dp": 1, "cp": 1}
    for name, size in re.findall(r"([A-Z]+)(\d+)", shorthand):
        sizes[name.lower()] = int(size)
    return sizes


def read_layout(curr: Layout) -> dict[str, Any]:
    """The new configuration with all sizes, from "PP2TP4" or a dictionary.

    Raises ValueError for dimensions that the adapter does not set up.
    """
    if isinstance(curr, str):
        if "+" in curr:
            raise ValueError(
                f"curr: expected sizes such as PP2TP2DP2, got {curr!r}; ddp_config "
                f"says whether the optimizer is distributed, a dictionary the rest"
            )
        given: dict[str, Any] = sizes_of(curr)
    else:
        given = dict(curr)
    known = (*SIZES, *STAGES, "order", "devices")
    for name in given:
        if name not in known:
            raise ValueError(
                f"curr: unknown {name!r}; expected {', '.join(known)}, and ddp_config "
                f"for the distributed optimizer"
            )
    sizes = {name: int(given.pop(name, 1)) for name in SIZES if name != "etp"}
    sizes["etp"] = int(given.pop("etp", sizes["tp"]))
    order = given.setdefault("order", ORDERS[0])
    if order not in ORDERS:
        raise ValueError(f"curr: order: expected {' or '.join(ORDERS)}, got {order!r}")
    return {**layout_of(sizes), **given}
