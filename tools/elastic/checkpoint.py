"""The same change by a checkpoint: what torch.distributed.checkpoint saves under one
configuration, it reads and reshards under the other."""

from __future__ import annotations

import datetime
import time
from pathlib import Path
from typing import Dict, Optional

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard

from .change import Change
from .config import Model, Parallel
from .hostfiles import HostFiles
from .tensors import TYPES, State, stage_tensors


class Checkpoint:
    """Groups and meshes are made here, off the path, as ETC's connections are. `run`
    saves, meets and loads; the previous state is gone before the next is allocated."""

    def __init__(self, folder: str, files: Optional[HostFiles], model: Model,
                 change: Change, state: State, store, device: int, timeout: float):
        self.path = Path(folder) / str(change.epoch)
        if files:
            self.path /= str(device)
        self.files, self.model, self.state = files, model, state
        rank = change.participants.index(device)
        dist.init_process_group(
            "gloo", store=store, rank=rank, world_size=len(change.participants),
            timeout=datetime.timedelta(seconds=timeout))
        self.prev = Side(Parallel.parse(change.prev), change.prev_devices, change, rank)
        self.curr = Side(change.configuration, change.devices, change, rank)
        self.report: Dict[str, float] = {}
        self.deferred = False

    def run(self) -> State:
        begin = time.monotonic()
        if self.prev.member:
            dcp.save(self.named(self.prev, self.state), process_group=self.prev.group,
                     storage_writer=dcp.FileSystemWriter(self.path))
        if self.files:
            self.files.announce(self.path)
        self.state.clear()
        dist.barrier()
        saved = time.monotonic()
        state = self.empty() if self.curr.member else {}
        if state:
            files = self.files.reader() if self.files else None
            dcp.load(self.named(self.curr, state), process_group=self.curr.group,
                     storage_reader=files or dcp.FileSystemReader(self.path))
        dist.barrier()
        self.report = {"save": saved - begin, "load": time.monotonic() - saved}
        dist.destroy_process_group()
        if self.files:
            self.files.close()
        return state

    def empty(self) -> State:
        role = self.curr.role
        state: State = {kind: {} for kind in TYPES}
        for tensor in stage_tensors(self.model, self.curr.parallel, role.pipeline):
            box = tensor.box(self.curr.parallel.tp, role.tensor)
            for kind, dtype in TYPES.items():
                state[kind][tensor.name] = torch.empty(
                    [end - begin for begin, end in box], dtype=dtype)
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
