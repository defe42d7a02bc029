"""What `World` does where its groups are NCCL's; NCCL itself is a double here."""

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
from etc.torch_private import groups as torch_groups
from etc.torch_private import nccl


class Backend:
    """Of one group. As torch's does, its abort returns when its collectives have ended,
    and they wait on the GPU behind those of `first`."""

    def __init__(self, first=None):
        self.first = first
        self.aborted = threading.Event()
        self.error = "SUCCESS"

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
        self.synchronize = self.patch(torch.cuda, "synchronize", mock.Mock())
        self.groups = Groups()
        self.groups._generation = 1
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

    def test_torch_can_begin_again_after_a_failure(self):
        for failing in ("abort_groups", ""):
            if not dist.is_initialized():
                store = dist.HashStore()
                dist.init_process_group("gloo", store=store, rank=0, world_size=1)
            error = mock.Mock(side_effect=RuntimeError)
            with mock.patch.object(torch_groups, failing or "make_gloo", error):
                self.groups.destroy(failed=True)
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
    def test_a_loss_ends_the_wait_for_a_peer(self):
        """For which NCCL waits forever."""
        forever = threading.Event()
        self.addCleanup(forever.set)
        self.patch(nccl, "connect", lambda device: forever.wait())
        timer = threading.Timer(0.3, self.groups.void, [1])
        timer.start()
        with self.assertRaisesRegex(RuntimeError, "generation 1 has failed"):
            self.groups.made()
        timer.join()


class Settings(unittest.TestCase):
    def test_what_the_user_set_stays(self):
        name = "TORCH_NCCL_ASYNC_ERROR_HANDLING"
        with mock.patch.dict(os.environ, {name: "1"}):
            nccl.outlive_peers()
            self.assertEqual(os.environ[name], "1")
            self.assertEqual(os.environ["TORCH_NCCL_ENABLE_MONITORING"], "0")

    def test_a_torch_that_does_not_tell_of_errors(self):
        with mock.patch.object(dist, "ProcessGroupNCCL", object, create=True):
            with self.assertRaisesRegex(UsageError, "needs PyTorch 2.7 or later"):
                nccl.outlive_peers()


if __name__ == "__main__":
    unittest.main()
