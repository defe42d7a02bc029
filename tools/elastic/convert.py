"""The same change as Megatron's scripts make it: every rank saves its shard as a file of
its own, one process converts them all, and every rank loads the file of its new role."""

from __future__ import annotations

from typing import Dict

import torch

from .checkpoint import Checkpoint
from .config import Parallel
from .tensors import TYPES, State, stage_tensors


def name_of(pipeline: int, rank: int) -> str:
    """As Megatron names the folder of a stage's tensor rank; replicas share it."""
    return f"mp_rank_{rank:02d}_{pipeline:03d}.pt"


class Converted(Checkpoint):
    steps = ("save", "convert", "load")

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.converted = self.folder.beside("converted")

    def write(self) -> None:
        role = self.prev.role
        if role and role.data == 0:
            self.folder.path.mkdir(parents=True, exist_ok=True)
            torch.save(self.state, self.folder.path / name_of(role.pipeline, role.tensor))

    def convert(self) -> None:
        """By the first process, in one piece: it holds all of the model meanwhile."""
        if self.rank == 0:
            whole, curr = self.whole(), self.curr.parallel
            self.converted.path.mkdir(parents=True, exist_ok=True)
            for pipeline in range(curr.pp):
                for rank in range(curr.tp):
                    torch.save(self.shard(whole, curr, pipeline, rank),
                               self.converted.path / name_of(pipeline, rank))
        self.converted.announce()

    def whole(self) -> State:
        """All tensors, from the shards of all ranks."""
        prev, whole = self.prev.parallel, {kind: {} for kind in TYPES}
        for pipeline in range(prev.pp):
            shards = []
            for rank in range(prev.tp):
                with self.folder.open(name_of(pipeline, rank)) as file:
                    shards.append(torch.load(file))
            for tensor in stage_tensors(self.model, prev, pipeline):
                for kind, content in whole.items():
                    parts = [shard[kind][tensor.name] for shard in shards]
                    content[tensor.name] = (parts[0] if tensor.split is None
                                            else torch.cat(parts, tensor.split))
        return whole

    def shard(self, whole: State, parallel: Parallel, pipeline: int,
              rank: int) -> State:
        """What one rank of a configuration loads: copies, since a file of a view would
        contain all that it is a view of."""
        shard: Dict[str, Dict[str, torch.Tensor]] = {kind: {} for kind in whole}
        for tensor in stage_tensors(self.model, parallel, pipeline):
            cut = tuple(slice(*ends) for ends in tensor.box(parallel.tp, rank))
            for kind, content in whole.items():
                shard[kind][tensor.name] = content[tensor.name][cut].clone(
                    memory_format=torch.contiguous_format)
        return shard

    def read(self) -> State:
        role = self.curr.role
        if not role:
            return {}
        with self.converted.open(name_of(role.pipeline, role.tensor)) as file:
            return torch.load(file)

    def close(self) -> None:
        super().close()
        self.converted.close()
