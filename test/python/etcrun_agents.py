"""Agents of etcrun without workers, in one event loop, over real sockets."""

import asyncio
import contextlib
import random
import socket
import unittest

from etc.run.council import Rules
from etc.run.members import Report
from etc.run.node import Node, Settings


def free_port():
    """Below those that the system gives to connections, which may take it again."""
    while True:
        port = random.randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


class Agents(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.endpoints = [("127.0.0.1", free_port()) for _ in range(3)]
        self.nodes, self.tasks = [], []
        for number in range(3):
            await self.start(number)
            await self.until(lambda: len(self.nodes[0]._nodes) == len(self.nodes))

    async def start(self, number, token="t"):
        address = self.endpoints[number]
        rules = Rules(1, 3)
        settings = Settings(self.endpoints, address, token, rules, silence=20.0)
        report = Report(f"n{number}", -1, "", *address, 0)
        node = Node(settings, report, lambda message: None)
        await node.serve()
        self.nodes.append(node)
        self.tasks.append(asyncio.ensure_future(node.run()))
        return self.tasks[-1]

    async def asyncTearDown(self):
        for number in range(len(self.nodes)):
            await self.end(number)

    async def end(self, number):
        """As if its process had been killed."""
        node = self.nodes[number]
        while not self.tasks[number].done():  # wait_for may lose it before Python 3.12
            self.tasks[number].cancel()
            await asyncio.wait([self.tasks[number]], timeout=1)
        node._server.close()
        node._clock.cancel()
        for link in node._links.values():
            link.close()

    async def until(self, met):
        for _ in range(600):
            if met():
                return
            await asyncio.sleep(0.05)
        self.fail("not within 30 s")
