"""The process groups of a generation where one of its processes is lost while they are made."""

import contextlib
import multiprocessing
import os
import resource
import socket
import threading
import time
import unittest
import warnings
from unittest import mock

import torch
import torch.distributed as dist
from etc.torch import world_groups
from etc.torch.world_groups import Groups
from etc.torch_private import nccl

FOREVER = 1000.0  # seconds: nothing here ends by the time-out of a group
# Not forked from here: groups have threads, and their locks would stay held in a child.
clean = multiprocessing.get_context("forkserver")
clean.set_forkserver_preload([__name__])


def serve(pipe):
    """A store, as an agent has it: in another process than those that make groups."""
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    pipe.send(store.port)
    pipe.recv()


def make(groups, address, generation, number, size):
    place = number, size, size
    groups.make("gloo", address, generation, place, FOREVER)
    groups.made()


def make_as_peer(*arguments):
    make(Groups(), *arguments)


def make_the_next_one(address):
    groups = Groups()
    with mock.patch.object(dist, "init_process_group", side_effect=RuntimeError):
        try:
            make(groups, address, 1, 1, 2)
        except RuntimeError:
            groups.destroy()
    make(groups, address, 2, 1, 2)
    check(groups)


def check(groups):
    total = torch.ones(1)
    dist.all_reduce(total)
    assert total.item() == 2, total
    assert groups.control.largest(3) == 3


def cut_with(spare):
    """Ten connections, where only `spare` descriptors can be opened."""
    groups = Groups()
    groups._before = set(world_groups._connections())
    with socket.create_server(("127.0.0.1", 0)) as server:
        ends = []
        for _ in range(10):
            ends.append(socket.create_connection(server.getsockname(), timeout=1))
            ends.append(server.accept()[0])
    groups._generation = 1
    groups._sockets = {os.fstat(mine.fileno()).st_ino for mine in ends[::2]}
    above_all = max(map(int, os.listdir("/proc/self/fd"))) + 1
    while (free := os.dup(0)) < above_all:
        pass  # so that none is free below
    os.close(free)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + spare, limit))
    groups.void(1)
    assert all(mine.recv(1) == b"" for mine in ends[::2])
    assert len(groups._held) == spare, len(groups._held)
    groups.destroy()


class Cutting(unittest.TestCase):
    def test_no_send_fails(self):
        """Gloo would lose it, and its collective would end at the time-out. Nor is
        anything lost that was sent before."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            mine = self.enterContext(socket.create_connection(server.getsockname()))
            peer = self.enterContext(server.accept()[0])
        groups = Groups()
        groups._generation = 1
        groups._sockets = {os.fstat(mine.fileno()).st_ino}
        received = []

        def receive(seconds):
            peer.send(b"a")
            received.append(mine.recv(1))

        with mock.patch.object(time, "sleep", receive):
            groups.void(1)
        self.assertEqual(received, [b"a"])
        self.assertEqual(mine.recv(1), b"")
        mine.send(b"b")
        self.assertEqual(peer.recv(1), b"b")
        groups.destroy()
        mine.close()
        for _ in range(3):
            peer.send(b"c")
            time.sleep(0.1)


    def test_the_next_groups_are_not_cut_with_the_last_ones(self):
        """Which are destroyed, while the next ones are made, as they are being cut."""
        server = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        mine = self.enterContext(socket.create_connection(server.getsockname()))
        groups = Groups()
        groups._generation = 1
        groups._sockets = set()
        cut = groups._cut

        def make_the_next_ones():
            with groups._lock:
                groups._generation = 2
                groups._sockets = {os.fstat(mine.fileno()).st_ino}

        training = threading.Thread(target=make_the_next_ones)

        def cut_late():
            training.start()
            training.join(0.5)
            cut()

        with mock.patch.object(groups, "_cut", cut_late):
            groups.void(1)
        training.join()
        mine.settimeout(0.2)
        with self.assertRaises(TimeoutError):
            mine.recv(1)

    def test_a_loss_that_is_told_twice_ends_groups_once(self):
        groups = Groups()
        groups._generation = 1
        groups._sockets = set()
        with mock.patch.object(groups, "_cut") as cut:
            groups.void(1)
            groups.void(1)
            groups._generation = 2
            groups.void(2)
        self.assertEqual(cut.call_count, 2)

    def test_nothing_is_needed_of_a_process_that_may_open_no_more(self):
        """Each connection is cut, although not all of them can be held."""
        for spare in range(3):
            with self.subTest(spare=spare):
                test = clean.Process(target=cut_with, args=(spare,))
                test.start()
                test.join(60)
                self.assertEqual(test.exitcode, 0)

    def test_a_number_that_was_given_away_is_left_alone(self):
        """Its owner has closed the connection: another file or connection has it."""
        server = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        file = self.enterContext(open(os.devnull))
        groups = Groups()
        before = os.listdir("/proc/self/fd")
        with self.assertNoResourceWarning():
            groups._hold(1, file.fileno())
            groups._hold(1, server.fileno())  # of another inode
            with socket.socket() as alone:  # nothing to shut down
                groups._hold(os.fstat(alone.fileno()).st_ino, alone.fileno())
        self.assertEqual(os.listdir("/proc/self/fd"), before)
        self.assertEqual(groups._held, [])

    @contextlib.contextmanager
    def assertNoResourceWarning(self):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", ResourceWarning)
            yield
        self.assertEqual(told, [])


class Aborting(unittest.TestCase):
    """Of NCCL's groups, whose destruction waits for their collectives."""

    def setUp(self):
        aborted = threading.Event()
        self.waited = []
        self.groups = Groups()
        self.groups._generation, self.groups._seconds = 1, 5.0
        self.groups._sockets = set()
        for module, name, value in (
            (dist, "is_initialized", lambda: True),
            (nccl, "backends", lambda: [mock.Mock(abort=aborted.set)]),
            (dist, "destroy_process_group", lambda: self.waited.append(aborted.wait(5))),
            (world_groups.torch_groups, "forget_groups", lambda: None),
        ):
            self.enterContext(mock.patch.object(module, name, value))

    def test_a_step_that_fails_before_the_loss_is_dealt_with(self):
        reading = threading.Thread(target=self.groups.void, args=(1,))
        reading.start()
        self.groups.destroy()
        reading.join()
        self.assertEqual(self.waited, [True])

    def test_a_loss_between_steps(self):
        """When the next world has come before it was dealt with."""
        reading = threading.Thread(target=self.groups.void, args=(1,))
        with mock.patch.object(world_groups, "QUIET", 1.0):
            reading.start()
            time.sleep(0.2)
            self.groups.destroy()
        reading.join()
        self.assertEqual(self.waited, [True])

    def test_after_the_last_collective(self):
        """A member that dies as the others end their groups holds none of them up."""
        self.groups.destroy()
        self.assertEqual(self.waited, [True])


