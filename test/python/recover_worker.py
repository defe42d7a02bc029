"""A process of the job that recover_faults.py makes fail, and the driver's end of it."""

from __future__ import annotations

import collections
import multiprocessing
import multiprocessing.connection
import os
import signal
import time
from typing import Any

import etc
import ranks
import torch
import torch.distributed as dist
import training
from etc.job import Whole
from etc.plans import CURR, PREV
from recover_group import Broken, Group
from recover_oracle import Wrong

DEVICES = range(8)
DEVICES_A_NODE = 2
MEMORY = ["cpu"]
"""Where state is; "cuda" is on the doubles."""
SHAPES = ["PP2TP2DP2", "TP2DP4", "PP2DP4", "PP4DP2", "DP8", "PP2DP3", "TP2DP3", "DP6"]
SHAPES += ["PP2DP2", "TP2DP2", "DP4", "DP3", "DP2", "PP1"]
# A process imports nothing: a fork that joins is there at once.
torch.set_num_threads(1)


class Limits:
    """Of time, in seconds."""

    patience, silence, timeout, answer = 4.0, 2.0, 8.0, 60.0
    collective, notice = 4.0, 10.0

    @classmethod
    def stretch(cls, factor: float) -> None:
        """For a machine that does other things, too."""
        for name in (
            "patience",
            "silence",
            "timeout",
            "answer",
            "collective",
            "notice",
        ):
            setattr(cls, name, factor * getattr(cls, name))


class Fault(Exception):
    """What a process raises when it is told to."""


