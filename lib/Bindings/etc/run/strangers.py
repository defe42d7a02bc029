"""Connections whose other side has not proven yet that it is of the job."""

from __future__ import annotations

import logging
import math
import resource
import time

from etc.run import wire
from etc.run.wire import Link

_log = logging.getLogger("etcrun")

MOST = 256


class Strangers:
    """Only so many at a time, so that descriptors are left for workers: the oldest one
    goes first. Link.open limits how long they stay, and what they say."""

    def __init__(self) -> None:
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self.most = MOST if limit < 0 else max(1, min(MOST, limit // 4))
        self._links: dict[Link, None] = {}
        self._told = -math.inf

    async def greet(self, link: Link) -> None:
        """Raises ConnectionError unless it is none."""
        if len(self._links) >= self.most:
            oldest = next(iter(self._links))
            del self._links[oldest]
            oldest.drop()
        self._links[link] = None
        try:
            await link.open()
        except (wire.Malformed, wire.Refused) as error:
            self._tell(f"{link.peer} was rejected: {error}")
            raise
        finally:
            self._links.pop(link, None)

    def _tell(self, what: str) -> None:
        """At most a line a second, whatever comes."""
        now = time.monotonic()
        if now - self._told > 1:
            self._told = now
            _log.warning("%s", what)
