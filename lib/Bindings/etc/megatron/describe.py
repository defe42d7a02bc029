"""Describes Megatron-Core's live objects as a request."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

import torch
import torch.distributed as dist

from etc.describe import Description
from etc.megatron.configs import check_ddp_config, check_optimizer_config
from etc.megatron.grid import layout_of, order_of, read_grid, stages_of
from etc.megatron.modules import Parameter, parameters_of, unwrapped
from etc.megatron.states import check_optimizer, parts_of, slots_of, tensors_of
from etc.megatron.table import expert_count, layer_count, summary_of, table_of
from etc.tensors import NAMES

TYPES = ("param", "master", "exp_avg", "exp_avg_sq")


def describe_live(
    model: Any,
    optimizer: Any,
    parallel_state: Any,
    *,
    device: Optional[int] = None,
    vocab_size: Optional[int] = None,
    vocab_multiple: int = 128,
    name: str = "described",
) -> Description:
    """Describes this rank's part of a model that Megatron-Core trains.

    Collective over the default process group: no rank sees the whole model, so the
    descriptions of all ranks are combined.

    Args:
        model: a GPTModel or a list of chunks of one, wrapped or not.
        optimizer: what get_megatron_optimizer returned, or None.
        parallel_state: Megatron-Core's module, initialized.
        device: the number of this rank's device in the cluster; None means its rank.
        vocab_size: the vocabulary without padding, if the model's is padded to a
            multiple of `vocab_multiple` x TP; None if its size does not depend on
            TP.

    Raises:
        ValueError: something cannot be moved correctly; the message names it.
    """
    chunks = list(model) if isinstance(model, (list, tuple)) else [model]
    grid = read_grid(parallel_state)
    parameters, tensors, problem = _try_reading(chunks, grid, optimizer)
    everyone = _gather(
        {
            "grid": grid,
            "device": dist.get_rank() if device is None else device,
            "chunks": [[summary_of(p, grid) for p in chunk] for chunk in parameters],
            "types": list(tensors),
            "bucket_size": _bucket_size(chunks[0]),
            "dtypes": sorted({NAMES[p.tensor.dtype] for c in parameters for p in c}),
            "problem": problem,
        }
    )
    _check_all(everyone)
    in_order = _in_model_order(everyone)
    config, tied = _common(unwrapped(chunks[0]))
    rows = table_of(in_order, tied, vocab_size)
    experts = expert_count(in_order)
    table: dict[str, Any] = {"name": name, "layers": layer_count(in_order)}
    table.update({"experts": experts} if experts else {})
    table.update({"vocab_multiple": vocab_multiple} if vocab_size else {})
    layout = _layout(everyone, config)
    layout.update(shards_of(getattr(chunks[0], "ddp_config", None)))
    fields = _fields(everyone)
    return Description(
        model={**table, "tensors": rows},
        layout=layout,
        fields=fields,
        names={p.local_name: p.name for chunk in parameters for p in chunk},
        tensors=tensors,
    )


def shards_of(ddp_config: Any) -> dict[str, Any]:
    """The fields of a request that express a DistributedDataParallelConfig."""
    if ddp_config is None or not ddp_config.use_distributed_optimizer:
        return {}
    shards: dict[str, Any] = {"distributed_optimizer": True}
    if ddp_config.overlap_grad_reduce:
        shards["bucket_size"] = ddp_config.bucket_size or "default"
    return shards


def read_tensors(
    parameters: Sequence[Sequence[Parameter]], optimizer: Any
) -> dict[str, dict[str, torch.Tensor]]:
    """{type: {global name: tensor}} of this rank."""
    slots = {} if optimizer is None else slots_of(optimizer)
    tensors: dict[str, dict[str, torch.Tensor]] = {}
    for chunk in parameters:
        for parameter in chunk:
            found = {"param": parameter.tensor.data}
            if parameter.tensor in slots:
                found.update(tensors_of(slots[parameter.tensor]))
            for kind, tensor in found.items():
                part = parameter.of(tensor)
                if parameter.among is not None:
                    part = part.view(-1)  # a plan has three axes as two
                tensors.setdefault(kind, {})[parameter.name] = part
    return {kind: tensors[kind] for kind in TYPES if kind in tensors}


def _try_reading(
    chunks: Sequence[Any], grid: Mapping[str, int], optimizer: Any
) -> tuple[list[list[Parameter]], dict[str, dict[str, torch.Tensor]], Optional[str]]:
    """Parameters and tensors, or the error: all ranks must reach the gathering."""
    ddp_config = getattr(chunks[0], "ddp_config", None)
    try:
        if optimizer is not None:
            _check_optimizer(optimizer, ddp_config)
        parameters = parameters_of(chunks, grid)
        _check_ranges(parameters, ddp_config)
        return parameters, read_tensors(parameters, optimizer), None
    except ValueError as error:
        return [], {}, str(error)


def _check_optimizer(optimizer: Any, ddp_config: Any) -> None:
    check_optimizer(optimizer)
    for part in parts_of(optimizer):
        check_optimizer_config(part.config)
    check_ddp_config(ddp_config)


def _check_ranges(
    parameters: Sequence[Sequence[Parameter]], ddp_config: Any
) -> None:
    """The distributed optimizer cuts a GroupedMLP's weights across their experts."""
    if not getattr(ddp_config, "use_distributed_optimizer", False):
        return
    for chunk in parameters:
        for parameter in chunk:
            if parameter.among is not None:
                raise ValueError(
                    f"{parameter.local_name}: a GroupedMLP with the distributed "
                    f"optimizer is not migrated; train without "
                    f"moe_use_legacy_grouped_gemm"
                )


