"""How state gets from one configuration to the next: by ETC, or by a checkpoint."""

from __future__ import annotations

import time
from typing import Callable, Optional

import torch

from .change import Change
from .config import Model
from .tensors import State


def preparer(model: Model, host: Optional[str], timeout: float,
             memory: torch.device) -> Callable:
    """prepare(change, state, store, device) -> an object with run() and report. Where
    `deferred` is set, run() gives the parameters, and finish() all of the state.

    `change.by` says how:
      etc              by a plan, from process to process
      etc:RATE         so, each process sending RATE bytes a second of deferred state
      dcp:FOLDER       by a checkpoint in a folder that every host sees
      dcp-hosts:FOLDER by a checkpoint in such a folder of each host's own; what other
                       hosts wrote is read over the network
    """
    def prepare(change: Change, state: State, store, device: int):
        way, _, folder = change.by.partition(":")
        if way == "etc":
            rate = float(folder) if folder else None
            return ByPlan(change, state, store, device, host, timeout, memory, rate)
        if way not in ("dcp", "dcp-hosts") or not folder:
            raise ValueError(f"'{change.by}' moves nothing; write etc, etc:RATE, "
                             "dcp:FOLDER or dcp-hosts:FOLDER")
        from .checkpoint import Checkpoint
        from .hostfiles import HostFiles
        files = HostFiles(store, host) if way == "dcp-hosts" else None
        return Checkpoint(folder, files, model, change, state, store, device, timeout)

    return prepare


class ByPlan:
    """Every process plans for itself; `prepare` compares what they have planned."""

    def __init__(self, change: Change, state: State, store, device: int,
                 host: Optional[str], timeout: float, memory: torch.device,
                 tail_rate: Optional[float]):
        import etc

        begin = time.monotonic()
        self.plan = etc.plan(change.request)
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
