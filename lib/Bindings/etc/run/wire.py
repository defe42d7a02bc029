"""Messages between agents, and between an agent and its workers: a JSON object a line.

Between agents both sides prove first that they know the job's token, each with a number
of its own: what was recorded is of no use later. An agent and its workers meet at a
socket in a folder that only their user can open.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import secrets
from typing import Any

Message = dict[str, Any]

# Bytes of a message: 1 024 members with their holdings are 250 kB.
LIMIT = 1 << 22
# The same of one from a stranger: a number and a proof.
STRANGERS_LIMIT = 1 << 12
# Seconds for a stranger to prove that it is none.
PATIENCE = 5.0


class Refused(ConnectionError):
    """The other side is not of this job."""


class Malformed(ConnectionError):
    """The other side said what is no message."""


class Link:
    """A connection, to a stranger until `trust`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self._reader = reader
        self._writer = writer
        self._arrived = bytearray()
        self._limit = STRANGERS_LIMIT

    def trust(self) -> None:
        """From now on its messages may be long."""
        self._limit = LIMIT

    @property
    def peer(self) -> str:
        """Where the other side is."""
        return ":".join(map(str, self._writer.get_extra_info("peername")[:2]))

    def send(self, message: Message) -> None:
        """Without waiting: a peer that does not read is noticed by its silence."""
        if not self._writer.is_closing():
            self._writer.write(json.dumps(message).encode() + b"\n")

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
        """StreamReader's own has the same limit for everybody."""
        looked = 0
        while (end := self._arrived.find(b"\n", looked)) < 0:
            looked = len(self._arrived)
            if looked > self._limit:
                raise Malformed(f"a message of more than {self._limit} bytes")
            if not (more := await self._reader.read(1 << 16)):
                raise ConnectionError("the connection was closed")
            self._arrived += more
        line = bytes(self._arrived[:end])
        del self._arrived[: end + 1]
        if len(line) > self._limit:
            raise Malformed(f"a message of more than {self._limit} bytes")
        return line

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


async def connect(host: str, port: int, token: str) -> Link:
    """To another agent. Raises OSError, and Refused if it is of another job."""
    opening = asyncio.open_connection(host, port)
    try:
        link = Link(*await asyncio.wait_for(opening, PATIENCE))
    except asyncio.TimeoutError:
        raise Silence(f"{host}:{port} does not answer") from None
    try:
        theirs = str((await link.receive(PATIENCE)).get("number"))
        mine = secrets.token_hex(16)
        proof = _proof(token, "joins", theirs, mine)
        link.send({"number": mine, "proof": proof})
        answer = await link.receive(PATIENCE)
        _check(answer, _proof(token, "accepts", theirs, mine))
    except ConnectionError:
        link.close()
        raise
    link.trust()
    return link


async def accept(link: Link, token: str) -> None:
    """Raises ConnectionError unless the other side knows the token."""
    mine = secrets.token_hex(16)
    link.send({"number": mine})
    answer = await link.receive(PATIENCE)
    theirs = str(answer.get("number"))
    try:
        _check(answer, _proof(token, "joins", mine, theirs))
    except Refused:
        link.send({"proof": ""})  # so that a wrong token has a message
        raise
    link.send({"proof": _proof(token, "accepts", mine, theirs)})
    link.trust()


def _proof(token: str, what: str, *numbers: str) -> str:
    text = " ".join((what, *numbers)).encode()
    return hmac.new(token.encode(), text, hashlib.sha256).hexdigest()


def _check(answer: Message, proof: str) -> None:
    if not hmac.compare_digest(str(answer.get("proof")), proof):
        raise Refused("it does not know this job's token (ETC_JOB_TOKEN, --rdzv-id)")