class Making(unittest.TestCase):
    def setUp(self):
        pipe, theirs = clean.Pipe()
        agent = clean.Process(target=serve, args=(theirs,), daemon=True)
        agent.start()
        self.addCleanup(pipe.close)  # open until then: the agent waits at its end
        self.addCleanup(agent.terminate)
        self.address = "127.0.0.1", pipe.recv()
        self.groups = Groups()
        self.addCleanup(self.groups.destroy)

    def fails(self, generation=1, number=0):
        """Whether making groups ends when a member is lost that never connects."""
        told = []

        def attempt():
            try:
                make(self.groups, self.address, generation, number, 2)
            except RuntimeError as error:
                told.append(error)

        thread = threading.Thread(target=attempt, daemon=True)
        thread.start()
        thread.join(1)
        self.groups.void(generation)
        thread.join(120)
        return bool(told)

    def test_a_generation_that_was_lost_before_is_not_begun(self):
        self.groups.void(1)
        with self.assertRaisesRegex(RuntimeError, "generation 1 has failed"):
            make(self.groups, self.address, 1, 0, 2)

    def test_a_loss_ends_the_wait_for_a_peer(self):
        self.assertTrue(self.fails())

    def test_a_loss_ends_the_wait_for_a_store(self):
        self.address = "127.0.0.1", 9
        self.assertTrue(self.fails())

    def test_a_loss_ends_the_wait_for_a_connection(self):
        """From a peer that said where it is, and was lost before it connected."""
        store = dist.TCPStore(*self.address, is_master=False)
        for number in range(2):
            before = store.num_keys()
            arguments = self.address, number + 1, 1 - number, 2
            peer = clean.Process(target=make_as_peer, args=arguments)
            peer.start()
            while store.num_keys() == before:
                time.sleep(0.1)
            time.sleep(1)
            peer.kill()
            peer.join()
            self.assertTrue(self.fails(number + 1, number), number)
            self.groups.destroy()

    def test_a_loss_ends_the_wait_for_a_group_that_is_made_later(self):
        clean.Process(target=make_as_peer, args=(self.address, 1, 1, 2)).start()
        make(self.groups, self.address, 1, 0, 2)
        threading.Timer(0.5, self.groups.void, [1]).start()
        with self.assertRaises(RuntimeError):
            dist.new_group([0, 1])

    def test_the_next_groups_work_where_the_default_group_was_not_made(self):
        """Only this process has begun its default group when the other one fails."""
        other = clean.Process(target=make_the_next_one, args=(self.address,))
        other.start()
        init = dist.init_process_group

        def begin(*arguments, **options):
            threading.Timer(0.5, self.groups.void, [1]).start()
            init(*arguments, **options)

        with mock.patch.object(dist, "init_process_group", begin):
            with self.assertRaises(RuntimeError):
                make(self.groups, self.address, 1, 0, 2)
        self.groups.destroy()
        make(self.groups, self.address, 2, 0, 2)
        check(self.groups)
        other.join(60)
        self.assertEqual(other.exitcode, 0)
