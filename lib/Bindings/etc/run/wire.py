"""Messages between agents, and between an agent and its workers: a JSON object a line.

Between agents they are inside TLS 1.3, and the job's token is a pre-shared key of both
sides. An agent and its workers meet at a socket in a folder that only their user can
open.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

from etc import _run
from etc.errors import PeerError, PlanError

Message = dict[str, Any]

# Bytes of a message: 1 024 members with their holdings are 250 kB.
LIMIT = 1 << 22
# What a stranger may say to prove that it is none; a few hundred bytes do.
STRANGERS_LIMIT = 1 << 12
# Seconds for that.
PATIENCE = 5.0


class Refused(ConnectionError):
    """The other side is not of this job."""


class Malformed(ConnectionError):
    """The other side said what is no message."""


class Link:
    """A connection; with `tls` that to a stranger, until it is opened."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        tls: _run.Tls | None = None,
    ):
        self._reader = reader
        self._writer = writer
        self._tls = tls
        self._arrived = bytearray()

    async def open(self) -> None:
        """Both sides prove that they know the job's token. Raises ConnectionError if
        the other one does not in time."""
        try:
            await asyncio.wait_for(self._open(), PATIENCE)
        except asyncio.TimeoutError:
            raise Silence(f"no proof of the job's token in {PATIENCE} s") from None

    async def _open(self) -> None:
        assert self._tls is not None
        left = STRANGERS_LIMIT
        self._writer.write(self._tls.take())
        while not self._tls.is_open:
            if left == 0:
                raise Malformed(f"no proof of the job's token in {STRANGERS_LIMIT} bytes")
            came = await self._reader.read(left)
            left -= len(came)
            self._arrived += self._said_in(came)

    @property
    def peer(self) -> str:
        """Where the other side is."""
        return ":".join(map(str, self._writer.get_extra_info("peername")[:2]))

    def send(self, message: Message) -> None:
        """Without waiting: a peer that does not read is noticed by its silence."""
        if self._writer.is_closing():
            return
        line = json.dumps(message).encode() + b"\n"
        if self._tls is not None:
            self._tls.send(line)
            line = self._tls.take()
        self._writer.write(line)

    async def receive(self, timeout: float | None = None) -> Message:
        """The next message. Raises ConnectionError if there is none in time."""
        try:
            line = await asyncio.wait_for(self._line(), timeout)
        except asyncio.TimeoutError:
            raise Silence(f"no sign of life for {timeout} s") from None
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            raise Malformed("a message that is not JSON") from None
        if not isinstance(message, dict):
            raise Malformed("a message that is no object")
        return message

    async def _line(self) -> bytes:
        looked = 0
        while (end := self._arrived.find(b"\n", looked)) < 0:
            looked = len(self._arrived)
            if looked > LIMIT:
                raise Malformed(f"a message of more than {LIMIT} bytes")
            self._arrived += self._said_in(await self._reader.read(1 << 16))
        line = bytes(self._arrived[:end])
        del self._arrived[: end + 1]
        if len(line) > LIMIT:
            raise Malformed(f"a message of more than {LIMIT} bytes")
        return line

    def _said_in(self, came: bytes) -> bytes:
        """What the other side said in bytes that came; b"" as long as more have to."""
        if not came:
            raise ConnectionError("the connection was closed")
        if self._tls is None:
            return came
        try:
            return self._tls.receive(came)
        except PeerError:
            raise Refused(
                "it does not know this job's token (ETC_JOB_TOKEN, --rdzv-id)"
            ) from None
        except PlanError as error:
            raise Malformed(str(error)) from None
        finally:
            self._writer.write(self._tls.take())  # its part of the handshake, or why not

    def drop(self) -> None:
        """At once, whatever is under way."""
        self._writer.transport.abort()

    def close(self) -> None:
        self._writer.close()


async def end_other_tasks() -> None:
    """Of this loop. Before Python 3.12, one that receives a message as it is cancelled
    goes on."""
    while left := asyncio.all_tasks() - {asyncio.current_task()}:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=0.1)


class Silence(ConnectionError):
    """The other side may live or not."""


def secured(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    token: str,
    accepts: bool,
) -> Link:
    """A connection to another agent, of which only its `open` may be called at first."""
    # As long as TLS wants it, whatever the token is, and another key than etc-run's.
    key = hashlib.sha256(f"etcrun {token}".encode()).hexdigest()
    return Link(reader, writer, _run.Tls(key, accepts))


async def connect(host: str, port: int, token: str) -> Link:
    """To another agent. Raises OSError, and Refused if it is of another job."""
    opening = asyncio.open_connection(host, port)
    try:
        streams = await asyncio.wait_for(opening, PATIENCE)
    except asyncio.TimeoutError:
        raise Silence(f"{host}:{port} does not answer") from None
    link = secured(*streams, token, accepts=False)
    try:
        await link.open()
    except ConnectionError:
        link.close()
        raise
    return link