class Worker:
    """One process: does what the driver says, and answers with what it holds."""

    def __init__(self, device: int, path: str, contact: str | None) -> None:
        self.device = device
        if MEMORY == ["cuda"]:
            os.environ["NCCL_HOSTID"] = f"node {device // DEVICES_A_NODE}"
            training.take_gpu(device)
        self.store = etc.JobStore(
            None if contact else dist.FileStore(path, len(DEVICES)),
            device,
            contact=contact,
            host=training.HOST,
            silence=Limits.silence,
            timeout=Limits.answer,
        )
        self.job = training.join(device, self.store)
        self.group: Group | None = None
        self.migration: Any = None
        self.moved: Any = None  # the migration, until a recovery
        self.parameters: dict = {}
        self.steps: dict[str, int] = {}
        self.is_busy = self.is_running = False
        self.raises_idle = False
        """In `run`, of a migration in which it has no part."""
        self.took: float | None = None  # the last run

    def serve(self, pipe: Any) -> None:
        signal.signal(signal.SIGINT, self.interrupt)
        while True:
            verb, arguments = pipe.recv()
            error = result = None
            try:
                self.is_busy = True
                result = getattr(self, verb)(**arguments)
                self.is_busy = False
            except (Exception, KeyboardInterrupt) as raised:  # noqa: BLE001
                self.is_busy = False
                self.close(raised)
                error = raised
            self.answer(pipe, error, result)

    def close(self, error: BaseException) -> None:
        """A trainer that ends for its own reasons leaves its `with` statement."""
        if self.migration is not None and isinstance(error, KeyboardInterrupt):
            self.migration.close()

    def interrupt(self, *_: Any) -> None:
        """The fault "raise" while the library is at work: what Ctrl-C does."""
        if self.is_busy:
            raise KeyboardInterrupt

    def answer(self, pipe: Any, error: BaseException | None, result: Any) -> None:
        job = self.job
        roles = []
        if job.plan:
            roles = [job.plan.curr_role(d) for d in (self.device, *DEVICES)]
            roles = [r and {k: v for k, v in r.items() if k != "rank"} for r in roles]
        steps, self.steps = self.steps, {}
        members = self.store.devices
        pipe.send(
            {
                "at": time.monotonic(),
                "hub": members[0] if members else None,
                "contact": self.store.contact,
                "error": type(error).__name__ if error else None,
                "message": str(error) if error else "",
                "version": job.version,
                "generation": job.generation,
                "holds": bool(job.holdings()),
                "role": roles[0] if roles else None,
                "roles": [role for role in roles[1:] if role],
                "steps": steps,
                "took": self.took,
                "is_unreadable": self.is_unreadable() or "did not complete" in str(error),
                "is_new": self.moved.outcome == "new" if self.moved else None,
                "curr": job.plan.curr if job.plan else None,
                "result": result,
            }
        )

    def is_unreadable(self) -> bool:
        """Whether the GPU has not done what a migration began."""
        held = (self.job._migration, self.job._base)
        return any(getattr(each, "outcome", None) == "unreadable" for each in held)

    def version(self) -> int:
        version = self.job.version
        assert version is not None
        return version

    def start(self, plan: bytes, step: int) -> None:
        self.job = training.start(
            self.device, self.store, etc.Plan.from_bytes(plan), step
        )

    def connect(self, path: str, members: list) -> None:
        """The trainer's own group, a new one for those that are there."""
        self.group = None
        self.group = Group(
            path,
            members.index(self.device),
            len(members),
            training.HOST,
            Limits.collective,
        )

    def train(
        self, steps: int = 1, raise_at: float | None = None, is_late: bool = False
    ) -> None:
        """Optimizer's steps, each after a collective and of a state that is all of one
        version; one that is late ends in between."""
        for _ in range(steps):
            if self.group is not None:
                self.group.all_reduce(self.version())
            if is_late:
                raise Broken("the collective was the last thing that it did")
            self.step(raise_at)

    def step(self, raise_at: float | None) -> None:
        if self.job.plan is None:
            return training.train(self.job)
        mixed = training.wrong(self.job)
        if mixed:
            raise AssertionError(f"a step on state of two versions: {mixed}")
        self.steps["made"] = self.steps.get("made", 0) + 1
        step = self.version() + 1
        new = training.make(self.job.plan.curr_tensors(self.device), step)
        tensors = [(k, n) for k, group in self.job.state.items() for n in group]
        state = self.job.state
        with self.job.step():
            for i, (kind, name) in enumerate(tensors):
                if raise_at is not None and i >= raise_at * len(tensors):
                    raise Fault
                state[kind][name].copy_(new[kind][name])
                time.sleep(0.05 / len(tensors))

    def prepare(
        self,
        plan: bytes,
        mode: str,
        raise_at: float | None = None,
        tail_rate: float | None = None,
        round_pause: float = 0.0,
    ) -> None:
        from etc.tensors import DTYPES

        calls = 0
        self.is_running = False  # over NCCL, prepare allocates, too
        self.raises_idle = False
        self.migration = self.moved = None

        def allocate(kind: str, name: str, spec: Any) -> Any:
            nonlocal calls
            calls += self.is_running
            if raise_at is not None and calls > raise_at * 20:
                raise Fault
            dtype = DTYPES[spec.dtype]
            return torch.empty(spec.shape, dtype=dtype, device=training.memory())

        def progress(*_: Any) -> None:
            time.sleep(round_pause)

        options: dict[str, Any] = {} if raise_at is None else {"allocate": allocate}
        if round_pause:
            options["progress"] = progress
        if tail_rate is not None:
            options["tail_rate"] = tail_rate
        opened = etc.Plan.from_bytes(plan)
        if self.device not in opened.participants:
            self.raises_idle = raise_at is not None
            return
        self.migration = self.moved = self.job.prepare(
            opened, mode=mode, timeout=Limits.timeout, silence=Limits.silence, **options
        )

    def run(self) -> None:
        migration, self.migration = self.migration, None
        begin = time.monotonic()
        self.is_running = True
        if self.raises_idle:
            raise Fault
        if migration is not None:
            migration.run()
        self.took = time.monotonic() - begin

    def pause(self) -> None:
        """The part of run that training waits for."""
        self.parameters = self.migration.run() if self.migration is not None else {}
        self.must_not_step()

    def must_not_step(self) -> None:
        """Until the rest is there, and after it has failed, the job's state is of no
        step that a process could make."""
        if self.migration is None or self.migration.outcome in ("not begun", "new"):
            return
        try:
            with self.job.step():
                pass
        except etc.UsageError:
            self.steps["refused"] = self.steps.get("refused", 0) + 1
            return
        raise AssertionError("a step began while deferred state was under way")

    def compute(self, seconds: float) -> list:
        """Forward passes: what of the parameters is not right at any time; and an
        optimizer that does not wait."""
        wrong: list = []
        end = time.monotonic() + seconds
        while self.migration is not None and not wrong and time.monotonic() < end:
            specs = self.migration.plan.curr_tensors(self.device)
            expected = training.make(
                {kind: specs[kind] for kind in self.parameters}, self.version()
            )
            wrong = ranks.differences(self.parameters, expected)
            self.must_not_step()
            time.sleep(0.02)
        return wrong

    def finish(self, then_train: bool = False) -> None:
        try:
            if self.migration is not None:
                self.migration.finish()
        finally:
            self.must_not_step()
        self.migration = None
        if then_train:
            self.train()

    def held(self) -> dict:
        """{(type, name): boxes} of the previous tensors that a failed migration left,
        which are those of the step."""
        self.job._give_up("etc.recover is about to be called")
        boxes: dict[tuple[str, str], list] = {}
        for each in self.job.holdings():
            is_new = not isinstance(each, Whole) and each.outcome == "new"
            side = each.side if isinstance(each, Whole) else CURR if is_new else PREV
            specs = each.plan._specs(side, self.device)
            state, expected = {}, {}
            for kind, group in each.state.items():
                known = {n: specs[kind, n] for n in group}
                state[kind] = group
                expected.update(training.make({kind: known}, self.version()))
                for name, spec in known.items():
                    boxes.setdefault((kind, name), []).extend(spec.boxes)
            wrong = ranks.differences(state, expected)
            if wrong:
                raise AssertionError(f"previous tensors were changed: {wrong}")
        return boxes

    def recover(self, devices: list, mode: str, **restore: Any) -> None:
        self.migration = self.moved = None
        self.parameters = {}
        etc.recover(
            self.job,
            SHAPES,
            devices=devices,
            request=training.REQUEST,
            patience=Limits.patience,
            timeout=Limits.patience + Limits.timeout,
            silence=Limits.silence,
            mode=mode,
            **restore,
        )

    def plan_to(self, curr: str, devices: list, **fields: Any) -> bytes:
        failed = [d for d in DEVICES if d not in devices]
        return etc.plan(
            training.REQUEST,
            prev=self.job.plan,
            curr=curr,
            failed=failed or None,
            **fields,
        ).to_bytes()

    def fail(self) -> None:
        raise Fault

    def check(self) -> list:
        return training.wrong(self.job) + training.misuse()


