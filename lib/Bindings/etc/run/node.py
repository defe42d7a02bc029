"""An agent among agents: it follows the one that leads, or leads.

The agent of the lowest number leads. Each knows the addresses of all, so that the next
one takes over where the leader is lost, and the others find it.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from etc.run import wire
from etc.run.addresses import Address
from etc.run.council import Council, Decisions, Rules
from etc.run.members import Report, World, pack, read_report, read_world
from etc.run.strangers import Strangers
from etc.run.wire import Link, Message

_log = logging.getLogger("etcrun")


@dataclass(frozen=True)
class Settings:
    """How agents meet."""

    endpoints: list[Address]
    """Where to look for the job; the agent at the first one founds it."""
    address: Address
    """At which this agent listens."""
    token: str
    rules: Rules
    silence: float = 10.0
    """Seconds without a sign of life after which an agent is given up."""
    join_timeout: float = 600.0


class Excluded(Exception):
    """The other agents went on without this one."""


class Node:
    """The connections of one agent. All of it runs in one asyncio loop."""

    def __init__(
        self,
        settings: Settings,
        report: Report,
        deliver: Callable[[Message], None],
    ) -> None:
        self.report = report
        self.world: World | None = None
        self._settings = settings
        self._deliver = deliver
        self._nodes: list[dict[str, Any]] = []
        """All agents: id, order, host, port."""
        self._lost: dict[str, bool] = {}
        """Agents that do not answer: whether they are silent only."""
        self._hung_up: set[Address] = set()
        """Leaders that closed their connection to this agent, until one is made again."""
        self._council: Council | None = None
        self._strangers = Strangers()
        self._links: dict[str, Link] = {}
        """By agent: of those that follow this one."""
        self._leader: Link | None = None
        self._leads: Address | None = None
        """Where the leader is, while this agent follows."""
        self._told: list[Any] = []
        """What followed from the last decisions."""
        self._tried = -1
        self._ticked = time.monotonic()
        self._paused = -math.inf
        """When it was stopped, or had no processor time, for a fifth of `silence`."""
        self._cut = ""
        """Why this agent must not decide any more."""

    async def serve(self) -> None:
        """Listens to other agents."""
        host, port = self._settings.address
        burst = max(1, self._strangers.most // 4)  # all are accepted before any goes
        self._server = await asyncio.start_server(
            self._accept, host, port, backlog=burst
        )
        self._clock = asyncio.ensure_future(self._tick())

    def close(self) -> None:
        """Listens no more."""
        self._server.close()

    def changed(self) -> None:
        """Something in the report is new."""
        if self._council is not None:
            self._hear(self.report)
        elif self._leader is not None:
            self._leader.send({"t": "report", "report": pack(self.report)})

    async def run(self) -> None:
        """Follows or leads until it is cancelled. Raises Excluded."""
        alone_since = time.monotonic()
        while True:
            self._check_clock()
            address = self._next_leader()
            if address is None:
                await self._lead()
            elif await self._follow(*address):
                alone_since = time.monotonic()
            elif self._nodes and (
                time.monotonic() - alone_since > 3 * self._settings.silence
            ):
                raise Excluded("this node can't reach the others any more")
            elif time.monotonic() - alone_since > self._settings.join_timeout:
                raise Excluded(f"no agent of the job answers at {self._endpoints()}")

    def _endpoints(self) -> str:
        return ", ".join(f"{host}:{port}" for host, port in self._settings.endpoints)

    # ---- Who leads.

    def _next_leader(self) -> Address | None:
        """None if it is this agent."""
        for node in self._nodes:
            if node["id"] == self.report.id:
                return None
            if node["id"] not in self._lost:
                return node["host"], node["port"]
        # Not a member yet.
        places = self._settings.endpoints
        self._tried = (self._tried + 1) % (len(places) + 1)
        if self._tried < len(places):
            return places[self._tried]
        return None if places[0] == self._settings.address else places[0]

    async def _follow(self, host: str, port: int, redirects: int = 0) -> bool:
        """Whether the agent there did lead, or the one to which it redirects."""
        if (host, port) == self._settings.address:
            return False
        try:
            link = await wire.connect(host, port, self._settings.token)
        except OSError as error:
            if isinstance(error, wire.Refused) and not self._nodes:
                raise Excluded(f"{host}:{port} rejects this agent: {error}") from None
            # The address of a container goes with it, and may be another job's.
            is_dead = isinstance(error, (ConnectionRefusedError, wire.Refused))
            self._lose(host, port, not is_dead and (host, port) not in self._hung_up)
            await asyncio.sleep(0.2)
            return False
        link.send(
            {
                "t": "report",
                "report": pack(self.report),
                "world": pack(self.world) if self.world else None,
            }
        )
        beats = asyncio.ensure_future(self._beat(link))
        did_lead = False
        try:
            while True:
                message = await self._receive(link)
                if message["t"] == "redirect":
                    await asyncio.sleep(0.2)
                    if not message["leader"] or redirects > 2:
                        return False
                    there, its_port = message["leader"]
                    return await self._follow(there, its_port, redirects + 1)
                self._cut = ""  # it decides nothing, and hears its leader
                if message["t"] != "beat":
                    did_lead = True
                    self._hung_up.discard((host, port))
                    self._leader, self._leads = link, (host, port)
                    self._obey(message)
        except (ConnectionError, OSError) as error:
            # A connection may be cut while its leader lives: then it is made again.
            is_silent = isinstance(error, wire.Silence)
            if not did_lead:
                self._lose(host, port, is_silent)
            elif isinstance(error, ConnectionError) and not is_silent:
                self._hung_up.add((host, port))
            return did_lead
        finally:
            self._leader = self._leads = None
            beats.cancel()
            link.close()

    def _lose(self, host: str, port: int, silent: bool) -> None:
        for node in self._nodes:
            if (node["host"], node["port"]) == (host, port):
                self._lost[node["id"]] = silent

    async def _beat(self, link: Link) -> None:
        while True:
            link.send({"t": "beat"})
            await asyncio.sleep(min(1.0, self._settings.silence / 4))

    def _obey(self, message: Message) -> None:
        """What the leader says."""
        if message["t"] == "view":
            self._nodes = message["nodes"]
            self._lost = {}
            # So that the job knows it even if only this agent is left.
            self.report.has_trained |= message["has_trained"]
            for node in self._nodes:
                if node["id"] == self.report.id:
                    self.report.order = node["order"]
        if message["t"] == "excluded":
            raise Excluded("the others gave this node up")
        if message["t"] in ("view", "world"):
            self._enter(read_world(message["world"]))
        else:
            self._deliver(message)

    def _enter(self, world: World | None) -> None:
        if world and (not self.world or world.generation > self.world.generation):
            self.world = world
            self._deliver({"t": "world", "world": pack(world)})

    # ---- Leading.

    async def _lead(self) -> None:
        """Raises Excluded where this agent is cut off from the others."""
        others = {n["id"] for n in self._nodes if n["id"] != self.report.id}
        council = Council(self._settings.rules, self.world, others - self._lost.keys())
        for node in self._lost.keys() & others:
            council.lost(node, self._lost[node])
        self._council, self._told = council, []
        self._hear(self.report)
        begin = cut_since = time.monotonic()
        while True:
            await asyncio.sleep(0.1)
            self._check_clock()
            now = time.monotonic()
            if now - begin > self._settings.silence:
                for node in list(council.awaited):
                    council.lost(node, True)
            if council.has_quorum:
                cut_since = now
            elif now - cut_since > self._settings.silence:
                raise Excluded("this node is cut off from most of the others")
            self._act(council.decide(now))

    async def _accept(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        link = wire.secured(reader, writer, self._settings.token, accepts=True)
        node, silent = "", False
        try:
            await self._strangers.greet(link)
            while True:
                message = await self._receive(link)
                if message["t"] != "report":
                    continue
                if self._council is None:
                    link.send({"t": "redirect", "leader": self._leads})
                    continue
                report = read_report(message["report"])
                node = report.id
                if self._links.get(node) is not link:
                    self._welcome(report, link, read_world(message.get("world")))
                self._hear(report)
        except (ConnectionError, OSError) as error:
            silent = isinstance(error, wire.Silence)
            is_follower = bool(node) and self._council is not None
            if silent and is_follower and not self._was_stopped():
                link.send({"t": "excluded"})
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            _log.warning("%s is no agent of this version: %r", link.peer, error)
        except asyncio.CancelledError:
            node = ""  # this agent ends, not that one
        finally:
            link.close()
            if node and self._links.get(node) is link:
                del self._links[node]
                self._drop(node, silent)

    def _welcome(self, report: Report, link: Link, world: World | None) -> None:
        """An agent follows from now on."""
        assert self._council is not None
        self._links[report.id] = link
        self._told = []
        asyncio.ensure_future(self._beat_while(report.id, link))
        self._council.adopt(world)
        self._enter(world)
        if report.order < 0:
            orders = [node["order"] for node in self._nodes]
            report.order = max(orders, default=-1) + 1
        self._list(report)
        self._tell_view()

    async def _beat_while(self, node: str, link: Link) -> None:
        while self._links.get(node) is link:
            link.send({"t": "beat"})
            await asyncio.sleep(min(1.0, self._settings.silence / 4))

    def _hear(self, report: Report) -> None:
        assert self._council is not None
        for node in self._nodes:
            if node["id"] == report.id:
                report.order = node["order"]
        if report is self.report and report.order < 0:
            report.order = 0
            self._list(report)
        is_known = self._council.has_trained
        self._council.update(report, time.monotonic())
        if self._council.has_trained and not is_known:
            self._tell_view()
        self._act(self._council.decide(time.monotonic()))

    def _list(self, report: Report) -> None:
        known = {
            "id": report.id,
            "order": report.order,
            "host": report.host,
            "port": report.port,
        }
        others = [node for node in self._nodes if node["id"] != report.id]
        self._nodes = sorted([*others, known], key=lambda node: node["order"])

    def _drop(self, node: str, silent: bool) -> None:
        assert self._council is not None
        self._council.lost(node, silent)
        if not silent:
            self._nodes = [n for n in self._nodes if n["id"] != node]
            self._tell_view()
        self._act(self._council.decide(time.monotonic()))

    def _tell_view(self) -> None:
        assert self._council is not None
        view = {
            "t": "view",
            "nodes": self._nodes,
            "world": pack(self.world) if self.world else None,
            "has_trained": self._council.has_trained,
        }
        self._tell(view, False)

    def _act(self, decisions: Decisions) -> None:
        if self._was_stopped():
            return
        told = [decisions.want, decisions.give_up, decisions.over, decisions.lacks]
        if decisions.world:
            self.world = decisions.world
            self._nodes = [
                node
                for node in self._nodes
                if node["id"] in self._links or node["id"] == self.report.id
            ]
            self._tell({"t": "world", "world": pack(decisions.world)})
            self._tell_view()
        elif told != self._told:
            if decisions.want:
                generation, void = decisions.want
                self._tell({"t": "want", "generation": generation, "void": void})
            if decisions.give_up:
                self._tell({"t": "give up", "members": decisions.give_up})
            if decisions.lacks:
                _log.warning("%s", decisions.lacks)
            if decisions.over:
                self._tell({"t": "over", "why": decisions.over})
        self._told = told

    def _tell(self, message: Message, here: bool = True) -> None:
        for link in self._links.values():
            link.send(message)
        if here:
            self._deliver(message)

    # ---- A node that was stopped does not know what the others did meanwhile.

    async def _tick(self) -> None:
        while True:
            self._was_stopped()
            self._ticked = time.monotonic()
            await asyncio.sleep(min(0.2, self._settings.silence / 20))

    async def _receive(self, link: Link) -> Message:
        """The next message. A time-out that passes while this agent is stopped does not
        count: from Python 3.12 on, it comes before messages that have arrived."""
        try:
            return await link.receive(self._settings.silence)
        except wire.Silence:
            self._was_stopped()
            if time.monotonic() - self._paused > self._settings.silence:
                raise
            return await link.receive(self._settings.silence)

    def _was_stopped(self) -> bool:
        stopped = time.monotonic() - self._ticked
        if stopped > 0.2 * self._settings.silence:
            self._paused = time.monotonic()
        if stopped > 0.8 * self._settings.silence and not self._cut:
            self._cut = f"this node was stopped for {stopped:.1f} s"
        return bool(self._cut)

    def _check_clock(self) -> None:
        if self._was_stopped():
            raise Excluded(self._cut)
