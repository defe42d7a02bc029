"""A job of processes that recover_faults.py drives, and what it does without a fault."""

from __future__ import annotations

import itertools
import os
import random
from typing import Any

import etc
import training
from recover_oracle import Wrong
from recover_worker import DEVICES, SHAPES, Process


class Job:
    """A process for each device; those that fail leave, and others join."""

    def __init__(self, seed: int, directory: str) -> None:
        self.random = random.Random(seed)
        self.directory = directory
        self.path = os.path.join(directory, "store")
        self.processes: dict[int, Process] = {}
        plan = etc.plan(training.REQUEST, prev=SHAPES[0], curr=SHAPES[0])
        for device in DEVICES:
            self.processes[device] = Process(device, self.path)
        self.plan = plan.to_bytes()
        self.last: dict[int, dict] = {}
        self.gone: Process | None = None
        self.groups = itertools.count()

    def start(self) -> None:
        self.tell_all("start", plan=self.plan, step=0)
        self.must_hear(self.processes)
        self.connect()

    def connect(self) -> None:
        """The trainer's group is made anew, as after each recovery."""
        path = os.path.join(self.directory, f"group{next(self.groups)}")
        self.tell_all("connect", path=path, members=sorted(self.processes))
        self.last = self.must_hear(self.processes)

    def close(self) -> None:
        for process in [*self.processes.values(), *([self.gone] if self.gone else [])]:
            process.end()

    def tell_all(self, verb: str, **arguments: Any) -> None:
        for process in self.processes.values():
            process.tell(verb, **arguments)

    def must_hear(self, processes: dict) -> dict[int, dict]:
        """What all answer, none of which is an error."""
        answers = {device: process.hear() for device, process in processes.items()}
        errors = {
            device: answer and (answer["error"], answer["message"])
            for device, answer in answers.items()
            if answer is None or answer["error"]
        }
        if errors:
            raise Wrong(f"of {sorted(processes)}: {errors}")
        return {d: answer for d, answer in answers.items() if answer is not None}

    def next_plan(self, curr: str, **fields: Any) -> bytes:
        device = next(d for d in self.processes if self.last[d]["role"])
        self.processes[device].tell(
            "plan_to", curr=curr, devices=list(self.processes), **fields
        )
        answer = self.processes[device].hear()
        if answer is None or answer["error"]:
            raise Wrong(f"plan to {curr}: {answer}")
        return answer["result"]

    def collect(self) -> dict[int, dict]:
        """What those who are left answer."""
        answers = {}
        for device, process in self.processes.items():
            answer = process.hear()
            if answer is None:
                raise Wrong(f"device {device} does not answer")
            if answer["error"] == "AssertionError":
                raise Wrong(f"device {device}: {answer}")
            answers[device] = answer
        return answers

    def verify(self) -> None:
        """All are at one step, and every element is of it; a step later, too."""
        for verb in ("check", "train", "check"):
            self.tell_all(verb)
            self.last = self.must_hear(self.processes)
            wrong = {d: a["result"] for d, a in self.last.items() if a["result"]}
            versions = {a["version"] for a in self.last.values() if a["role"]}
            if wrong or len(versions) != 1:
                raise Wrong(f"steps {versions}, wrong: {wrong}")

    def be_calm(self) -> str:
        """What a job does without a fault; any error is a false alarm."""
        what = self.random.choice(["step", "run", "tail", "recover"])
        mode = self.random.choice(["eager", "safe"])
        if what == "step":
            self.tell_all("train", steps=3)
        elif what == "recover":
            self.tell_all("recover", devices=list(DEVICES), mode=mode)
        else:
            self.change(mode, {"defer": "optimizer"} if what == "tail" else {})
        self.last = self.must_hear(self.processes)
        self.verify()
        return what

    def change(self, mode: str, fields: dict) -> None:
        plan = self.next_plan(self.random.choice(SHAPES), **fields)
        self.tell_all("prepare", plan=plan, mode=mode)
        self.must_hear(self.processes)
        self.tell_all("pause" if fields else "run")
        if fields:
            self.must_hear(self.processes)
            self.tell_all("finish", then_train=True)