def _serve(device: int, path: str, contact: str | None, pipe: Any) -> None:
    Worker(device, path, contact).serve(pipe)


class Process:
    """The driver's end of a worker."""

    totals: collections.Counter = collections.Counter()
    """What all processes have done."""

    def __init__(self, device: int, path: str, contact: str | None = None) -> None:
        context = multiprocessing.get_context("fork")
        self.device = device
        self.pipe, other = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(device, path, contact, other), daemon=True
        )
        self.process.start()
        other.close()

    def tell(self, verb: str, **arguments: Any) -> None:
        self.pipe.send((verb, arguments))

    def hear(self) -> dict | None:
        """The answer; None if there is none."""
        try:
            answer = self.pipe.recv() if self.pipe.poll(Limits.answer) else None
        except (EOFError, ConnectionResetError):
            return None
        if answer is not None:
            self.totals.update(answer["steps"])
        return answer

    def signal(self, number: int) -> None:
        if self.process.is_alive() and self.process.pid is not None:
            os.kill(self.process.pid, number)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def hear_any(processes: dict[int, Process]) -> tuple[int, dict]:
    """The first answer of several processes, and whose it is."""
    pipes = [process.pipe for process in processes.values()]
    ready = multiprocessing.connection.wait(pipes, Limits.answer)
    for device, process in processes.items():
        answer = process.hear() if process.pipe in ready else None
        if answer is not None:
            return device, answer
    raise Wrong(f"no answer from any of {sorted(processes)}")
