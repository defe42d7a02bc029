"""A step that fails: what it changed is undone, or completed where others completed it."""

import types
import unittest

import etc.torch
import torch
from etc.torch.world import Held
from etc.torch.world_change import Change
from etc.torch.world_snapshot import Snapshot


class Undoing(unittest.TestCase):
    def setUp(self):
        self.norm = torch.nn.BatchNorm1d(4)
        self.norm.register_buffer("table", torch.arange(6.0), persistent=False)
        world = self.world = etc.torch.World.__new__(etc.torch.World)
        world._held = Held((self.norm, None), 1, 0)
        world._snapshot, world._has_stepped, world._ready = None, True, False
        world._updates, world.version = (), 3
        world._groups = types.SimpleNamespace(end=lambda: None)
        world._remember()
        self.before = self.state()

    def state(self):
        buffers = {name: each.clone() for name, each in self.norm.named_buffers()}
        return buffers | {"random": torch.get_rng_state()}

    def check(self, expected):
        found = self.state()
        for name, each in expected.items():
            self.assertTrue(torch.equal(found[name], each), name)

    def fail_a_step(self):
        self.norm(torch.randn(8, 4))
        self.norm.table = torch.zeros(6)
        self.world._fail(RuntimeError("a member is gone"))

    def change(self, newest):
        change = Change.__new__(Change)
        change._world, change._newest = self.world, (newest, 1)
        return change._catch_up()

    def test_a_step_that_is_repeated(self):
        self.fail_a_step()
        self.change(3)
        self.check(self.before)

    def test_a_step_that_others_completed(self):
        """Random numbers and statistics are those behind it, as on the others."""
        self.world._ready = True
        self.fail_a_step()
        behind = self.state()
        self.assertIsNotNone(self.change(4))
        self.check(behind)
        self.world._undo()
        self.check(behind)

    def test_nothing_is_undone_where_no_step_failed(self):
        self.norm(torch.randn(8, 4))
        now = self.state()
        self.change(3)
        self.check(now)

    def test_what_was_released_in_a_change_stays_so(self):
        self.norm.running_mean.untyped_storage().resize_(0)
        self.world._snapshot.restore()

    def test_buffers_of_inference_mode(self):
        with torch.inference_mode():
            self.norm.table = torch.arange(3.0)
        Snapshot((self.norm,)).restore()


if __name__ == "__main__":
    unittest.main()
