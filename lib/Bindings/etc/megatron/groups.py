"""Process groups of the new configuration.

Megatron-Core computes a rank's role from its rank in torch.distributed's default group,
and assumes that this group is the whole configuration. A new default group is therefore
created, in which this process has the rank that the plan assigns to its device. Every
group is then the one that Megatron-Core itself builds, even if the world grows or
shrinks. Keeping the old default group would require a permutation of ranks, which the
`order` of parallel_state cannot express, and no process could join.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

import torch.distributed as dist


def leave_groups() -> None:
    """Destroys the groups of the old configuration, but not their store."""
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
        store: a store that no group has used before, the same for all ranks.
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
