"""One process of the job, on one device, in whatever role it has."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import multiprocessing
import os
import sys
import threading
import time
from typing import Any, List, NamedTuple, Optional

import torch
import torch.distributed as dist

from . import adam, movers
from .change import Change, put
from .config import Model, Parallel, Training
from .data import Corpus
from .groups import Place
from .iteration import Gradients, Iteration
from .model import Stage
from .tensors import State, first_state
from .watcher import Prepared, Watcher


class Pending(NamedTuple):
    """What an iteration computed, until all processes have as much."""

    begin: float
    gradients: Gradients
    losses: List[float]


class Worker:
    """`options` say the store, the device, the host, and the key of the store with the
    configuration to begin with, for which the process waits when it is ready."""

    def __init__(self, options: argparse.Namespace):
        self.device = options.device
        host, port = options.store.rsplit(":", 1)
        limit = datetime.timedelta(seconds=300)

        def connect() -> dist.TCPStore:
            return dist.TCPStore(host, int(port), None, False, limit)

        self.store = connect()
        settings = json.loads(self.store.get("settings"))
        self.model = Model(**settings["model"])
        self.training = Training(**settings["training"])
        self.corpus = Corpus(settings["corpus"])
        self.hold = settings["hold"]  # iterations that wait for a scheduled change
        self.state: State = {}
        self.iteration = 0
        self.place: Optional[Place] = None
        self.unfinished: Any = None  # a migration, until the first step has gradients
        self.pending: Any = None  # an iteration's work that nobody may have applied
        self.marks = {}
        self.log = open(os.path.join(settings["out"], f"{self.device}.jsonl"), "a")
        self.memory = torch.device("cpu")
        if settings["cuda"]:
            self.memory = torch.device("cuda", self.device % torch.cuda.device_count())
            torch.cuda.set_device(self.memory)
        prepare = movers.preparer(self.model, options.host, self.training.timeout,
                                  self.memory)
        self.rehearse(settings["layers"])
        put(self.store, f"{options.joins}/ready")
        # It may be long until it is needed; the store alone would wait five minutes.
        self.store.wait([options.joins], datetime.timedelta(days=1))
        self.epoch = int(self.store.get(options.joins))
        self.watcher = Watcher(connect, self.device, self.epoch, prepare,
                               lambda: self.state, self.training.timeout,
                               self.memory)

    def tell(self, event: str, **what) -> None:
        self.log.write(json.dumps({"event": event, **what}) + "\n")
        self.log.flush()

    def run(self) -> None:
        self.tell("start", device=self.device, pid=os.getpid(), epoch=self.epoch)
        self.watcher.start()
        self.begin(self.watcher.take())
        while self.place and self.iteration < self.training.iterations:
            try:
                self.step()
            except RuntimeError as error:
                self.recover(error)
        self.tell("end", iteration=self.iteration)
        self.watcher.stopped.set()
        self.watcher.join()

    def rehearse(self, layers: int) -> None:
        """An iteration of a stage as large as those of the first configuration: what a
        process does for the first time, and memory that it touches for the first time,
        take long, and those who join would make the others wait."""
        model = dataclasses.replace(self.model, layers=layers)
        training = dataclasses.replace(self.training, microbatches=8)
        alone = Place(Parallel(), [0], 0, None, 0, self.memory)
        state = first_state(model, alone.parallel, alone.role, 0, self.memory)
        work = Iteration(Stage(model, alone), alone, training, self.corpus, state, 0)
        adam.apply(state, work.run()[0], 0, training)
        # PyTorch imports SymPy when gradients first come from another stage: 0.3 s,
        # which those who join would need one after the other, along the pipeline.
        leaf = torch.ones(1, requires_grad=True)
        torch.autograd.backward(2 * leaf, torch.ones(1))

    def step(self) -> None:
        assert self.place
        begin = time.monotonic()
        work = Iteration(self.stage, self.place, self.training, self.corpus,
                         self.state, self.iteration)
        self.pending = Pending(begin, *work.run())
        next_epoch = self.agree()
        self.finish()
        end = self.apply()
        if next_epoch:
            self.switch(end)

    def agree(self) -> int:
        """Until all have their gradients. The epoch that all can go on with; 0: none.

        Whoever comes back knows that every process could apply this iteration, and
        whoever fails here knows that it can, too: `recover` relies on both.
        """
        if self.iteration + 1 in self.hold:
            self.watcher.wait()
        epoch = torch.tensor([self.watcher.ready_for(self.iteration + 1)],
                             device=self.memory)
        if self.place.world:
            self.place.world.all_reduce(epoch, dist.ReduceOp.MIN)
        return int(epoch)

    def finish(self) -> None:
        """What follows the parameters is there before anything is changed."""
        if not self.unfinished:
            return
        waits = time.monotonic()
        migration, self.unfinished = self.unfinished, None
        self.state = migration.finish()
        self.marks.update(waits=waits, finished=time.monotonic(),
                          report=migration.report)
        if self.place:
            self.complete()

    def complete(self) -> None:
        """The state of this configuration is there, and the next change may come."""
        self.watcher.began(self.epoch)
        if self.place.rank == 0 and self.epoch > 0:
            put(self.store, Change.key(self.epoch, "done"))

    def apply(self) -> float:
        """The iteration counts, and is told of; when it ended."""
        work, self.pending = self.pending, None
        adam.apply(self.state, work.gradients, self.iteration, self.training)
        self.iteration += 1
        end = time.monotonic()
        self.report(work.begin, end, work.losses)
        return end

    def report(self, begin: float, end: float, losses: List[float]) -> None:
        what = {"iteration": self.iteration, "begin": begin, "end": end,
                "held": self.iteration in self.hold}
        # Every replica tells the loss: the first may die before it does.
        if self.place.last_stage and self.place.role.tensor == 0:
            what["loss"] = sum(losses) / len(losses)
        self.tell("step", **what)
        if self.marks:
            self.tell("change", **self.marks, first_step=end)
            self.marks = {}
        if self.place.rank == 0:
            self.store.set("progress", str(self.iteration))

    def switch(self, end: float) -> None:
        """From the last step of one configuration to before the first of the next."""
        prepared = self.watcher.take()
        if self.place.rank == 0:  # those who join learn where the others are
            put(self.store, Change.key(prepared.change.epoch, "iteration"),
                str(self.iteration))
        if self.place.world:
            self.place.world.barrier()
        self.marks = {"last_step": end}
        self.begin(prepared)

    def begin(self, prepared: Prepared) -> None:
        change = prepared.change
        joining = not self.state and change.epoch > 0
        if joining:
            self.iteration = int(
                self.store.get(Change.key(change.epoch, "iteration")))
        quiet = time.monotonic()
        if prepared.migration:
            self.state = prepared.migration.run()
            if prepared.migration.deferred:
                self.unfinished = prepared.migration
        moved = time.monotonic()
        old, self.place = self.place, prepared.place
        if old:  # not here: to close many connections takes a while
            threading.Thread(target=old.close).start()
        self.epoch = change.epoch
        if prepared.migration:
            self.marks.update(
                epoch=change.epoch, configuration=change.parallel, joining=joining,
                decided=change.decided, slowed=change.slowed,
                pid=os.getpid(), iteration=self.iteration, quiet=quiet, moved=moved,
                prepared=prepared.seconds, report=prepared.migration.report)
        if not self.place:
            self.finish()
            self.tell("leave", **self.marks)
            return
        if change.epoch == 0:
            self.state = first_state(self.model, self.place.parallel, self.place.role,
                                     self.training.seed, self.memory)
        self.stage = Stage(self.model, self.place)
        if prepared.migration:
            self.marks.update(rewired=time.monotonic(), role=str(self.place.role))
        if not self.unfinished:
            self.complete()

    def recover(self, error: RuntimeError) -> None:
        """A peer is gone: with the others, go on from the last iteration of all."""
        if self.unfinished:
            raise error  # in the middle of a migration
        failed = time.monotonic()
        self.tell("lost", iteration=self.iteration, error=str(error).split("\n")[0])
        self.place.close()
        self.store.set(f"lost/{self.epoch}/{self.device}", str(self.iteration))
        prepared = self.watcher.take()
        while prepared.change.lost_at is None:
            prepared = self.watcher.take()
        if prepared.change.lost_at > self.iteration:
            self.apply()
        self.pending = None
        self.marks = {"last_step": failed}
        self.begin(prepared)


def main(arguments: Optional[List[str]] = None) -> None:
    parser = argparse.ArgumentParser(prog="elastic.worker", description=__doc__)
    parser.add_argument("--store", required=True, help="ADDRESS:PORT of the launcher")
    parser.add_argument("--device", type=int, required=True)
    parser.add_argument("--joins", required=True, help="key of the epoch to begin with")
    parser.add_argument("--host", help="own address")
    torch.set_num_threads(1)
    Worker(parser.parse_args(arguments)).run()
    sys.stdout.flush()
    # To tear the interpreter down takes a processor from those who train on, if there
    # are more processes than processors: a quarter of a second from their first step
    # for each process that leaves. Megatron-Core's helper would then be left behind.
    for child in multiprocessing.active_children():
        child.terminate()
    os._exit(0)


if __name__ == "__main__":
    main()
