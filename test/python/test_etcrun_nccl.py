"""What `World` does where its groups are NCCL's; NCCL itself is a double here."""

import contextlib
import os
import threading
import time
import types
import unittest
from unittest import mock

import etc.torch
import torch
import torch.distributed as dist
from etc.errors import UsageError
from etc.torch.world_groups import Groups
from etc.torch_private import nccl


class Backend:
    """Of one group. As torch's does, its abort returns when its collectives have ended,
    and they wait on the GPU behind those of `first`."""

    def __init__(self, first=None):
        self.first = first
        self.aborted = threading.Event()
        self.error = "SUCCESS"
        self.makes_kernels = threading.Event()
        self.makes_kernels.set()

    def allreduce(self, tensors):
        """Connects first, which no abort ends."""
        self.makes_kernels.wait()
        self.aborted.clear()
        tensors[0] *= self.size()
        return types.SimpleNamespace(wait=lambda: None)

    def size(self):
        return 2

    def abort(self):
        self.aborted.set()
        if self.first and not self.first.aborted.wait(5):
            raise RuntimeError("the collective before it goes on")

    def get_error(self):
        return types.SimpleNamespace(name=self.error)


class Gpu(unittest.TestCase):
    def setUp(self):
        first = Backend()
        self.backends = [Backend(first), first]
        self.patch(nccl, "backends", lambda: self.backends)
        self.patch(torch.cuda, "is_initialized", lambda: True)
        self.patch(torch.cuda, "current_device", lambda: 0)
        self.patch(torch.cuda, "set_device", lambda device: None)
        self.patch(torch.cuda, "Stream", lambda device: None)
        self.patch(torch.cuda, "stream", contextlib.nullcontext)
        self.event = self.patch(torch.cuda, "Event", mock.Mock())()
        ones = torch.ones
        self.patch(torch, "ones", lambda *shape, **_: ones(*shape))
        self.synchronize = self.patch(torch.cuda, "synchronize", mock.Mock())
        self.groups = Groups()
        self.groups._generation, self.groups._seconds = 1, 5.0
        self.addCleanup(self.groups.destroy)

    def patch(self, *where):
        return self.enterContext(mock.patch.object(*where))


class Ending(Gpu):
    def setUp(self):
        super().setUp()
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)

    def test_a_loss_leaves_torch_to_the_trainer(self):
        """Which may be about to call torch: it gets a RuntimeError, and no other."""
        self.groups.void(1)
        self.assertTrue(all(backend.aborted.is_set() for backend in self.backends))
        self.assertTrue(dist.is_initialized())
        dist.all_reduce(torch.ones(1))

    def test_groups_end_at_once(self):
        """Whichever waits for which."""
        begin = time.monotonic()
        self.groups.void(1)
        self.assertLess(time.monotonic() - begin, 4)

    def test_an_error_of_its_own_ends_the_step_elsewhere_too(self):
        self.groups.end()
        self.assertTrue(all(backend.aborted.is_set() for backend in self.backends))
        self.groups.check()

    def test_an_abort_that_does_not_end_holds_nobody_up(self):
        self.backends[1].aborted = mock.Mock(wait=lambda _: time.sleep(60))
        self.groups._seconds = 0.5
        begin = time.monotonic()
        self.groups.void(1)
        self.groups.destroy()
        self.assertLess(time.monotonic() - begin, 20)

    def test_torch_can_begin_again_after_a_failure(self):
        with mock.patch.object(dist, "destroy_process_group", side_effect=RuntimeError):
            self.groups.destroy()
        self.assertFalse(dist.is_initialized())


