"""Megatron-Core's DistributedDataParallel at a change."""

from __future__ import annotations

from typing import Any

from etc.tensors import free_storage


def drop_gradients(chunk: Any) -> None:
    """Frees the buffers in which the old configuration accumulated."""
    for name in ("buffers", "expert_parallel_buffers"):
        held = getattr(chunk, name, [])
        for buffer in held if isinstance(held, list) else []:
            free_storage(buffer.grad_data)


def skip_gather(chunks: list[Any]) -> None:
    """Leaves out the all-gather of parameters that the next forward pass would make
    with overlap_param_gather: they are whole on every replica, and nothing updates
    shards of them before."""
    for chunk in chunks:
        if not chunk.ddp_config.overlap_param_gather:
            continue
        for group in chunk.bucket_groups + chunk.expert_parallel_bucket_groups:
            group.param_gather_dispatched = True
