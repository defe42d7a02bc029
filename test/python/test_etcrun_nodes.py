"""Agents find each other, and again after a connection or the leader is lost: over sockets, without workers."""

import asyncio
import tempfile
import unittest
import unittest.mock

from etc.run import wire
from etc.run.addresses import interface_of, read_endpoints
from etc.run.members import Report
from etc.run.node import Excluded
from etc.run.workers import Workers
from etcrun_agents import Agents, free_port


class Meeting(Agents):
    async def test_the_first_one_leads(self):
        self.assertEqual(sorted(self.nodes[0]._links), ["n1", "n2"])
        self.assertEqual([n.report.order for n in self.nodes], [0, 1, 2])

    async def test_all_know_that_the_job_has_made_a_step(self):
        """Also one that comes later: it may be the only one that is left."""
        self.nodes[1].report.has_trained = True
        self.nodes[1].changed()
        await self.until(lambda: self.nodes[2].report.has_trained)
        self.endpoints.append(("127.0.0.1", free_port()))
        await self.start(3)
        await self.until(lambda: self.nodes[3].report.has_trained)

    async def test_a_cut_connection_is_made_again(self):
        links = self.nodes[0]._links
        before = dict(links)
        for link in before.values():
            link.close()
        await self.until(
            lambda: all(links.get(n) not in (None, before[n]) for n in before)
        )
        self.assertFalse(any(task.done() for task in self.tasks))

    async def test_an_agent_that_was_stopped_follows_again(self):
        """It ends if it leads."""
        for node in self.nodes:
            node._cut = "this node was stopped for 18 s"
        await self.until(lambda: not self.nodes[1]._cut and not self.nodes[2]._cut)
        with self.assertRaisesRegex(Excluded, "stopped for 18 s"):
            await self.tasks[0]
        await self.end(0)
        await self.until(lambda: list(self.nodes[1]._links) == ["n2"])

    async def test_a_leader_that_was_stopped_gives_nobody_up(self):
        self.nodes[0]._cut = "this node was stopped for 18 s"
        for link in self.nodes[0]._links.values():
            link._reader.set_exception(wire.Silence("no sign of life"))
        with self.assertRaisesRegex(Excluded, "stopped for 18 s"):
            await self.tasks[0]
        await self.end(0)
        await self.until(lambda: list(self.nodes[1]._links) == ["n2"])

    async def test_a_leader_that_was_stopped_for_a_while_goes_on(self):
        """From Python 3.12 on, a time-out that has passed meanwhile counts more than what has arrived."""
        links = dict(self.nodes[0]._links)
        self.nodes[0]._ticked -= 15
        for link in links.values():
            reader = link._reader
            reader.set_exception(wire.Silence("no sign of life"))
            await asyncio.sleep(0)
            reader._exception = None
        await asyncio.sleep(0.5)
        self.assertEqual(self.nodes[0]._links, links)
        self.assertFalse(any(task.done() for task in self.tasks))

    async def test_a_time_out_that_passed_while_an_agent_was_stopped_does_not_count(self):
        """It follows again, as the leader did not give it up."""
        leader = self.nodes[1]._leader
        self.nodes[1]._ticked -= 17
        reader = leader._reader
        reader.set_exception(wire.Silence("no sign of life"))
        await asyncio.sleep(0)
        reader._exception = None
        await asyncio.sleep(0.5)
        await self.until(lambda: not self.nodes[1]._cut)
        self.assertIs(self.nodes[1]._leader, leader)
        self.assertFalse(any(task.done() for task in self.tasks))

    async def test_the_next_one_leads(self):
        await self.end(0)
        await self.until(lambda: list(self.nodes[1]._links) == ["n2"])

    async def test_a_leader_that_ends_reports_no_deaths(self):
        """Its tasks are cancelled one after the other (etc.run.agent). If it told n2 of
        n1's end, n2 would go on alone."""
        serving = {
            task.get_coro().cr_frame.f_locals["node"]: task
            for task in asyncio.all_tasks()
            if task.get_coro().__qualname__ == "Node._accept"
        }
        self.nodes[0]._server.close()
        with self.assertNoLogs("asyncio", "ERROR"):
            for node in ("n1", "n2"):
                serving[node].cancel()
            await asyncio.wait(serving.values())
            await self.end(0)
            await self.until(lambda: list(self.nodes[1]._links) == ["n2"])

    async def test_a_leader_that_hung_up_is_dead_where_its_address_is_gone_too(self):
        """As that of a container is: two nodes go on, of which one would be cut off."""
        connect = wire.connect

        async def connect_to_others(host, port, token):
            if (host, port) == self.endpoints[0]:
                raise wire.Silence("no route")
            return await connect(host, port, token)

        with unittest.mock.patch.object(wire, "connect", connect_to_others):
            await self.end(0)
            await self.until(lambda: list(self.nodes[1]._links) == ["n2"])
            self.assertEqual(self.nodes[1]._lost, {"n0": False})

    async def test_an_agent_that_comes_again_joins(self):
        await self.end(0)
        await self.until(lambda: list(self.nodes[1]._links) == ["n2"])
        self.nodes.pop(0)
        self.tasks.pop(0)
        await self.start(0)
        await self.until(lambda: len(self.nodes[0]._links) == 2)

    async def test_a_deep_message_of_a_member_is_malformed(self):
        reader = asyncio.StreamReader()
        link = wire.Link(reader, None)
        reader.feed_data(b"[" * 200_000 + b"\n")
        with self.assertRaises(wire.Malformed):
            await link.receive(5.0)


