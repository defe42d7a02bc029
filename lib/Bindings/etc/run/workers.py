"""The workers of one agent, and what they tell it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any

from etc.run import wire
from etc.run.members import Member, Report, key_of
from etc.run.wire import Link, Message


class Workers:
    """Processes, by their number on the node. All of it runs in the agent's loop."""

    def __init__(self, report: Report, changed: Callable[[], None]) -> None:
        self._report = report
        self._changed = changed
        self._links: dict[int, Link] = {}
        self._pids: dict[int, int] = {}
        self._over: Message | None = None
        """The job is done, also for a worker that arrives later."""

    async def serve(self, path: str) -> None:
        """Listens to workers at a socket in the file system."""
        await asyncio.start_unix_server(self._accept, path)

    # ---- What the agent did.

    def expect(self, local: int, life: int) -> None:
        """A process is about to be started."""
        old = self._member(local)
        if old:
            self._report.members.remove(old)
        member = Member(local, life, draining=self._report.draining)
        self._report.members.append(member)
        self._changed()

    def started(self, local: int, pid: int) -> None:
        self._pids[local] = pid

    def exited(self, local: int) -> None:
        member = self._member(local)
        if member and member.phase != "done":
            member.phase = "dead"
        self._pids.pop(local, None)
        self._changed()

    def drain(self) -> None:
        """The node ends: its members hand over their state."""
        self._report.draining = True
        for member in self._report.members:
            self._drain(member)
        self._changed()

    def _drain(self, member: Member) -> None:
        member.draining = True
        if member.phase == "arrived" and member.layout < 0:
            self._send(member.local, {"t": "over", "why": "this node is drained"})

    # ---- What the leader says.

    def deliver(self, message: Message) -> None:
        if message["t"] == "give up":
            self._give_up(message["members"])
            return
        if message["t"] == "world":
            placed = {member["key"] for member in message["world"]["members"]}
            for member in self._report.members:
                if key_of(self._report, member) in placed:
                    if member.phase == "arrived":
                        member.phase = "active"
                    member.generation = message["world"]["generation"]
                    self._send(member.local, self._for(member, message))
            self._changed()
            return
        if message["t"] == "over":
            self._over = message
        for member in self._report.members:
            self._send(member.local, message)

    def _for(self, member: Member, message: Message) -> Message:
        return {**message, "you": key_of(self._report, member)}

    def _give_up(self, members: dict[str, str]) -> None:
        for member in self._report.members:
            why = members.get(key_of(self._report, member))
            if why and member.local in self._pids:
                self._send(member.local, {"t": "excluded", "why": why})
                os.kill(self._pids[member.local], signal.SIGKILL)

    # ---- What a worker says.

    async def _accept(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        link = Link(reader, writer)  # of the same user
        try:
            hello = await link.receive(wire.PATIENCE)
            member = self._member(hello["local"])
            if member is None or member.life != hello["life"]:
                return
            self._links[member.local] = link
            while True:
                self._hear(member, await link.receive())
        except (OSError, KeyError):
            pass  # its exit is what counts
        except asyncio.CancelledError:
            pass  # this agent ends
        finally:
            link.close()

    def _hear(self, member: Member, message: dict[str, Any]) -> None:
        kind = message.pop("t")
        if kind == "arrive":
            member.phase = "arrived"
            if self._over:
                self._send(member.local, self._over)
        elif kind == "done":
            member.phase = "done"
        elif kind == "drain":
            self._drain(member)
        for name, value in message.items():
            if hasattr(member, name):
                setattr(member, name, value)
        self._report.has_trained |= member.version > 0
        if member.phase == "arrived" and member.draining:
            self._drain(member)
        self._changed()

    def _send(self, local: int, message: Message) -> None:
        link = self._links.get(local)
        if link is not None:
            link.send(message)

    def _member(self, local: int) -> Member | None:
        return next((m for m in self._report.members if m.local == local), None)
