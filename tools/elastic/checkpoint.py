"""The same change by a checkpoint: what is saved under one configuration is read and
resharded under the other."""

from __future__ import annotations

import datetime
import threading
import time
from typing import Dict, Tuple

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard

from .change import Change
from .config import Model, Parallel
from .hostfiles import Folder
from .tensors import TYPES, State, stage_tensors


class Checkpoint:
    """Groups and meshes are made here, off the path, as ETC's connections are. `run`
    takes the steps one by one, and meets after each; the previous state is gone before
    the next is allocated.

    A way to make and read checkpoints has a `write` of the state, and a `read`.
    """

    steps: Tuple[str, ...] = ("save", "load")

    def __init__(self, folder: Folder, model: Model, change: Change, state: State,
                 store, device: int, timeout: float):
        self.folder, self.model, self.state = folder, model, state
        self.rank = change.participants.index(device)
        dist.init_process_group(
            "gloo", store=store, rank=self.rank, world_size=len(change.participants),
            timeout=datetime.timedelta(seconds=timeout))
        self.prev = Side(Parallel.parse(change.prev), change.prev_devices, change,
                         self.rank)
        self.curr = Side(change.configuration, change.devices, change, self.rank)
        self.report: Dict[str, float] = {}
        self.deferred = False

    def write(self) -> None:
        raise NotImplementedError

    def read(self) -> State:
        raise NotImplementedError

    def run(self) -> State:
        for step in self.steps:
            begin = time.monotonic()
            getattr(self, step)()
            dist.barrier()
            self.report[step] = time.monotonic() - begin
        dist.destroy_process_group()
        # Not here: to end what serves files and to remove them takes a while.
        threading.Thread(target=self.close).start()
        return self.state

    def save(self) -> None:
        self.write()
        self.folder.announce()
        self.state.clear()

    def load(self) -> None:
        self.state = self.read()

    def close(self) -> None:
        self.folder.close()

    def empty(self) -> State:
        """What this process is to hold; nothing where it leaves."""
        if not self.curr.member:
            return {}
        role = self.curr.role
        state: State = {kind: {} for kind in TYPES}
        for tensor in stage_tensors(self.model, self.curr.parallel, role.pipeline):
            box = tensor.box(self.curr.parallel.tp, role.tensor)
            for kind, dtype in TYPES.items():
                state[kind][tensor.name] = torch.empty(
                    [end - begin for begin, end in box], dtype=dtype)
        return state


class ByTorch(Checkpoint):
    """torch.distributed.checkpoint, with DTensors."""

    def write(self) -> None:
        if self.prev.member:
            dcp.save(self.named(self.prev, self.state), process_group=self.prev.group,
                     storage_writer=dcp.FileSystemWriter(self.folder.path))

    def read(self) -> State:
        state = self.empty()
        if state:
            dcp.load(self.named(self.curr, state), process_group=self.curr.group,
                     storage_reader=self.folder.reader())
        return state

    def named(self, side: Side, state: State) -> Dict[str, torch.Tensor]:
        """The state as DTensors over the data- and tensor-parallel ranks of a stage."""
        mesh, content = side.mesh["dp", "tp"], {}
        tensors = stage_tensors(self.model, side.parallel, side.role.pipeline)
        for tensor in tensors:
            cut = Replicate() if tensor.split is None else Shard(tensor.split)
            for kind, part in state.items():
                content[f"{kind}/{tensor.name}"] = DTensor.from_local(
                    part[tensor.name], mesh, [Replicate(), cut], run_check=False)
        return content


class Side:
    """A configuration as torch's device mesh, over a group of all participants."""

    def __init__(self, parallel: Parallel, devices, change: Change, rank: int):
        ranks = [change.participants.index(device) for device in devices]
        self.parallel, self.member = parallel, rank in ranks
        self.role = parallel.role(ranks.index(rank)) if self.member else None
        self.group = dist.new_group(sorted(ranks))
        grid = torch.tensor(ranks).view(parallel.pp, parallel.dp, parallel.tp)
        self.mesh = DeviceMesh("cpu", grid, mesh_dim_names=("pp", "dp", "tp"))
