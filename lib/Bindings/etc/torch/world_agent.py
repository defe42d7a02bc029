"""The connection of a worker to its agent, and what the agent said last."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket
import threading
from collections.abc import Callable
from typing import Any

from etc.errors import Excluded, UsageError


class AgentLink:
    """A thread reads; everything else is for the trainer's thread."""

    def __init__(self, voided: Callable[[int], None]) -> None:
        """`voided` is called in the reading thread: nothing in that generation ends."""
        path = os.environ.get("ETC_AGENT")
        if not path:
            raise UsageError("World: this process has no agent; start it by etcrun")
        local, life = os.environ["ETC_WORKER"].split("/")
        self.wanted = 0
        """The generation after which another one is wanted."""
        self._voided = voided
        self._worlds: queue.Queue[dict[str, Any]] = queue.Queue()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self.send({"local": int(local), "life": int(life)})
        threading.Thread(target=self._read, daemon=True, name="etc-world").start()

    def send(self, message: dict[str, Any]) -> None:
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            pass  # the reading thread knows

    def wait(self) -> dict[str, Any] | None:
        """The next world; None if there will be none for this process.

        Raises Excluded if the others go on without it."""
        message = self._worlds.get()
        if message["t"] == "world":
            return message
        if message["t"] == "over":
            return None
        raise Excluded(message["why"])

    def _read(self) -> None:
        gone = "its agent is gone; the others go on without this process"
        try:
            for line in self._socket.makefile("rb"):
                message = json.loads(line)
                if message["t"] == "want":
                    self._want(message["generation"], message["void"])
                else:
                    self._worlds.put(message)
        except (OSError, ValueError):
            pass
        self._worlds.put({"t": "excluded", "why": gone})
        self._want(1 << 62, True)

    def _want(self, generation: int, void: bool) -> None:
        self.wanted = max(self.wanted, generation)
        if void:
            with contextlib.suppress(Exception):  # what hangs ends at its time-out
                self._voided(generation)
