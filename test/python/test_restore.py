"""Boxes of checkpoints of torch.distributed.checkpoint, and recoveries that read them."""

import os
import shutil
import signal
import tempfile
import time
import unittest
import warnings

import etc
import ranks
import training
from training import OPTIONS

try:
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint import FileSystemReader
    from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh
except ImportError:
    raise unittest.SkipTest("needs PyTorch with DTensor") from None


class CountingReader(FileSystemReader):
    """Counts the elements that are asked for."""

    count = 0

    def read_data(self, plan, planner):
        self.count += sum(item.lengths.numel() for item in plan.items)
        return super().read_data(plan, planner)


def save(state, directory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is one process
        dcp.save(state, checkpoint_id=directory)


def save_whole(step, directory):
    """A step of the trainer in miniature, as get_state_dict names it."""
    whole = etc.plan(training.REQUEST, prev="PP1", curr="PP1")
    state = training.make(whole.curr_tensors(whole.participants[0]), step)
    optim = {}
    for kind in sorted(set(state) - {"param"}):
        for name, tensor in state[kind].items():
            optim.setdefault(name, {})[kind] = tensor
    save({"model": state["param"], "optim": {"state": optim}, "step": step}, directory)


def read(checkpoint, box, kind="param", name="w", shape=(10, 6), view=None):
    wanted = (kind, name, "fp32", shape, view, box)
    assert checkpoint._check(wanted) is None, checkpoint._check(wanted)
    result = torch.full([end - begin for begin, end in box], -1.0)
    checkpoint._read(wanted, result.data_ptr())
    return result


class Restore(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_boxes_of_sharded_tensors(self):
        whole = torch.arange(60.0).view(10, 6)

        def body(rank, store, folder):
            dist.init_process_group("gloo", store=store, rank=rank, world_size=3)
            mesh = init_device_mesh("cpu", (3,))
            sharded = {
                "model": {"w": distribute_tensor(whole, mesh, [Shard(0)])},
                "optim": {"w": {"exp_avg": distribute_tensor(-whole, mesh, [Shard(1)])}},
            }
            dcp.save(sharded, checkpoint_id=folder)
            dist.destroy_process_group()

        ranks.must(ranks.run(3, body, self.folder))
        reader = CountingReader(self.folder)
        checkpoint = etc.DistributedCheckpoint(reader)
        for box in ([(0, 10), (0, 6)], [(3, 9), (1, 2)], [(5, 6), (0, 6)]):
            at = tuple(slice(*bounds) for bounds in box)
            reader.count = 0
            self.assertTrue(torch.equal(read(checkpoint, box), whole[at]))
            self.assertEqual(reader.count, whole[at].numel())
            got = read(checkpoint, box, kind="exp_avg")
            self.assertTrue(torch.equal(got, -whole[at]))
        # A box of the planning shape, where the framework has another.
        box = [(0, 2), (1, 3), (2, 4)]
        got = read(checkpoint, box, shape=(2, 5, 6), view=(10, 6))
        self.assertTrue(torch.equal(got, whole.view(2, 5, 6)[:, 1:3, 2:4]))

    def test_what_is_not_there(self):
        save({"a": {"w": torch.zeros(4)}, "b": {"w": torch.zeros(4)}}, self.folder)
        checkpoint = etc.DistributedCheckpoint(self.folder)
        wanted = ("param", "w", "fp32", (4,), None, [(0, 4)])
        self.assertIn("may be a.w or b.w; pass key=", checkpoint._check(wanted))
        wanted = ("exp_avg", "w", "fp32", (4,), None, [(0, 4)])
        self.assertIn("key ends in w.exp_avg", checkpoint._check(wanted))
        checkpoint = etc.DistributedCheckpoint(self.folder, key=lambda _, name: f"b.{name}")
        for dtype, shape in (("bf16", (4,)), ("fp32", (2, 2))):
            wanted = ("param", "w", dtype, shape, None, [(0, 4)])
            why = checkpoint._check(wanted)
            self.assertIn("b.w is torch.float32 [4]; expected", why)
        wanted = ("param", "x", "fp32", (4,), None, [(0, 4)])
        self.assertIn("has no tensor b.x", checkpoint._check(wanted))
        with self.assertRaises(FileNotFoundError):
            etc.DistributedCheckpoint(os.path.join(self.folder, "none"))

    def test_files_that_are_none(self):
        """Nothing waits for the writer of a FIFO, and every error names its file."""
        save({"model": {"w": torch.arange(60.0).view(10, 6)}}, self.folder)
        [data] = [name for name in os.listdir(self.folder) if name.endswith(".distcp")]
        size = os.path.getsize(os.path.join(self.folder, data))

        def remove(path):
            os.remove(path)

        def fifo(path):
            os.remove(path)
            os.mkfifo(path)

        def folder(path):
            os.remove(path)
            os.mkdir(path)

        def cut(path):
            os.truncate(path, size // 3)

        def junk(path):
            with open(path, "wb") as file:
                file.write(b"junk")

        for name, damage, why in (
            (".metadata", fifo, "is no regular file"),
            (".metadata", folder, "is no regular file"),
            (".metadata", junk, "cannot read its metadata: UnpicklingError"),
            (data, fifo, "is no regular file"),
            (data, cut, f"has {size // 3} bytes; expected"),
            (data, remove, "No such file"),
        ):
            with self.subTest(name=name, damage=damage.__name__):
                with tempfile.TemporaryDirectory() as parent:
                    copy = os.path.join(parent, "copy")
                    shutil.copytree(self.folder, copy)
                    damage(os.path.join(copy, name))
                    with self.assertRaisesRegex((ValueError, OSError), why) as raised:
                        etc.DistributedCheckpoint(copy)
                    self.assertIn(copy, str(raised.exception))

    def test_a_file_that_changes_later(self):
        """It is named, and not read as if it were what was checked."""

        def cut(path):
            os.truncate(path, 0)

        def replace(path):
            shutil.copyfile(path, path + ".new")
            os.replace(path + ".new", path)

        def rewrite(path):
            before = os.stat(path).st_mtime_ns
            while os.stat(path).st_mtime_ns == before:
                with open(path, "r+b") as file:
                    file.write(b"x")

        def fifo(path):
            os.remove(path)
            os.mkfifo(path)

        box = [(0, 10), (0, 6)]
        for damage in (cut, replace, rewrite, fifo):
            with self.subTest(damage.__name__):
                folder = os.path.join(self.folder, damage.__name__)
                save({"w": torch.arange(60.0).view(10, 6)}, folder)
                checkpoint = etc.DistributedCheckpoint(folder)
                read(checkpoint, box)
                [data] = [n for n in os.listdir(folder) if n.endswith(".distcp")]
                damage(os.path.join(folder, data))
                words = f"{folder}/{data}: was replaced or written to"
                with self.assertRaisesRegex(ValueError, words):
                    read(checkpoint, box)

    def recover(self, restore_from):
        """What all survivors raise within seconds, of a job that lost device 2."""
        plan = etc.plan(training.REQUEST, prev="PP2TP2", curr="PP2TP2")
        save_whole(4, self.folder)

        def body(rank, store):
            job = training.start(rank, store, plan, step=4)
            if rank == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            options = {**OPTIONS, "patience": 3, "restore_version": 4}
            source = restore_from(rank, self.folder)
            begin = time.monotonic()
            try:
                etc.recover(
                    job, "PP2", devices=range(4), restore_from=source, **options
                )
            except Exception as error:
                took = time.monotonic() - begin
                return f"{type(error).__name__}: {error}", took, training.wrong(job)

        return [r for r in ranks.run(4, body) if not isinstance(r, Exception)]

    def test_a_key_that_raises(self):
        """It does not look like state that may come until the time-out."""

        def key(kind, name):
            raise ValueError("my key")

        def restore_from(rank, folder):
            return etc.DistributedCheckpoint(folder, key)

        results = self.recover(restore_from)
        self.assertEqual(len(results), 3)
        for error, took, wrong in results:
            self.assertEqual((error, wrong), ("ValueError: my key", []))
            self.assertLess(took, 20)

    def test_a_process_that_cannot_read(self):
        """The others learn why, and keep what they hold."""

        class Broken(FileSystemReader):
            def read_data(self, plan, planner):
                raise EOFError

        def restore_from(rank, folder):
            return etc.DistributedCheckpoint(Broken(folder) if rank == 0 else folder)

        results = self.recover(restore_from)
        self.assertEqual(len(results), 3)
        for error, took, wrong in results:
            self.assertIn("cannot read", error)
            self.assertIn("EOFError", error)
            self.assertEqual(wrong, [])
            self.assertLess(took, 20)
        self.assertIn("device 0: ValueError", results[1][0])

    def test_lost_state(self):
        """Only what nobody holds is read, also where a tied copy is lost with it."""
        plan = etc.plan(training.REQUEST, prev="PP2TP2", curr="PP2TP2")
        save_whole(4, self.folder)

        def body(rank, store, dead):
            job = training.start(rank, store, plan, step=4)
            if rank in dead:
                os.kill(os.getpid(), signal.SIGKILL)
            restore = {"restore_from": self.folder, "restore_version": 4}
            done = etc.recover(job, "PP2", devices=range(4), **OPTIONS, **restore)
            return training.wrong(job), done.devices

        for dead in ([2], [0, 2]):
            with self.subTest(dead=dead):
                results = ranks.run(4, body, dead)
                left = [rank for rank in range(4) if rank not in dead]
                for rank in left:
                    self.assertEqual(results[rank], ([], left))

    def test_bytes_that_are_read(self):
        plan = etc.plan(training.REQUEST, prev="PP2TP2", curr="PP2TP2")
        save_whole(4, self.folder)

        def body(rank, store):
            job = training.start(rank, store, plan, step=4)
            if rank == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            reader = CountingReader(self.folder)
            restore = {
                "restore_from": etc.DistributedCheckpoint(reader),
                "restore_version": 4,
            }
            done = etc.recover(job, "PP2", devices=range(4), **OPTIONS, **restore)
            return done.restored_bytes, reader.count

        lost = sum(
            spec.bytes
            for group in plan.curr_tensors(2).values()
            for spec in group.values()
        )
        results = [r for r in ranks.run(4, body) if not isinstance(r, Exception)]
        self.assertEqual(len(results), 3)
        for restored, _ in results:
            self.assertGreater(restored, 0)
            self.assertLessEqual(restored, lost)
        # Elements have two bytes or four. Where the shapes differ, all are read.
        self.assertGreaterEqual(sum(count for _, count in results) * 4, results[0][0])

    def test_a_checkpoint_of_another_model(self):
        plan = etc.plan(training.REQUEST, prev="PP2TP2", curr="PP2TP2")
        save({"model": {"w": torch.zeros(4)}}, self.folder)

        def body(rank, store):
            job = training.start(rank, store, plan, step=4)
            if rank == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            quick = {**OPTIONS, "patience": 1, "timeout": 3}
            with self.assertRaisesRegex(etc.PeerError, "has no tensor whose key ends in"):
                etc.recover(
                    job,
                    "PP2",
                    devices=range(4),
                    restore_from=self.folder,
                    restore_version=4,
                    **quick,
                )
            return training.wrong(job)

        results = ranks.run(4, body)
        self.assertEqual([results[rank] for rank in (0, 1, 3)], [[]] * 3)


if __name__ == "__main__":
    unittest.main()