class Ending(unittest.TestCase):
    def test_a_message_that_comes_at_the_end_prolongs_nothing(self):
        """An agent would live on as a thread that leads, and answers nobody."""

        async def follow(link):
            while True:
                await link.receive(20.0)

        async def end():
            reader = asyncio.StreamReader()
            following = asyncio.ensure_future(follow(wire.Link(reader, None)))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            reader.feed_data(b'{"t": "beat"}\n')
            await asyncio.sleep(0)  # the line has been read, and not been received
            await wire.end_other_tasks()
            return following.cancelled()

        self.assertTrue(asyncio.run(end()))


    def test_a_worker_that_lives_on_causes_no_error(self):
        """Or a child of its own, which has its connection."""

        async def end(path):
            report = Report("n0", -1, "", "127.0.0.1", 1, 0)
            workers = Workers(report, lambda: None)
            await workers.serve(path)
            workers.expect(0, 0)
            _, writer = await asyncio.open_unix_connection(path)
            writer.write(b'{"local": 0, "life": 0}\n')
            while not workers._links:
                await asyncio.sleep(0.01)
            await wire.end_other_tasks()
            writer.close()

        with tempfile.TemporaryDirectory() as folder:
            with self.assertNoLogs("asyncio", "ERROR"):
                asyncio.run(end(f"{folder}/agent"))


class Addresses(unittest.TestCase):
    def test_an_interface_is_found_by_its_address(self):
        self.assertEqual(interface_of("127.0.0.1"), "lo")
        self.assertEqual(interface_of("localhost"), "lo")
        self.assertIsNone(interface_of("192.0.2.1"))

    def test_what_cannot_be_a_name_is_of_no_interface(self):
        for name in ("a..b", "a" * 64):
            self.assertIsNone(interface_of(name))

    def test_endpoints_are_read(self):
        found = read_endpoints("127.0.0.1:5,127.0.0.2")
        self.assertEqual(found, [("127.0.0.1", 5), ("127.0.0.2", 29400)])
        for port in ("y", "0", "65536", "\u00b2"):
            with self.assertRaisesRegex(ValueError, f"x:{port}: expected a port from"):
                read_endpoints(f"x:{port}")
        for host in ("a..b", 70 * "a"):
            with self.assertRaisesRegex(ValueError, f"{host} can't name a host; expected"):
                read_endpoints(host)


if __name__ == "__main__":
    unittest.main()
