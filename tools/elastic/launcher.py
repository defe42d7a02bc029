"""Starts the processes of a job, plans its changes, and notices who dies."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Dict, List, Optional

import etc
import torch.distributed as dist

from .change import Change, scope_of, there
from .config import Parallel
from .hosts import Hosts

# glibc keeps what a process has freed, as PyTorch's allocator of GPU memory does: to get
# memory from the system again in each iteration takes a tenth of it.
MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(1 << 34), "MALLOC_MMAP_THRESHOLD_": str(1 << 32)}


@dataclasses.dataclass
class Step:
    """An entry of a schedule: at this iteration, kill some processes, start some, or
    change. With `after`, so many iterations after the last change, and after all
    processes that were started are ready to join."""

    at: int = 0
    after: Optional[int] = None
    to: str = ""
    kill: List[int] = dataclasses.field(default_factory=list)
    start: List[int] = dataclasses.field(default_factory=list)  # devices that may join
    request: dict = dataclasses.field(default_factory=dict)  # more for etc.plan
    by: str = "etc"  # what moves the state, see movers
    stop: bool = False  # end the run, in place of a change


class Launcher:
    """`schedule` is worked off in order; `control` is a file that says the next
    configuration, read once training has begun, and again when the launcher gets SIGUSR1
    or the file changes."""

    def __init__(self, options: argparse.Namespace, hosts: Hosts):
        self.options, self.hosts = options, hosts
        self.model, self.training = options.model, options.training
        self.out = Path(options.out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.store = dist.TCPStore(hosts.launcher, 0, None, True,
                                   datetime.timedelta(seconds=300),
                                   wait_for_workers=False)
        self.workers: Dict[int, subprocess.Popen] = {}
        self.waiting: Dict[int, subprocess.Popen] = {}  # started, in no configuration
        self.starts: Dict[int, int] = {}  # how many there have been
        self.slowed = 0  # the last iteration beside which processes got ready to join
        self.schedule = [Step(**step) for step in options.schedule]
        self.dead: List[int] = []
        self.asked = False
        self.seen: Optional[int] = None  # when what has been read was written
        self.store.set("progress", "0")
        self.store.set("settings", json.dumps({
            "model": dataclasses.asdict(self.model), "out": str(self.out),
            "training": dataclasses.asdict(self.training),
            "corpus": options.corpus, "cuda": options.cuda,
            "layers": self.model.layers // Parallel.parse(options.start).pp,
            "hold": [s.at for s in self.schedule if s.to and s.after is None]}))

    def run(self) -> None:
        signal.signal(signal.SIGUSR1, lambda *_: setattr(self, "asked", True))
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        first = Parallel.parse(self.options.start)
        self.check(first)
        devices = self.options.devices or list(range(first.size))
        self.current = Change(0, str(first), devices, str(first), devices,
                              0, sorted(devices))
        self.enter(self.current)
        while self.workers:
            time.sleep(0.01)
            for follow in (self.follow_schedule, self.follow_control):
                self.reap()
                if self.workers and self.idle():  # the other may have begun a change
                    follow()

    def check(self, parallel: Parallel) -> None:
        self.model.check(parallel)
        self.training.check(parallel)

    # Processes

    def enter(self, change: Change) -> None:
        self.start(change.participants)
        self.change, self.epoch = change, change.epoch
        for device in change.participants:
            if device in self.waiting:
                self.workers[device] = self.waiting.pop(device)
                self.store.set(self.key(device), str(change.epoch))
        change.publish(self.store)

    def start(self, devices: List[int]) -> None:
        """Processes that wait to join, where a device has none."""
        for device in devices:
            if device in self.workers and device not in self.current.devices:
                self.workers.pop(device).wait()  # it has left with the last change
            if device not in self.workers and device not in self.waiting:
                self.starts[device] = self.starts.get(device, 0) + 1
                self.waiting[device] = self.process(device)

    def key(self, device: int) -> str:
        """Of the store: the epoch that the device's process is to join."""
        return f"joins/{device}/{self.starts[device]}"

    def process(self, device: int) -> subprocess.Popen:
        environment = dict(os.environ, **MEMORY, OMP_NUM_THREADS="1",
                           GLOO_SOCKET_IFNAME=self.hosts.interface)
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        return subprocess.Popen(
            [*self.hosts.command(device), sys.executable, "-m", "elastic.worker",
             f"--store={self.hosts.launcher}:{self.store.port}", f"--device={device}",
             f"--joins={self.key(device)}", f"--host={self.hosts.address(device)}"],
            env=environment)

    def reap(self) -> None:
        lost = []
        for processes in (self.workers, self.waiting):
            for device, process in list(processes.items()):
                if process.poll() is None:
                    continue
                del processes[device]
                if process.returncode > 0:
                    self.stop(f"device {device} failed; its message is above")
                elif process.returncode and processes is self.workers:
                    lost.append(device)
        if lost:
            self.survive(lost)

    def stop(self, message: str) -> None:
        self.close()
        sys.exit(f"elastic: {message}")

    def close(self) -> None:
        for process in [*self.workers.values(), *self.waiting.values()]:
            process.kill()

    # Changes

    def idle(self) -> bool:
        """The last change is over, so that another may begin."""
        if self.told(self.change, "done"):
            self.current = self.change
        return self.current is self.change

    def told(self, change: Change, what: str) -> bool:
        return there(self.store, Change.key(change.epoch, what))

    def progress(self) -> int:
        return int(self.store.get("progress"))

    def follow_schedule(self) -> None:
        if not self.schedule:
            return
        step = self.schedule[0]
        if step.kill:
            if self.progress() >= step.at:
                for device in self.schedule.pop(0).kill:
                    self.workers[device].kill()
                    self.workers[device].wait()
            return
        if step.after is not None and self.since_change() < step.after:
            return
        if step.start and self.progress() < step.at:
            return
        self.schedule.pop(0)
        if step.start:
            self.start(step.start)
        elif step.stop:
            self.close()
            self.workers = {}
        else:
            self.go_to(Parallel.parse(step.to), step)

    def since_change(self) -> int:
        """Iterations in the current configuration that no process slows down which
        gets ready to join."""
        key = Change.key(self.current.epoch, "iteration")
        begun = int(self.store.get(key)) if self.told(self.current, "iteration") else 0
        if not all(there(self.store, f"{self.key(d)}/ready") for d in self.waiting):
            self.slowed = self.progress() + 1
        return self.progress() - max(begun, self.slowed)

    def modified(self) -> Optional[int]:
        try:
            return os.stat(self.options.control).st_mtime_ns
        except (OSError, TypeError):
            return None

    def follow_control(self) -> None:
        modified = self.modified()
        if not self.asked and modified == self.seen:
            return
        if not self.progress():
            return
        self.asked, self.seen = False, modified
        try:
            parallel = Parallel.parse(Path(self.options.control).read_text().strip())
            self.check(parallel)
        except (OSError, TypeError, ValueError) as error:
            print(f"elastic: the job goes on as it is: {error}", file=sys.stderr)
            return
        if str(parallel) != self.change.parallel:
            self.go_to(parallel)

    def survive(self, lost: List[int]) -> None:
        """What is left goes on with fewer replicas, from the furthest iteration."""
        self.dead += lost
        if not self.idle():
            self.give_up_change()
        now = self.current.configuration
        left = [d for d in self.current.devices if d not in self.dead]
        if len(left) == now.size:
            return  # who died had no role yet
        keys = [f"lost/{self.current.epoch}/{device}" for device in left]
        self.store.wait(keys, datetime.timedelta(seconds=self.training.timeout * 2))
        applied = [int(self.store.get(key)) for key in keys]
        for dp in range(now.dp - 1, 0, -1):
            next_one = dataclasses.replace(now, dp=dp)
            if self.training.microbatches % dp == 0 and next_one.size <= len(left):
                return self.go_to(next_one, lost_at=max(applied))
        self.stop(f"lost device {lost[0]}, and {now} has no replica to go on with")

    def give_up_change(self) -> None:
        """One that was being prepared; who was to join begins anew with another."""
        if self.told(self.change, "iteration"):
            self.stop("a process died in the middle of a migration")
        for device in set(self.change.participants) - set(self.current.devices):
            if device in self.workers:
                process = self.workers.pop(device)
                process.kill()
                process.wait()
        self.change = self.current

    def go_to(self, parallel: Parallel, step: Step = Step(),
              lost_at: Optional[int] = None) -> None:
        self.check(parallel)
        decided = time.monotonic()
        last = self.current
        request = {
            "model": self.model.request(), "failed": self.dead,
            "prev": self.side(last.configuration, last.devices),
            "curr": self.side(parallel),
            "cluster": {"nodes": [self.hosts.per_node] * self.hosts.nodes},
            **step.request}
        plan = etc.plan(request)
        plan.save(self.out / f"{self.epoch + 1}.etcplan")
        scope = scope_of(self.store, self.epoch + 1)
        for rank, device in enumerate(plan.participants):
            scope.set(f"plan/{device}", plan.slice(rank).to_bytes())
        givers = [d for d in last.devices if d not in self.dead]
        devices = plan.placement["curr"]
        self.enter(Change(
            self.epoch + 1, str(parallel), devices, last.parallel, last.devices,
            last.epoch, sorted({*givers, *devices}), True, step.by, step.at,
            lost_at, decided, self.slowed))

    @staticmethod
    def side(parallel: Parallel, devices: Optional[List[int]] = None) -> dict:
        sizes = dataclasses.asdict(parallel)
        return {**sizes, "devices": devices} if devices else sizes
