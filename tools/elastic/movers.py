"""How state gets from one configuration to the next: by ETC, or by a checkpoint."""

from __future__ import annotations

import importlib
import time
from pathlib import Path
from typing import Callable, Optional

import etc
import torch

from .change import Change
from .config import Model
from .tensors import State

#: Ways to make a checkpoint: the module, and what it has for it.
CHECKPOINTS = {"dcp": ("checkpoint", "ByTorch"), "mcore": ("mcore", "ByMegatron"),
               "convert": ("convert", "Converted")}


def preparer(model: Model, host: Optional[str], timeout: float,
             memory: torch.device) -> Callable:
    """prepare(change, state, store, device) -> an object with run() and report. Where
    `deferred` is set, run() gives the parameters, and finish() all of the state.

    `change.by` says how:
      etc              by a plan, from process to process
      etc:RATE         so, each process sending RATE bytes a second of deferred state
      dcp:FOLDER       by torch.distributed.checkpoint
      mcore:FOLDER     by Megatron-Core's dist_checkpointing
      convert:FOLDER   by a file a rank, which one process converts into those of the
                       next configuration

    The FOLDER of a checkpoint is one that every host sees. With dcp-hosts:FOLDER,
    mcore-hosts:FOLDER and convert-hosts:FOLDER each host has one of its own; what other
    hosts wrote is read over the network.
    """
    def prepare(change: Change, state: State, store, device: int):
        way, _, folder = change.by.partition(":")
        if way == "etc":
            rate = float(folder) if folder else None
            return ByPlan(change, state, store, device, host, timeout, memory, rate)
        kind = way[:-len("-hosts")] if way.endswith("-hosts") else way
        if kind not in CHECKPOINTS or not folder:
            raise ValueError(
                f"'{change.by}' moves nothing; write etc, etc:RATE, or a way and a "
                f"folder: {', '.join(f'{k}:FOLDER, {k}-hosts:FOLDER' for k in CHECKPOINTS)}")
        from .hostfiles import Folder, HostFolder
        path = Path(folder) / str(change.epoch)
        files = (Folder(path, owner=device == change.participants[0]) if kind == way
                 else HostFolder(path / str(device), store, host))
        module, name = CHECKPOINTS[kind]
        checkpoint = getattr(importlib.import_module(f".{module}", __package__), name)
        return checkpoint(files, model, change, state, store, device, timeout)

    return prepare


class ByPlan:
    """The launcher plans, and each process runs its slice of the plan."""

    def __init__(self, change: Change, state: State, store, device: int,
                 host: Optional[str], timeout: float, memory: torch.device,
                 tail_rate: Optional[float]):
        begin = time.monotonic()
        self.plan = etc.Plan.from_bytes(store.get(f"plan/{device}"))
        self.seconds = time.monotonic() - begin
        self.deferred = self.plan.summary.deferred_rounds > 0
        self.migration = etc.prepare(
            self.plan, state, store=store, rank=change.participants.index(device),
            world_size=len(change.participants), host=host, timeout=timeout,
            tail_rate=tail_rate, device=memory)

    def run(self) -> State:
        return self.migration.run()

    def finish(self) -> State:
        return self.migration.finish()

    @property
    def report(self) -> dict:
        return {"plan_seconds": self.seconds, **vars(self.migration.report)}
