"""Gets the next configuration ready while the current one trains."""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Optional

import torch

from .change import Change, put, scope_of, there
from .groups import Place

#: (change, state, store, device) -> an object with run() and report
Prepare = Callable


@dataclass
class Prepared:
    change: Change
    place: Optional[Place]  # None: this process leaves
    migration: Any  # with run() and report; None: nothing comes before
    seconds: Dict[str, float] = field(default_factory=dict)


class Watcher(threading.Thread):
    """Sees changes in the store and prepares them: groups, then the migration.

    `state` gives the tensors of the current configuration, which go on being trained.
    Every change has a thread and a connection of its own: where a peer died, the next
    change is prepared while the one before still waits for it.
    """

    def __init__(self, connect: Callable, device: int, epoch: int, prepare: Prepare,
                 state: Callable, timeout: float, memory: torch.device):
        super().__init__(daemon=True)
        self.connect, self.device, self.epoch = connect, device, epoch
        self.prepare, self.state, self.timeout = prepare, state, timeout
        self.memory = memory
        self.prepared: Optional[Prepared] = None
        self.begun = -1  # the epoch whose state there is
        self.stopped, self.changed = threading.Event(), threading.Condition()

    def run(self) -> None:
        store = self.connect()
        while not self.stopped.wait(0.02):
            change = Change.read(store, self.epoch)
            if change:
                self.epoch += 1
                threading.Thread(target=self.work_on, args=(change,),
                                 daemon=True).start()

    def work_on(self, change: Change) -> None:
        try:
            prepared = self.get_ready(change, self.connect())
        except (RuntimeError, TimeoutError) as error:
            # A peer died meanwhile, and another change follows.
            print(f"device {self.device}: change {change.epoch} is given up: {error}",
                  file=sys.stderr)
            return
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        with self.changed:
            if not self.prepared or self.prepared.change.epoch < change.epoch:
                self.prepared = prepared
                self.changed.notify_all()

    def get_ready(self, change: Change, store) -> Prepared:
        scope = scope_of(store, change.epoch)
        place = migration = None
        begin = time.monotonic()
        if self.device in change.devices:
            place = Place(change.configuration, change.devices, self.device, scope,
                          self.timeout, self.memory)
        grouped = time.monotonic()
        if change.moves:
            if self.device in change.prev_devices:
                self.wait_for(lambda: self.begun >= change.after)
            migration = self.prepare(change, self.state(), scope, self.device)
        done = time.monotonic()
        self.meet(change, store)
        return Prepared(change, place, migration,
                        {"groups": grouped - begin, "prepare": done - grouped})

    def meet(self, change: Change, store) -> None:
        """Until everybody is ready."""
        count = store.add(change.key(change.epoch, "ready"), 1)
        everybody = change.key(change.epoch, "everybody")
        if count == len(change.participants):
            put(store, everybody)
        end = time.monotonic() + self.timeout
        while not there(store, everybody):
            if time.monotonic() > end:
                raise TimeoutError("not all processes are ready")
            time.sleep(0.01)

    def wait_for(self, what: Callable[[], bool]) -> None:
        with self.changed:
            if not self.changed.wait_for(what, self.timeout * 2):
                raise TimeoutError("no configuration to go on with has come")

    def wait(self) -> None:
        """Until something is prepared."""
        self.wait_for(lambda: self.prepared is not None)

    def take(self) -> Prepared:
        """What is prepared, once it is."""
        self.wait()
        with self.changed:
            prepared, self.prepared = self.prepared, None
        assert prepared
        return prepared

    def began(self, epoch: int) -> None:
        with self.changed:
            self.begun = epoch
            self.changed.notify_all()

    def ready_for(self, iteration: int) -> int:
        """The epoch that could begin with this iteration; 0: none."""
        with self.changed:
            prepared = self.prepared
            if prepared and prepared.change.not_before <= iteration:
                return prepared.change.epoch
        return 0
