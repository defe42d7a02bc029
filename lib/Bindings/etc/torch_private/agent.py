"""torch's elastic agent and what starts its processes, for etcrun."""

from __future__ import annotations

import argparse
import os
import signal
import uuid
from collections.abc import Callable
from typing import Any

from torch.distributed import run as torchrun
from torch.distributed.elastic.agent.server.api import (
    RunResult,
    SimpleElasticAgent,
    WorkerGroup,
    WorkerSpec,
    WorkerState,
)
from torch.distributed.elastic.multiprocessing import (
    DefaultLogsSpecs,
    LogsSpecs,
    PContext,
    SignalException,
    Std,
    start_processes,
    to_map,
)
from torch.distributed.elastic.rendezvous.api import RendezvousHandler

__all__ = ["RunResult", "SignalException", "SimpleElasticAgent", "WorkerState"]


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """torchrun's options, by torchrun's parser."""
    parser = torchrun.get_args_parser()
    parser.prog = "etcrun"
    if "--shutdown-timeout" not in parser.format_usage():  # torch 2.8 and earlier
        parser.add_argument("--shutdown-timeout", "--shutdown_timeout", type=int)
    return parser.parse_args(arguments)


def configure(args: argparse.Namespace) -> tuple[Any, Callable[..., Any] | str, list]:
    """(torchrun's LaunchConfig, what each worker runs, its arguments)."""
    if args.master_port is None:
        args.master_port = 29500
    config, entrypoint, arguments = torchrun.config_from_args(args)
    if not hasattr(config, "shutdown_timeout"):
        config.shutdown_timeout = args.shutdown_timeout or 30
    return config, entrypoint, arguments


def parse_conf(text: str) -> dict[str, str]:
    """--rdzv-conf: key=value, with commas between."""
    from torch.distributed.elastic.rendezvous.utils import _parse_rendezvous_config

    return _parse_rendezvous_config(text)


class _NoRendezvous(RendezvousHandler):
    """Agents of etcrun meet by themselves; torch only asks for names."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id

    def get_backend(self) -> str:
        return "etc"

    def get_run_id(self) -> str:
        return self._run_id

    def next_rendezvous(self) -> Any:
        raise NotImplementedError

    def is_closed(self) -> bool:
        return False

    def set_closed(self) -> None:
        pass

    def num_nodes_waiting(self) -> int:
        return 0

    def shutdown(self) -> bool:
        return True


def make_spec(config: Any, entrypoint: Any, arguments: list) -> WorkerSpec:
    return WorkerSpec(
        role=config.role or "default",
        local_world_size=config.nproc_per_node,
        entrypoint=entrypoint,
        args=tuple(arguments),
        rdzv_handler=_NoRendezvous(config.run_id or str(uuid.uuid4())),
        max_restarts=config.max_restarts,
        monitor_interval=config.monitor_interval,
        local_addr=config.local_addr,
    )


class OneWorker:
    """One process, with torchrun's redirections. torch's contexts of several processes
    end all of them when one fails."""

    def __init__(
        self, spec: WorkerSpec, config: Any, local: int, life: int, env: dict[str, str]
    ) -> None:
        self._logs = _logs(config.logs_specs, local, life, spec.local_world_size)
        self._context: PContext = start_processes(
            name=spec.role,
            entrypoint=spec.entrypoint,
            args={0: tuple(spec.args)},
            envs={0: env},
            logs_specs=self._logs,
            log_line_prefixes=_prefixes(config, spec, local),
            start_method=config.start_method,
        )
        self.pid = self._context.pids()[0]
        self.failure: Any = None
        """torch's ProcessFailure, where it ended with one."""

    def has_ended(self) -> bool:
        result = self._context.wait(0)
        if result is None:
            return False
        self.failure = next(iter(result.failures.values()), None)
        return True

    def close(self, timeout: float) -> None:
        self._context.close(signal.SIGTERM, int(timeout))


def _logs(specs: Any, local: int, life: int, count: int) -> LogsSpecs:
    """torchrun's redirections of one local rank, in a folder of its own."""
    if type(specs) is not DefaultLogsSpecs:
        return specs
    shown = specs._local_ranks_filter
    root = specs.root_log_dir
    if root != os.devnull:
        root = os.path.join(root, f"worker_{local}", f"life_{life}")
    return DefaultLogsSpecs(
        log_dir=root,
        redirects=to_map(specs._redirects, count).get(local, Std.NONE),
        tee=to_map(specs._tee, count).get(local, Std.NONE),
        local_ranks_filter=None if shown is None or local in shown else {-1},
    )


def _prefixes(config: Any, spec: WorkerSpec, local: int) -> dict[int, str] | None:
    template = config.log_line_prefix_template
    if not template:
        return {0: f"[{spec.role}{local}]:"}
    from string import Template

    names = {"role_name": spec.role, "local_rank": local}
    return {0: Template(template).safe_substitute(names)}


class Agent(SimpleElasticAgent):
    """What SimpleElasticAgent leaves to its subclasses and etcrun does without: its
    workers do not start and stop together."""

    def __init__(self, spec: WorkerSpec, shutdown_timeout: int) -> None:
        super().__init__(spec)
        self._shutdown_timeout = shutdown_timeout

    def _start_workers(self, worker_group: WorkerGroup) -> dict[int, Any]:
        raise NotImplementedError

    def _stop_workers(self, worker_group: WorkerGroup) -> None:
        raise NotImplementedError

    def _monitor_workers(self, worker_group: WorkerGroup) -> RunResult:
        raise NotImplementedError

    def _shutdown(self, death_sig: Any = signal.SIGTERM, timeout: int = 30) -> None:
        raise NotImplementedError
