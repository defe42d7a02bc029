"""The whole state of a trainer, put together by what Megatron-Core's own checkpoints
say of who holds what."""

from __future__ import annotations

from typing import Any, Iterator

import torch
import torch.distributed as dist
from megatron.core.dist_checkpointing.mapping import (
    ShardedTensor,
    ShardedTensorFactory,
)


def whole_state(model: list[Any], optimizer: Any) -> dict[str, torch.Tensor]:
    """{key of the checkpoint: whole tensor}, on every rank; collective."""
    for chunk in model:
        if chunk.ddp_config.overlap_param_gather:
            chunk.start_param_sync(force_sync=True)
    everyone: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, list(pieces(model, optimizer)))
    whole: dict[str, torch.Tensor] = {}
    filled: dict[str, torch.Tensor] = {}
    for key, shape, offset, part in (piece for each in everyone for piece in each):
        if key not in whole:
            whole[key] = torch.zeros(shape, dtype=part.dtype)
            filled[key] = torch.zeros(shape, dtype=torch.bool)
        at = tuple(slice(o, o + n) for o, n in zip(offset, part.shape))
        before, there = whole[key][at], filled[key][at]
        assert torch.equal(before[there], part[there]), f"{key}: copies differ"
        whole[key][at], filled[key][at] = part, True
    for key, there in filled.items():
        assert there.all(), f"{key}: nobody has all of it"
    return whole


def pieces(model: list[Any], optimizer: Any) -> Iterator[tuple]:
    """(key, shape of the whole, offset, this rank's part)."""
    state = {}
    for k, chunk in enumerate(model):
        state[f"model{k}"] = chunk.sharded_state_dict()
    metadata: dict[str, Any] = {"distrib_optim_sharding_type": "fully_reshardable"}
    metadata["chained_optim_avoid_prefix"] = True
    flat = state["model0"] if len(model) == 1 else state
    everything = {"model": state}
    everything["optimizer"] = optimizer.sharded_state_dict(flat, metadata=metadata)
    for each in sharded(everything):
        shape, offset = list(each.global_shape), list(each.global_offset)
        part = each.data.detach()
        extra = len(shape) - part.dim()
        part = part.reshape([1] * extra + list(part.shape))
        yield each.key, shape, offset, part.cpu().clone()


def sharded(tree: Any) -> Iterator[ShardedTensor]:
    """The leaves that are cut."""
    if isinstance(tree, ShardedTensorFactory):
        tree = tree.build()
    if isinstance(tree, ShardedTensor):
        yield tree
    elif isinstance(tree, dict):
        for each in tree.values():
            yield from sharded(each)
    elif isinstance(tree, (list, tuple)):
        for each in tree:
            yield from sharded(each)


def differences(before: dict, after: dict, rows: int | None = None) -> list[str]:
    """Keys whose tensors are not the same, bit by bit; of embeddings only `rows`."""
    wrong = sorted(before.keys() ^ after.keys())
    for key in before.keys() & after.keys():
        old, new = before[key], after[key]
        if rows is not None and "embedding" in key:
            old, new = old[:rows], new[:rows]
        if not torch.equal(old, new):
            wrong.append(key)
    return wrong
