"""torchrun's agent, except that nothing ends a worker but its own end.

One worker's death leaves the others of its node alive; a SIGTERM to the agent drains
its workers, which hand over their state; an agent whose workers have ended waits for
nobody.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import tempfile
import threading
import time
import uuid
from typing import Any

from etc.run import wire
from etc.run.addresses import interface_of
from etc.run.members import Report
from etc.run.node import Excluded, Node, Settings
from etc.run.workers import Workers
from etc.torch_private.agent import (
    Agent,
    OneWorker,
    RunResult,
    SignalException,
    WorkerState,
    make_spec,
)
from etc.torch_private.stores import serve_store

_log = logging.getLogger("etcrun")


class EtcAgent(Agent):
    """The workers of one node, and its part in the job's membership."""

    def __init__(
        self, config: Any, entrypoint: Any, arguments: list, settings: Settings
    ) -> None:
        spec = make_spec(config, entrypoint, arguments)
        super().__init__(spec, shutdown_timeout=config.shutdown_timeout)
        self._config = config
        self._spec = spec
        self._settings = settings
        self._grace: float = config.shutdown_timeout
        self._running: dict[int, OneWorker] = {}
        self._lives: dict[int, int] = {}
        self._stopped_since: dict[int, float] = {}
        self._failures: dict[int, Any] = {}
        self._finished = 0
        self._drains_until: float | None = None
        self._excluded = ""
        self._folder = tempfile.mkdtemp(prefix="etcrun-")
        host, port = settings.address
        # Of the generations in which rank 0 is on this node: each has a prefix.
        self._store = serve_store(host)
        report = Report(
            id=uuid.uuid4().hex,
            order=-1,
            name=os.uname().nodename,
            host=host,
            port=port,
            store_port=self._store.port,
        )
        self._workers = Workers(report, lambda: self._node.changed())
        self._node = Node(settings, report, self._workers.deliver)
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None

    def drain_within(self, seconds: float) -> None:
        """How long a drain may take after SIGTERM."""
        self._grace = min(self._grace, seconds)

    # ---- What SimpleElasticAgent.run calls.

    def _invoke_run(self, role: str = "default") -> RunResult:
        served = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(served,), daemon=True)
        self._thread.start()
        served.wait()
        for local in range(self._spec.local_world_size):
            self._start(local)
        while self._running:
            try:
                time.sleep(self._spec.monitor_interval)
                self._look()
            except SignalException:  # as torch starts a process
                self._begin_drain(signal.SIGTERM, None)
        self._say_goodbye()
        failed = bool(self._failures) and not self._finished
        return RunResult(
            state=WorkerState.FAILED if failed else WorkerState.SUCCEEDED,
            failures=self._failures if failed else {},
            return_values={},
        )

    def _shutdown(self, death_sig: Any = signal.SIGTERM, timeout: int = 30) -> None:
        for worker in self._running.values():
            worker.close(timeout)
        self._running.clear()
        self._loop.call_soon_threadsafe(self._loop.stop)
        if self._thread is not None:
            self._thread.join(5)  # or asyncio names what it left behind
        shutil.rmtree(self._folder, ignore_errors=True)

    def _record_worker_events(self, result: RunResult) -> None:
        pass  # they are of a group that starts and stops together

    # ---- Processes.

    def _start(self, local: int) -> None:
        life = self._lives[local] = self._lives.get(local, -1) + 1
        self._call(lambda: self._workers.expect(local, life))
        try:
            worker = OneWorker(
                self._spec, self._config, local, life, self._env(local, life)
            )
        finally:
            for name in ("SIGTERM", "SIGINT"):
                signal.signal(getattr(signal, name), self._begin_drain)
        self._running[local] = worker
        self._call(lambda: self._workers.started(local, worker.pid))

    def _env(self, local: int, life: int) -> dict[str, str]:
        """Nothing that a change makes wrong: no rank, no size, no store."""
        env = {
            "LOCAL_RANK": str(local),
            "LOCAL_WORLD_SIZE": str(self._spec.local_world_size),
            "ROLE_NAME": self._spec.role,
            "TORCHELASTIC_RUN_ID": self._spec.rdzv_handler.get_run_id(),
            "TORCHELASTIC_RESTART_COUNT": str(life),
            "TORCHELASTIC_MAX_RESTARTS": str(self._spec.max_restarts),
            "ETC_AGENT": self._socket,
            "ETC_WORKER": f"{local}/{life}",
            "ETC_HOST": self._settings.address[0],
        }
        # Gloo would take the address of the host's name, which may be 127.0.0.1.
        interface = interface_of(self._settings.address[0])
        if interface and "GLOO_SOCKET_IFNAME" not in os.environ:
            env["GLOO_SOCKET_IFNAME"] = interface
        if "OMP_NUM_THREADS" in os.environ:
            env["OMP_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"]
        return env

    @property
    def _socket(self) -> str:
        return os.path.join(self._folder, "agent")

    def _look(self) -> None:
        """After the workers, the drain, and the other agents."""
        for local, worker in list(self._running.items()):
            if worker.has_ended():
                self._ended(local, worker)
            elif self._is_stopped(local, worker.pid):
                _log.warning("worker %d was stopped, and is given up", local)
                os.kill(worker.pid, signal.SIGKILL)
        if self._drains_until is not None and time.monotonic() > self._drains_until:
            _log.warning("the drain took longer than %g s", self._grace)
            self._kill()
        if self._excluded:
            self._kill()

    def _ended(self, local: int, worker: OneWorker) -> None:
        del self._running[local]
        self._stopped_since.pop(local, None)
        self._call(lambda: self._workers.exited(local))
        if worker.failure is None:
            self._finished += 1
            return
        self._failures[local] = worker.failure
        code = worker.failure.exitcode
        is_wanted = self._drains_until is None and not self._excluded
        if is_wanted and self._lives[local] < self._spec.max_restarts:
            _log.warning("worker %d ended with %s; another comes for it", local, code)
            self._start(local)
        else:
            _log.warning("worker %d ended with %s; the others go on", local, code)

    def _is_stopped(self, local: int, pid: int) -> bool:
        """Whether it was stopped (SIGSTOP, a debugger) for longer than others wait."""
        try:
            with open(f"/proc/{pid}/stat") as file:
                state = file.read().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            state = ""
        if state not in ("T", "t"):
            self._stopped_since.pop(local, None)
            return False
        since = self._stopped_since.setdefault(local, time.monotonic())
        return time.monotonic() - since > self._settings.silence

    def _kill(self) -> None:
        for worker in self._running.values():
            os.kill(worker.pid, signal.SIGKILL)

    def _begin_drain(self, number: int, frame: Any) -> None:
        """The node is to end (SIGTERM, SIGINT)."""
        if self._drains_until is None:
            self._drains_until = time.monotonic() + self._grace
            self._loop.call_soon_threadsafe(self._workers.drain)

    # ---- The loop, in a thread of its own.

    def _serve(self, served: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._workers.serve(self._socket))
        self._loop.run_until_complete(self._node.serve())
        served.set()
        self._loop.create_task(self._meet())
        self._loop.run_forever()
        self._node.close()
        self._loop.run_until_complete(wire.end_other_tasks())

    async def _meet(self) -> None:
        try:
            await self._node.run()
        except Excluded as error:
            self._excluded = str(error)
            _log.error("%s", error)

    def _call(self, function: Any) -> None:
        """In the loop, and waits for it."""

        async def call() -> None:
            function()

        asyncio.run_coroutine_threadsafe(call(), self._loop).result(30)

    def _say_goodbye(self) -> None:
        """Others wait for nobody once they know that these workers have ended."""

        async def flush() -> None:
            self._node.changed()
            await asyncio.sleep(0.2)

        asyncio.run_coroutine_threadsafe(flush(), self._loop).result(30)
