"""A process of the job that recover_faults.py makes fail, and the driver's end of it."""

from __future__ import annotations

import multiprocessing
import os
import time
from typing import Any

import etc
import training

DEVICES = range(8)
SHAPES = ["PP2TP2DP2", "TP2DP4", "PP2DP4", "PP4DP2", "DP8", "PP2DP3", "TP2DP3", "DP6"]
SHAPES += ["PP2DP2", "TP2DP2", "DP4", "DP3", "DP2", "PP1"]
PATIENCE, SILENCE, TIMEOUT = 4.0, 2.0, 8.0


class Fault(Exception):
    """What a process raises when it is told to."""


class Worker:
    """One process: does what the driver says, and answers with what it holds."""

    def __init__(self, device: int, path: str) -> None:
        import torch.distributed as dist

        self.device = device
        self.store = dist.FileStore(path, len(DEVICES))
        self.job = etc.Job(self.store, device, host=training.HOST)
        self.migration: Any = None

    def serve(self, pipe: Any) -> None:
        while True:
            verb, arguments = pipe.recv()
            try:
                self.answer(pipe, None, getattr(self, verb)(**arguments))
            except Exception as error:  # noqa: BLE001
                self.answer(pipe, error, None)

    def answer(self, pipe: Any, error: Exception | None, result: Any) -> None:
        job = self.job
        role = job.plan.curr_role(self.device) if job.plan else None
        if role is not None:
            role = {k: v for k, v in role.items() if k != "rank"}
        pipe.send(
            {
                "error": type(error).__name__ if error else None,
                "message": str(error) if error else "",
                "version": job.version,
                "holds": bool(job.holdings()),
                "role": role,
                "curr": job.plan.curr if job.plan else None,
                "result": result,
            }
        )

    def start(self, plan: bytes, step: int) -> None:
        self.job = training.start(
            self.device, self.store, etc.Plan.from_bytes(plan), step
        )

    def train(self, raise_at: float | None = None) -> None:
        if self.job.plan is None:
            return training.train(self.job)
        assert self.job.version is not None
        step = self.job.version + 1
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
    ) -> None:
        import torch
        from etc.tensors import DTYPES

        calls = 0
        self.migration = None

        def allocate(kind: str, name: str, spec: Any) -> Any:
            nonlocal calls
            calls += 1
            if raise_at is not None and calls > raise_at * 20:
                raise Fault
            return torch.empty(spec.shape, dtype=DTYPES[spec.dtype])

        options: dict[str, Any] = {} if raise_at is None else {"allocate": allocate}
        if tail_rate is not None:
            options["tail_rate"] = tail_rate
        opened = etc.Plan.from_bytes(plan)
        if self.device not in opened.participants:
            return
        self.migration = self.job.prepare(
            opened, mode=mode, timeout=TIMEOUT, silence=SILENCE, **options
        )

    def run(self) -> None:
        migration, self.migration = self.migration, None
        if migration is not None:
            migration.run()

    def pause(self) -> None:
        """The part of run that training waits for. The job's state is of no step that
        a process could make until the rest is there."""
        if self.migration is None:
            return
        self.migration.run()
        if not self.job.state:
            return
        try:
            with self.job.step():
                pass
        except etc.UsageError:
            return
        raise RuntimeError("a step began while deferred state was under way")

    def finish(self) -> None:
        migration, self.migration = self.migration, None
        if migration is not None:
            migration.finish()

    def recover(self, devices: list, mode: str, **restore: Any) -> None:
        etc.recover(
            self.job,
            SHAPES,
            devices=devices,
            request=training.REQUEST,
            patience=PATIENCE,
            timeout=PATIENCE + 8,
            silence=SILENCE,
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
        return training.wrong(self.job)


def _serve(device: int, path: str, pipe: Any) -> None:
    Worker(device, path).serve(pipe)


class Process:
    """The driver's end of a worker."""

    def __init__(self, device: int, path: str) -> None:
        context = multiprocessing.get_context("fork")
        self.device = device
        self.pipe, other = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(device, path, other), daemon=True
        )
        self.process.start()
        other.close()

    def tell(self, verb: str, **arguments: Any) -> None:
        self.pipe.send((verb, arguments))

    def hear(self, timeout: float = 60) -> dict | None:
        """The answer; None if there is none."""
        try:
            return self.pipe.recv() if self.pipe.poll(timeout) else None
        except (EOFError, ConnectionResetError):
            return None

    def signal(self, number: int) -> None:
        if self.process.is_alive() and self.process.pid is not None:
            os.kill(self.process.pid, number)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()
