"""Process groups of the new configuration.

Megatron-Core computes a rank's role from its rank in torch.distributed's default group,
and takes that group to be the whole configuration. So the default group is made anew,
with the rank that the plan gives to this process's device: every group then is what
Megatron-Core itself builds, also where the world grows or shrinks. To keep the old
default group instead, parallel_state would have to be told a permutation of ranks,
which its `order` can't say, and no process could join.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

import torch.distributed as dist


def leave_groups() -> None:
    """Ends the groups of the old configuration; the store they met at stays."""
    from megatron.core import parallel_state

    if parallel_state.model_parallel_is_initialized():
        parallel_state.destroy_model_parallel()
    if dist.is_initialized():
        dist.destroy_process_group()


def enter_groups(
    store: Any,
    rank: int,
    world_size: int,
    layout: Mapping[str, Any],
    backend: str,
    process_group_options: Optional[Mapping[str, Any]] = None,
    parallel_state_options: Optional[Mapping[str, Any]] = None,
) -> None:
    """Builds the default group and parallel_state for the new configuration.

    Args:
        store: one that no group has used before, the same for all ranks.
        rank: this process's rank in the new configuration.
        layout: its sizes, as `grid.read_layout` returns them.
        process_group_options: for torch.distributed.init_process_group.
        parallel_state_options: for initialize_model_parallel.
    """
    from megatron.core import parallel_state

    dist.init_process_group(
        backend,
        store=store,
        rank=rank,
        world_size=world_size,
        **dict(process_group_options or {}),
    )
    vpp = layout["vpp"]
    parallel_state.initialize_model_parallel(
        layout["tp"],
        layout["pp"],
        virtual_pipeline_model_parallel_size=vpp if vpp > 1 else None,
        context_parallel_size=layout["cp"],
        expert_model_parallel_size=layout.get("ep", 1),
        expert_tensor_parallel_size=layout.get("etp", layout["tp"]),
        order=layout["order"],
        **dict(parallel_state_options or {}),
    )
