"""The same change by Megatron-Core's distributed checkpoints: what its library saves
under one configuration, it loads and reshards under the other."""

from __future__ import annotations

import contextlib
from typing import ContextManager, Dict
from unittest import mock

import torch
from megatron.core import dist_checkpointing
from megatron.core.dist_checkpointing.mapping import ShardedTensor
from megatron.core.dist_checkpointing.serialization import (
    get_default_save_sharded_strategy,
)
from megatron.core.dist_checkpointing.strategies import filesystem_async
from megatron.core.dist_checkpointing.strategies import torch as strategies
from megatron.core.dist_checkpointing.strategies.fully_parallel import (
    FullyParallelSaveStrategyWrapper,
)

from .checkpoint import Checkpoint, Side
from .hostfiles import HostFolder
from .tensors import State, stage_tensors

#: What every process reads before it asks the strategy for tensors.
COMMON = ("metadata.json", "common.pt")


def without_gpu() -> ContextManager:
    """Saving asks for the current GPU and waits for it, though tensors and groups are
    the CPU's."""
    return mock.patch.multiple(torch.cuda, current_device=lambda: "cpu",
                               synchronize=lambda: None)


class ByMegatron(Checkpoint):
    """The library's groups are all processes; who has no role has no tensors."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if self.prev.member:  # the process that takes part in every save takes seconds
            filesystem_async._get_write_results_queue()

    def write(self) -> None:
        self.folder.path.mkdir(parents=True, exist_ok=True)
        # As Megatron's scripts have it: replicas share the writing.
        strategy = FullyParallelSaveStrategyWrapper(get_default_save_sharded_strategy())
        with without_gpu():
            dist_checkpointing.save(self.named(self.prev, self.state),
                                    str(self.folder.path), strategy)

    def read(self) -> State:
        state = self.empty()
        with self.reading():
            dist_checkpointing.load(self.named(self.curr, state), str(self.folder.path))
        return state

    def reading(self) -> ContextManager:
        """Where each process has a folder of its own, files are those of all."""
        if not isinstance(self.folder, HostFolder):
            return contextlib.nullcontext()
        self.folder.path.mkdir(parents=True, exist_ok=True)
        for path in (self.folder.path / name for name in COMMON):
            if not path.exists():  # the process that wrote it serves it now
                with self.folder.open(path.name) as file:
                    path.write_bytes(file.read())
        reader = self.folder.reader()
        return mock.patch.object(strategies, "_get_filesystem_reader",
                                 lambda *_, **__: reader)

    def named(self, side: Side, state: State) -> Dict[str, ShardedTensor]:
        """The state as the library takes it; a replica that is not the first has another
        id than zeros."""
        content: Dict[str, ShardedTensor] = {}
        if not side.member:
            return content
        role, size = side.role, side.parallel.tp
        for tensor in stage_tensors(self.model, side.parallel, role.pipeline):
            cuts = [(tensor.split, role.tensor, size)] if tensor.split is not None else []
            replica = (0, 0 if cuts else role.tensor, role.data)
            for kind, part in state.items():
                key = f"{kind}/{tensor.name}"
                content[key] = ShardedTensor.from_rank_offsets(
                    key, part[tensor.name], *cuts, replica_id=replica)
        return content