class Step(Gpu):
    """An aborted collective ends, and leaves in its result what was in memory."""

    def setUp(self):
        super().setUp()
        world = self.world = etc.torch.World.__new__(etc.torch.World)
        world._groups = self.groups
        world._ready, world.version = False, 7
        world._link = types.SimpleNamespace(wanted=0)
        control = self.groups.control = mock.Mock()
        control.largest.return_value = 0

    def commit(self):
        updated = []
        with mock.patch.object(self.world, "_update", lambda: updated.append(1)):
            self.world.commit()
        return updated

    def check_refused(self, message):
        with self.assertRaisesRegex(RuntimeError, message):
            self.commit()
        self.assertFalse(self.world._ready)
        self.groups.control.largest.assert_not_called()

    def test_a_step_that_went_well(self):
        self.assertEqual(self.commit(), [1])
        self.synchronize.assert_called_once()

    def test_a_collective_that_failed(self):
        for error in ("COMM_ERROR", "TIMEOUT", "REMOTE_ERROR"):
            self.backends[1].error = error
            self.check_refused(error)

    def test_a_loss_while_the_gpu_computes(self):
        self.synchronize.side_effect = lambda: self.groups.void(1)
        self.check_refused("generation 1 has failed")


class Connecting(Gpu):
    def fails(self, message, make):
        with self.assertRaisesRegex(RuntimeError, message):
            make()

    def test_each_group_once(self):
        self.groups.connect()
        self.assertEqual(self.groups._connected, self.backends)
        for backend in self.backends:
            backend.error = "COMM_ERROR"
        self.groups.made()

    def test_a_loss_ends_the_wait_for_a_peer(self):
        """NCCL's goes on, and where it ends later, no kernel stays on the GPU."""
        group = self.backends[0]
        group.makes_kernels.clear()
        timer = threading.Timer(0.3, self.groups.void, [1])
        timer.start()
        self.fails("generation 1 has failed", self.groups.made)
        timer.join()
        self.groups._generation = 2
        group.makes_kernels.set()
        self.assertTrue(group.aborted.wait(5))

    def test_a_loss_ends_the_wait_for_the_gpu(self):
        self.event.query.return_value = False
        threading.Timer(0.3, self.groups.void, [1]).start()
        self.fails("generation 1 has failed", self.groups.made)

    def test_a_group_that_was_ended_is_not_connected(self):
        self.backends[1].error = "TIMEOUT"
        self.fails("TIMEOUT", self.groups.made)

    def test_a_wrong_result_is_not_connected(self):
        self.backends[1].size = lambda: 1 + self.event.query.call_count
        self.fails("could not be connected", self.groups.made)


class Settings(unittest.TestCase):
    name = "TORCH_NCCL_ASYNC_ERROR_HANDLING"

    def test_what_would_end_the_process_is_changed(self):
        with mock.patch.dict(os.environ, {self.name: "1"}):
            with self.assertWarnsRegex(UserWarning, f"{self.name} is 1, with which"):
                nccl.outlive_peers()
            self.assertEqual(os.environ[self.name], "2")

    def test_what_the_user_set_otherwise_stays(self):
        with mock.patch.dict(os.environ, {"TORCH_FR_BUFFER_SIZE": "2000"}):
            nccl.outlive_peers()
            self.assertEqual(os.environ["TORCH_FR_BUFFER_SIZE"], "2000")
            self.assertEqual(os.environ["TORCH_NCCL_ENABLE_MONITORING"], "0")
            self.assertEqual(os.environ[self.name], "2")

    def test_each_process_has_its_gpu(self):
        with (
            mock.patch.dict(os.environ, {"LOCAL_RANK": "5"}),
            mock.patch.object(torch.cuda, "is_available", lambda: True),
            mock.patch.object(torch.cuda, "device_count", lambda: 4),
            mock.patch.object(torch.cuda, "set_device") as chosen,
        ):
            nccl.outlive_peers()
            chosen.assert_called_once_with(1)

    def test_a_torch_that_does_not_tell_of_errors(self):
        with mock.patch.object(dist, "ProcessGroupNCCL", object, create=True):
            with self.assertRaisesRegex(UsageError, "needs PyTorch 2.7 or later"):
                nccl.outlive_peers()


if __name__ == "__main__":
    unittest.main()