def _gather(mine: dict[str, Any]) -> list[dict[str, Any]]:
    everyone: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, mine)
    return everyone


def _check_all(everyone: Sequence[Mapping[str, Any]]) -> None:
    for each in everyone:
        if each["problem"]:
            raise ValueError(each["problem"])
    for rank, each in enumerate(everyone):
        if each["dtypes"] != everyone[0]["dtypes"] or len(each["dtypes"]) != 1:
            raise ValueError(
                f"parameters are {', '.join(each['dtypes'])} on rank {rank}; expected "
                f"one of bf16, fp16, fp32 throughout"
            )
        size, others = each["bucket_size"], everyone[0]["bucket_size"]
        if size != others:
            raise ValueError(
                f"ddp_config: bucket_size is {others} on rank 0 and {size} on rank "
                f"{rank}, as by --ddp-num-buckets with stages of different sizes; use "
                f"--ddp-bucket-size"
            )


def _bucket_size(chunk: Any) -> Any:
    """That of gradient buckets, or None if there is but one bucket."""
    return shards_of(getattr(chunk, "ddp_config", None)).get("bucket_size")


def _in_model_order(everyone: Sequence[Mapping[str, Any]]) -> list[Any]:
    """All chunks of all ranks, in the order of their layers."""
    chunks = []
    for each in everyone:
        stages, stage = each["grid"]["pp"], each["grid"]["pp_rank"]
        for k, chunk in enumerate(each["chunks"]):
            chunks.append((k * stages + stage, chunk))
    return [chunk for _, chunk in sorted(chunks, key=lambda pair: pair[0])]


def _common(model: Any) -> tuple[Any, bool]:
    return model.config, bool(model.share_embeddings_and_output_weights)


def _layout(everyone: Sequence[Mapping[str, Any]], config: Any) -> dict[str, Any]:
    layout = {**layout_of(everyone[0]["grid"]), **stages_of(config)}
    layout["order"] = order_of([each["grid"] for each in everyone])
    layout["devices"] = [each["device"] for each in everyone]
    return layout


def _fields(everyone: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    have = {kind for each in everyone for kind in each["types"]}
    types = [kind for kind in TYPES if kind in have]
    fields: dict[str, Any] = {"precision": everyone[0]["dtypes"][0], "types": types}
    if "exp_avg" in types:
        fields["optimizer"] = "adam"
    return fields
