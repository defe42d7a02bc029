"""Whoever does not know the job's token does no harm to its agents, and learns nothing."""

import asyncio
import contextlib
import json
import ssl
import unittest
import unittest.mock

from etc.run import wire
from etc.run.node import Excluded
from etcrun_agents import Agents, free_port


class Recorder:
    """Stands between two agents, and keeps all that they say."""

    def __init__(self, address):
        self.address = address
        self.said = []  # by those that connect, a connection each
        self.answered = []

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_):
        self._server.close()

    @property
    def port(self):
        return self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader, writer):
        there, back = await asyncio.open_connection(*self.address)
        self.said.append(bytearray())
        self.answered.append(bytearray())
        await asyncio.gather(
            self._pass(reader, back, self.said[-1]),
            self._pass(there, writer, self.answered[-1]),
        )

    async def _pass(self, reader, writer, kept):
        with contextlib.suppress(ConnectionError):
            while came := await reader.read(1 << 16):
                kept += came
                writer.write(came)
        writer.close()


async def answer_to(address, *said):
    """What an agent answers until it closes the connection."""
    reader, writer = await asyncio.open_connection(*address)
    answer = b""
    with contextlib.suppress(ConnectionError):
        for each in said:
            writer.write(each)
            await writer.drain()
        while came := await asyncio.wait_for(reader.read(1 << 16), 60):
            answer += came
    writer.close()
    return answer


