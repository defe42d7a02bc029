"""A job that changes its configuration by other systems' checkpoints loses nothing: its
losses are those of the same job that changes by ETC, bit for bit.

Needs a PyTorch with DTensor, and Megatron-Core for its part."""

import importlib.util
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

try:
    import torch.distributed as dist
    from elastic_test import command, events, losses

    from elastic.hostfiles import HostFolder
except ImportError as missing:
    raise unittest.SkipTest(f"the trainer's test: {missing}") from None

# Replicas and tensor parallelism, on either side.
WAY = [(3, "PP2DP2"), (6, "PP2TP2"), (9, "PP4")]
ITERATIONS = 12


def has(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def train(out, *by):
    """The losses of a job that makes the changes in these ways."""
    schedule = [{"at": at, "to": to, "by": way} for (at, to), way in zip(WAY, by)]
    subprocess.run(command(out, "--start=PP2", f"--iterations={ITERATIONS}",
                           f"--schedule={json.dumps(schedule)}"), check=True)
    told = events(out)
    steps = [set(event["report"]) for lines in told.values() for event in lines
             if event["event"] == "change"]
    return losses(told), steps


class Systems(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["OMP_NUM_THREADS"] = "1"
        # MKL adds in an order that depends on the alignment of a tensor, unless told.
        os.environ["MKL_CBWR"] = "COMPATIBLE"
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.out = pathlib.Path(cls.folder.name)
        cls.losses, _ = train(cls.out / "etc", *["etc"] * len(WAY))

    def changed_by(self, way, steps):
        """In a folder that all see, in the hosts' own, and back."""
        files = self.out / f"{way}-files"
        by = [f"{way}:{files}", f"{way}-hosts:{files}", f"{way}:{files}"]
        got, taken = train(self.out / way, *by)
        self.assertEqual(len(self.losses), ITERATIONS)
        self.assertEqual(got, self.losses)
        self.assertEqual({frozenset(names) for names in taken}, {frozenset(steps)})
        left = [path for path in files.rglob("*") if path.is_file()]
        self.assertEqual(left, [], "checkpoints that have been read")

    @unittest.skipUnless(has("torch.distributed.tensor"), "this PyTorch has no DTensor")
    def test_one_process_converts(self):
        self.changed_by("convert", ["save", "convert", "load"])

    @unittest.skipUnless(has("megatron.core") and has("psutil"), "no Megatron-Core")
    def test_megatron_core_reshards(self):
        self.changed_by("mcore", ["save", "load"])


class Files(unittest.TestCase):
    def test_other_hosts_read_over_the_network(self):
        with tempfile.TemporaryDirectory() as name:
            folder, store = pathlib.Path(name), dist.HashStore()
            ours = HostFolder(folder / "ours", store, "127.0.0.1")
            theirs = HostFolder(folder / "theirs", store, "127.0.0.2")
            theirs.path.mkdir()
            content = bytes(range(256)) * 4099
            (theirs.path / "shard").write_bytes(content)
            theirs.announce()
            # Where it is does not say what is read: this host has no such file.
            with ours.open("shard") as file:
                self.assertEqual(file.read(), content)
            inside = theirs.beside("inside")
            inside.path.mkdir()
            (inside.path / "shard").write_bytes(b"another")
            inside.announce()
            reading = ours.beside("inside")
            with reading.open("shard") as file:
                self.assertEqual(file.read(), b"another")
            for one in (ours, reading, inside, theirs):
                one.close()
            self.assertFalse(theirs.path.exists())


if __name__ == "__main__":
    unittest.main()
