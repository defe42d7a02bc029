"""Describes a live model and its optimizer as a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from etc.module_tree import Entry, entries_of, layer_template
from etc.planner import plan
from etc.plans import Plan
from etc.splits import Split, find_split

if TYPE_CHECKING:
    import torch

ADAM = ("exp_avg", "exp_avg_sq")


@dataclass(frozen=True)
class Description:
    """A model, its current configuration, and the tensors of this rank."""

    model: dict[str, Any]
    """A request's "model": a table of tensors."""
    layout: dict[str, Any]
    """A request's "prev"."""
    fields: dict[str, Any]
    """What else a request needs to say: types, optimizer, precision."""
    names: dict[str, str]
    """The global name of every local parameter."""
    tensors: dict[str, dict[str, torch.Tensor]] = field(repr=False)
    """{type: {global name: tensor}}: what `etc.prepare` takes."""

    def plan(self, curr: Any, cluster: Any, **fields: Any) -> Plan:
        """Plans the migration from this configuration to `curr`, as `etc.plan` does."""
        given = {**self.fields, **fields}
        return plan(
            model=self.model, prev=self.layout, curr=curr, cluster=cluster, **given
        )


def describe(
    model: torch.nn.Module,
    optimizer: Any = None,
    parallel_state: Any = None,
    *,
    meta: torch.nn.Module | None = None,
    splits: Mapping[str, int | None] | None = None,
    name: str = "described",
) -> Description:
    """Describes this rank's part of a model that is being trained.

    The tensor-parallel sharding of a parameter is taken from `splits`; otherwise from
    its attributes (`tensor_model_parallel`, `partition_dim`, `partition_stride`) or
    its DTensor placements; otherwise by comparing its shape with that of the same
    parameter in `meta`.

    Args:
        model: this rank's modules. Layers are the children of a ModuleList. Their
            global number is `layer_number` (from 1 on); without it, layers are
            assumed to be divided evenly among the stages. With Megatron-Core this may
            be a list of chunks.
        optimizer: a torch optimizer over the model's parameters, or Megatron-Core's,
            distributed or not; None describes parameters alone.
        parallel_state: Megatron-Core's module of that name, or a dictionary with
            "tp", "pp", "dp", "ep" and "tp_rank", "pp_rank", "ep_rank", with 1 and 0 as
            defaults. With the module the call is collective over all ranks, which
            combine their descriptions; neither meta nor splits is needed.
        meta: the whole model, with all sizes 1, on the meta device; needed if pp or ep
            exceeds 1, or if attributes are missing.
        splits: {global name, with "{layer}" for layers: the axis that tensor
            parallelism shards, or None if every rank has a copy}.

    Raises:
        ValueError: a parameter cannot be classified, or is inconsistent; the message
            names it.
    """
    if hasattr(parallel_state, "get_tensor_model_parallel_world_size"):
        from etc.megatron.describe import describe_live

        if meta is not None or splits:
            raise ValueError(
                "meta, splits: Megatron-Core's modules say it; leave them out"
            )
        return describe_live(model, optimizer, parallel_state, name=name)
    grid = _read_grid(parallel_state)
    whole = entries_of(meta if meta is not None else model, {}, None)
    if meta is None and (grid["pp"] > 1 or grid["ep"] > 1):
        raise ValueError(
            "meta: a rank does not see the modules of other stages and experts; pass "
            "the whole model on the meta device"
        )
    local = entries_of(model, grid, len({e.layer for e in whole if e.layer >= 0}))
    found = {entry.name: entry for entry in local}
    unknown = [
        entry.name for entry in local if entry.name not in {e.name for e in whole}
    ]
    if unknown:
        raise ValueError(f"{unknown[0]}: is not in the meta model")
    rows = _rows(whole, found, dict(splits or {}), grid["tp"], meta is not None)
    fields, tensors = _states(local, optimizer)
    return Description(
        model={"name": name, "layers": _layer_count(whole), **_experts(whole), **rows},
        layout={size: grid[size] for size in ("pp", "tp", "dp", "ep")},
        fields=fields,
        names={entry.local_name: entry.name for entry in local},
        tensors=tensors,
    )