class Strangers(Agents):
    def assert_unharmed(self, count=3):
        self.assertEqual([len(node._nodes) for node in self.nodes], [count] * count)
        self.assertFalse(any(task.done() for task in self.tasks))

    async def record(self, number):
        """An agent joins, as somebody sees who stands before the leader."""
        connect = wire.connect
        async with Recorder(self.endpoints[0]) as recorder:

            async def connect_there(host, port, token):
                return await connect("127.0.0.1", recorder.port, token)

            with unittest.mock.patch.object(wire, "connect", connect_there):
                self.endpoints.append(("127.0.0.1", free_port()))
                await self.start(number)
                await self.until(lambda: len(self.nodes[number]._nodes) == number + 1)
        return recorder

    async def test_nothing_is_read_in_between(self):
        lines = []

        def dumps(message, dumps=json.dumps):
            lines.append(dumps(message))
            return lines[-1]

        with unittest.mock.patch.object(wire.json, "dumps", dumps):
            recorder = await self.record(3)
        # At least 6 bytes each: random ones hold shorter texts every now and then.
        for text in ('{"t": "', '"report"', '"world"', "127.0.0.1"):
            self.assertTrue(any(text in line for line in lines), text)
            for stream in (recorder.said[0], recorder.answered[0]):
                self.assertGreater(len(stream), 500)
                self.assertNotIn(text.encode(), stream)

    async def test_what_was_recorded_is_of_no_use(self):
        recorder = await self.record(3)
        await self.end(3)
        self.nodes.pop()
        self.tasks.pop()
        await self.until(lambda: len(self.nodes[0]._nodes) == 3)
        with self.assertLogs("etcrun") as logs:
            answer = await answer_to(self.endpoints[0], bytes(recorder.said[0]))
        self.assertIn("was rejected", logs.output[0])
        self.assertNotEqual(answer[:200], bytes(recorder.answered[0][:200]))
        self.assert_unharmed()

    async def test_another_job_is_rejected(self):
        self.endpoints.append(("127.0.0.1", free_port()))
        with self.assertLogs("etcrun") as logs:
            with self.assertRaisesRegex(Excluded, "does not know this job's token"):
                await (await self.start(3, token="another"))
        self.assertIn("does not know this job's token", logs.output[0])

    async def test_another_job_at_the_address_of_a_leader_that_ended_ends_nobody(self):
        connect = wire.connect

        async def connect_to_others(host, port, token):
            if (host, port) == self.endpoints[0]:
                raise wire.Refused("it does not know this job's token")
            return await connect(host, port, token)

        with unittest.mock.patch.object(wire, "connect", connect_to_others):
            await self.end(0)
            await self.until(lambda: list(self.nodes[1]._links) == ["n2"])
        self.assertFalse(any(task.done() for task in self.tasks[1:]))

    async def test_what_is_not_tls_is_rejected_with_a_line(self):
        for said in (
            b'{"number": "1", "proof": "2"}\n{"t": "report"}\n',
            b"GET / HTTP/1.1\r\n\r\n",
            b"[" * 200_000 + b"\n",
            b"\xff\xfe\n" * 100,
            b"\0" * 5000,
        ):
            with self.subTest(said[:9]), self.assertLogs("etcrun") as logs:
                self.nodes[0]._strangers._told = 0.0
                answer = await answer_to(self.endpoints[0], said)
                self.assertLess(len(answer), 20)  # an alert
                self.assertRegex(logs.output[0], "127.0.0.1:.* was rejected: what came")
                self.assertEqual(len(logs.output), 1)
        self.assert_unharmed()

    async def test_a_handshake_has_few_bytes(self):
        """A record of which the rest never comes is not kept for long."""
        hello = b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03"
        with self.assertLogs("etcrun") as logs:
            await answer_to(self.endpoints[0], hello, bytes(8000))
        self.assertRegex(logs.output[0], "rejected: .*in 4096 bytes|rejected: what came")
        self.assert_unharmed()

    async def test_tls_without_the_token_is_rejected(self):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with self.assertLogs("etcrun") as logs:
            with self.assertRaises(OSError):
                await asyncio.open_connection(*self.endpoints[0], ssl=context)
            await self.until(lambda: not self.nodes[0]._strangers._links)
        self.assertIn("not TLS 1.3 with a shared secret", logs.output[0])
        self.assert_unharmed()

    async def test_half_of_a_handshake_ends(self):
        """With the job's token or not: who says no more is closed, without a line."""
        with unittest.mock.patch.object(wire, "PATIENCE", 0.3):
            for token in ("t", "another"):
                hello = wire.secured(None, None, token, accepts=False)._tls.take()
                for size in (0, 5, len(hello) // 2):
                    self.assertEqual(
                        await answer_to(self.endpoints[0], hello[:size]), b""
                    )
            hello = wire.secured(None, None, "t", accepts=False)._tls.take()
            answer = await answer_to(self.endpoints[0], hello)
        self.assertNotEqual(answer, b"")
        await self.until(lambda: not self.nodes[0]._strangers._links)
        self.assert_unharmed()

    async def test_silent_strangers_leave_descriptors(self):
        """The oldest ones go, and members come in."""
        strangers = self.nodes[0]._strangers
        self.assertLessEqual(strangers.most, 256)
        strangers.most = 8
        silent = [await asyncio.open_connection(*self.endpoints[0]) for _ in range(40)]
        for reader, _ in silent[:32]:
            with contextlib.suppress(ConnectionError):
                self.assertEqual(await asyncio.wait_for(reader.read(), 3), b"")
        self.assertEqual(len(strangers._links), 8)
        self.endpoints.append(("127.0.0.1", free_port()))
        await self.start(3)
        await self.until(lambda: len(self.nodes[0]._nodes) == 4)
        for _, writer in silent:
            writer.close()

    async def test_500_silent_connections(self):
        strangers = self.nodes[0]._strangers
        most = 0
        silent = []
        for _ in range(20):
            opening = [asyncio.open_connection(*self.endpoints[0]) for _ in range(25)]
            silent += await asyncio.gather(*opening)
            most = max(most, len(strangers._links))
        self.endpoints.append(("127.0.0.1", free_port()))
        await self.start(3)
        await self.until(lambda: len(self.nodes[0]._nodes) == 4)
        self.assertLessEqual(most, strangers.most)
        await self.until(lambda: len(self.nodes[3]._nodes) == 4)
        self.assert_unharmed(4)
        for _, writer in silent:
            writer.close()


if __name__ == "__main__":
    unittest.main()
