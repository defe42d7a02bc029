"""Compares a plan that was made before with a trainer and its new configuration."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from etc.describe import Description
from etc.megatron.grid import SIZES, STAGES, same_order
from etc.megatron.stages import split_layers
from etc.planner import plan as make_plan
from etc.plans import Plan, planner


def check_plan(plan: Plan, prev: Mapping[str, Any], curr: Mapping[str, Any]) -> None:
    """Raises ValueError unless the plan leads from the one to the other; of stages,
    `check_stages` says it."""
    for side, text, layout in _sides(plan, prev, curr):
        _check_grid(plan.configuration[side], text, layout)
        _check_buckets(_options(getattr(plan, side)), text, layout)
    _check_devices(plan, prev["devices"], curr.get("devices"))


def check_stages(plan: Plan, described: Description, curr: Mapping[str, Any]) -> None:
    """Raises ValueError unless the plan's stages have the layers that they should."""
    for side, text, layout in _sides(plan, described.layout, curr):
        options = _options(getattr(plan, side))
        _check_stages(options, text, layout, described.model)


def _sides(
    plan: Plan, prev: Mapping[str, Any], curr: Mapping[str, Any]
) -> tuple[tuple[str, str, Mapping[str, Any]], ...]:
    """(side, how a message about it begins, what it should be)."""
    return (
        ("prev", f"plan: begins in {plan.prev}, the trainer has", prev),
        ("curr", f"plan: ends in {plan.curr}, curr has", curr),
    )


def _options(label: str) -> dict[str, str]:
    """What a configuration's label says after the sizes: {"stages": "1:3"}."""
    pairs = (option.partition("=") for option in label.split("+")[1:])
    return {name: value for name, _, value in pairs}


def _check_grid(
    planned: Mapping[str, Any], text: str, layout: Mapping[str, Any]
) -> None:
    wanted = {
        **dict.fromkeys((*SIZES, "fsdp"), 1),
        "etp": layout.get("tp", 1),
        "distributed_optimizer": False,
        "inventory": False,
        **layout,
    }
    for name in (*SIZES, "fsdp"):
        if wanted[name] != planned[name]:
            raise ValueError(f"{text} {name.upper()} {wanted[name]}")
    if not same_order(wanted["order"], planned["order"], planned):
        raise ValueError(f"{text} order {wanted['order']}")
    for name in ("distributed_optimizer", "inventory"):
        if wanted[name] != planned[name]:
            raise ValueError(f"{text} {name} {wanted[name]}")


def _check_buckets(
    options: Mapping[str, str], text: str, layout: Mapping[str, Any]
) -> None:
    size = layout.get("bucket_size", 0)
    if size == "default":  # Megatron's, as the planner works it out
        size = max(40_000_000, layout["dp"] * layout["cp"] * 1_000_000)
    if size != int(options.get("buckets", 0)):
        what = f"bucket_size {size}" if size else "no bucket_size"
        raise ValueError(f"{text} {what}, by ddp_config")


def _check_stages(
    options: Mapping[str, str],
    text: str,
    layout: Mapping[str, Any],
    model: Mapping[str, Any],
) -> None:
    """Different fields may cut the layers in the same way."""
    split = {n: layout[n] for n in STAGES if layout.get(n) is not None}
    wanted = _options_of(split, layout, model) if split else {}
    if wanted is None:
        return  # the new model shows it
    if any(wanted.get(name) != options.get(name) for name in ("stages", "mtp")):
        says = [f"{name} {value}" for name, value in split.items()]
        says = says or [f"no {name}" for name in STAGES]
        raise ValueError(f"{text} {', '.join(says)}")


def _options_of(
    split: Mapping[str, Any], layout: Mapping[str, Any], model: Mapping[str, Any]
) -> Optional[dict[str, str]]:
    """What a label says of stages that are cut by the fields `split`. None where the
    planner alone could tell, and is not installed."""
    if planner() is None:
        chunks = split_layers(layout, model["layers"])
        if chunks is None:
            return None
        return {"stages": ":".join(map(str, chunks))} if chunks else {}
    grid = {"pp": layout["pp"], "vpp": layout["vpp"], **split}
    made = make_plan(
        model=model, prev="PP1", curr=grid, cluster=[layout["pp"]], types=["param"]
    )
    return _options(made.curr)


def _check_devices(plan: Plan, prev: Any, curr: Any) -> None:
    planned = plan.placement["prev"]
    if planned != list(prev):
        raise ValueError(
            f"plan: begins on devices {planned}, the trainer is on devices {prev}"
        )
    planned = plan.placement["curr"]
    if curr is not None and planned != list(curr):
        raise ValueError(f"plan: ends on devices {planned}, curr has devices {curr}")
