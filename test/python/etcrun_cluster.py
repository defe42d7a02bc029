"""Agents of etcrun on one machine, one for each address 127.0.0.x or network namespace, and what their workers log.

Agents are forked from a process that has imported torch, and fork their workers.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import pathlib
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import etc.run.main
import etc.torch
import etcrun_trainer
import torch._dynamo  # noqa: F401  (each worker would import it)
import torch.distributed.fsdp  # noqa: F401

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from elastic.hosts import Hosts  # noqa: E402

TRAINER = str(pathlib.Path(etcrun_trainer.__file__))
START = "spawn" if etcrun_trainer.DEVICE == "cuda" else "fork"
"""CUDA may not be used in a fork of a process that has asked for GPUs."""
LONG = 25.0
"""Seconds after which it is worth knowing what workers do."""


class Cluster:
    """`network` has a host for each node; by default all are this one."""

    agent_goes_on = False
    """Whether an agent that was stopped goes on when it is woken."""

    patience = 240.0
    """Seconds in which what is waited for has to happen."""

    def __init__(
        self,
        nodes: int,
        workers: int = 2,
        *,
        script: list[str],
        options: list[str],
        network: Hosts | None = None,
    ) -> None:
        self.out = pathlib.Path(tempfile.mkdtemp(prefix="etcrun-test-"))
        self.workers = workers
        self.script = script
        self.options = options
        self.network = network
        self.hosts = [f"127.0.0.{1 + number}" for number in range(nodes)]
        if network:
            self.hosts = [network.address(number) for number in range(nodes)]
        self.port = _free_port()
        self.agents: dict[int, Any] = {}
        self._offsets: dict[pathlib.Path, int] = {}
        self._events: list[dict[str, Any]] = []

    def start(self, node: int) -> None:
        """An agent, in a process group of its own: with its workers it is a host."""
        context = multiprocessing.get_context("fork")
        process = context.Process(target=self._agent, args=(node,))
        process.start()
        self.agents[node] = process

    def _agent(self, node: int) -> None:
        os.setpgrp()
        if self.network:
            self.network.enter(node)
        os.environ["OMP_NUM_THREADS"] = "1"
        log = os.open(self.out / "output", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        self._run(node)

    def _run(self, node: int) -> None:
        """The agent's program, in its process."""
        endpoints = ",".join(f"{host}:{self.port}" for host in self.hosts)
        etc.run.main.main(
            [
                f"--nproc-per-node={self.workers}",
                "--run-path",
                f"--start-method={START}",
                "--rdzv-id=test",
                f"--rdzv-endpoint={endpoints}",
                f"--local-addr={self.hosts[node]}",
                *self.options,
                TRAINER,
                f"--out={self.out}",
                *self.script,
            ]
        )

    def kill_node(self, node: int) -> None:
        os.killpg(self.agents[node].pid, signal.SIGKILL)
        self.agents[node].join()

    def stop(self) -> None:
        for process in self.agents.values():
            if process.is_alive():
                os.killpg(process.pid, signal.SIGKILL)
            process.join()

    # ---- What the workers say.

    def events(self) -> list[dict[str, Any]]:
        """All so far, in the order of their times."""
        for path in self.out.glob("*.jsonl"):
            with open(path) as file:
                file.seek(self._offsets.get(path, 0))
                lines = file.read()
            whole = lines.rpartition("\n")[0]
            self._offsets[path] = self._offsets.get(path, 0) + len(whole) + bool(whole)
            for line in whole.splitlines():
                self._events.append({"pid": int(path.stem), **json.loads(line)})
        self._events.sort(key=lambda event: event["time"])
        return self._events

    def wait_for(self, met: Callable[[], Any], what: str) -> Any:
        begin, asked = time.monotonic(), False
        while time.monotonic() < begin + self.patience:
            value = met()
            if value:
                return value
            if not asked and time.monotonic() > begin + LONG:
                asked = True
                self._ask_where()
            time.sleep(0.05)
        self._ask_where()
        time.sleep(1)
        said = self.output()[-3000:]
        raise AssertionError(f"not within {self.patience:g} s: {what}\n{said}")

    def _ask_where(self) -> None:
        """Every worker writes its stacks to the output."""
        for pid in self.living():
            os.kill(pid, signal.SIGUSR1)

    def output(self) -> str:
        path = self.out / "output"
        return path.read_text() if path.exists() else ""

    def step(self) -> int:
        """The last one that any worker has ended."""
        ended = [e["step"] for e in self.events() if e["event"] == "step"]
        return max(ended, default=-1)

    def wait_for_steps(self, more: int, size: int | None = None) -> None:
        """Of a job of that size."""
        begin = self.step()
        now = time.time()

        def met() -> bool:
            steps = [e for e in self.events() if e["event"] == "step"]
            if size is not None:
                steps = [e for e in steps if e["size"] == size and e["time"] > now]
            return bool(steps) and steps[-1]["step"] >= begin + more

        self.wait_for(met, f"{more} steps of {size or 'any number of'} members")

    def living(self) -> dict[int, int]:
        """{pid: node} of the workers."""
        found = {}
        for event in self.events():
            if event["event"] == "begin" and _lives(event["pid"], event["time"]):
                found[event["pid"]] = self.hosts.index(event["host"])
        return found

    def begun(self) -> list[int]:
        return [e["pid"] for e in self.events() if e["event"] == "begin"]

    def join(self, seconds: float = 240) -> dict[int, int]:
        """The exit status of every agent."""
        for process in self.agents.values():
            process.join(seconds)
        return {node: process.exitcode for node, process in self.agents.items()}

    def wrong_losses(self, steps: int, tolerance: float = 1e-4) -> list[str]:
        """What differs from the losses of one process that nothing interrupts."""
        seen = [e for e in self.events() if e["event"] == "step"]
        expected = etcrun_trainer.uninterrupted(max([steps - 1, self.step()]) + 1)
        wrong = [
            f"step {e['step']}: {e['loss']} on rank {e['rank']}, {expected[e['step']]}"
            for e in seen
            if abs(e["loss"] - expected[e["step"]]) > tolerance
        ]
        missing = set(range(steps)) - {e["step"] for e in seen}
        return wrong + [f"step {step} is missing" for step in sorted(missing)]

    def lost_steps(self) -> list[str]:
        """Where state was lost: a step that fails may be made again, and no earlier one."""
        newest, wrong = -1, []
        for event in self.events():
            if event["event"] == "step":
                if event["step"] < newest - 1:
                    wrong.append(f"step {event['step']} comes after step {newest}")
                newest = max(newest, event["step"])
        return wrong[:5]


def _lives(pid: int, time_of_life: float) -> bool:
    """Whether it is the process that lived then, and not a later one of that number."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return False
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    started = booted + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return fields[0] not in ("Z", "X") and started < time_of_life + 0.1


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