def _read_grid(state: Any) -> dict[str, int]:
    sizes = ("tp", "pp", "dp", "ep")
    given = dict(state or {})
    grid = {size: int(given.pop(size, 1)) for size in sizes}
    for rank in ("tp_rank", "pp_rank", "ep_rank", "dp_rank"):
        grid[rank] = int(given.pop(rank, 0))
    if given:
        raise ValueError(f"parallel_state: unknown {next(iter(given))!r}")
    return grid


def _layer_count(whole: list[Entry]) -> int:
    return max((entry.layer for entry in whole), default=-1) + 1


def _experts(whole: list[Entry]) -> dict[str, int]:
    count = max((entry.expert for entry in whole), default=-1) + 1
    return {"experts": count} if count else {}


def _rows(
    whole: list[Entry],
    found: Mapping[str, Entry],
    splits: dict[str, int | None],
    tp: int,
    has_meta: bool,
) -> dict[str, Any]:
    """The table of tensors, in the order of the modules."""
    groups: dict[str, list[Entry]] = {}
    for entry in whole:
        groups.setdefault(layer_template(entry), []).append(entry)
    unused = set(splits) - set(groups)
    if unused:
        raise ValueError(f"splits: the model has no {sorted(unused)[0]}")
    layers = _layer_count(whole)
    table = []
    for template, group in groups.items():
        shape = tuple(group[0].tensor.shape)
        if any(tuple(entry.tensor.shape) != shape for entry in group):
            raise ValueError(f"{template}: has different shapes in different layers")
        here = next((found[e.name] for e in group if e.name in found), None)
        split = find_split(template, group[0], here, splits, tp, has_meta)
        table.append(_row(template, group, split, layers))
    return {"tensors": table}


def _row(
    template: str, group: list[Entry], split: Split, layers: int
) -> dict[str, Any]:
    row: dict[str, Any] = {"name": template, "shape": list(split.planning_shape)}
    if split.axis is not None:
        row["split"] = split.axis
    if split.view is not None:
        row["view"] = list(split.view)
    if group[0].layer < 0:
        row["block"] = group[0].block
        return row
    row["block"] = "layer"
    have = sorted({entry.layer for entry in group})
    if have != list(range(have[0], have[-1] + 1)):
        raise ValueError(f"{template}: the layers that have it are not in one run")
    if len(have) != layers:
        row["layers"] = [have[0], have[-1] + 1]
    return row


def _states(
    local: list[Entry], optimizer: Any
) -> tuple[dict[str, Any], dict[str, dict[str, torch.Tensor]]]:
    """The fields of a request, and the tensors of every type."""
    import torch

    from etc.tensors import NAMES

    tensors: dict[str, dict[str, torch.Tensor]] = {"param": {}}
    inner = getattr(optimizer, "optimizer", optimizer)  # Megatron-Core wraps it
    kept = getattr(inner, "state", {})
    for entry in local:
        parameter = entry.parameter
        tensors["param"][entry.name] = entry.tensor
        master = getattr(parameter, "main_param", None)
        if master is not None:
            tensors.setdefault("master", {})[entry.name] = master
        states = kept.get(parameter if master is None else master, {})
        for kind, value in states.items():
            if not isinstance(value, torch.Tensor) or value.numel() == 1:
                continue  # step counters
            if kind not in ADAM:
                raise ValueError(
                    f"{entry.local_name}: the optimizer keeps {kind!r} of it, which is "
                    f"none of {', '.join(ADAM)}"
                )
            tensors.setdefault(kind, {})[entry.name] = _local(value)
    for kind, group in tensors.items():
        missing = [e.local_name for e in local if e.name not in group]
        if missing:
            raise ValueError(f"{missing[0]}: has no {kind}, other parameters have")
    dtypes = {NAMES.get(t.dtype, str(t.dtype)) for t in tensors["param"].values()}
    if len(dtypes) != 1 or not dtypes <= {"bf16", "fp16", "fp32"}:
        raise ValueError(
            f"parameters are {', '.join(sorted(dtypes))}; expected one of bf16, fp16, "
            f"fp32 throughout"
        )
    fields = {"precision": dtypes.pop(), "types": list(tensors)}
    if any(kind in tensors for kind in ADAM):
        fields["optimizer"] = "adam"
    return fields, tensors


def _local(value: torch.Tensor) -> torch.Tensor:
    return value.to_local() if hasattr(value, "to_local") else value
