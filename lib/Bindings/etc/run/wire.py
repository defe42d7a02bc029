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
# Seconds for a stranger to prove that it is none.
PATIENCE = 5.0


class Refused(ConnectionError):
    """The other side is not of this job."""


class Link:
    """A connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self._reader = reader
        self._writer = writer

    def send(self, message: Message) -> None:
        """Without waiting: a peer that does not read is noticed by its silence."""
        if not self._writer.is_closing():
            self._writer.write(json.dumps(message).encode() + b"\n")

    async def receive(self, timeout: float | None = None) -> Message:
        """The next message. Raises ConnectionError if there is none in time."""
        try:
            line = await asyncio.wait_for(self._reader.readline(), timeout)
        except asyncio.TimeoutError:
            raise Silence(f"no sign of life for {timeout} s") from None
        except ValueError:
            raise ConnectionError(f"a message of more than {LIMIT} bytes") from None
        if not line.endswith(b"\n"):
            raise ConnectionError("the connection was closed")
        try:
            message = json.loads(line)
        except ValueError:
            raise ConnectionError("a message that is not JSON") from None
        if not isinstance(message, dict):
            raise ConnectionError("a message that is no object")
        return message

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
    opening = asyncio.open_connection(host, port, limit=LIMIT)
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


def _proof(token: str, what: str, *numbers: str) -> str:
    text = " ".join((what, *numbers)).encode()
    return hmac.new(token.encode(), text, hashlib.sha256).hexdigest()


def _check(answer: Message, proof: str) -> None:
    if not hmac.compare_digest(str(answer.get("proof")), proof):
        raise Refused("it does not know this job's token (ETC_JOB_TOKEN, --rdzv-id)")
