"""How participants find each other over PyTorch's own stores."""

import datetime
import os
import tempfile
import unittest

from etc.rendezvous import StoreAdapter

try:
    import torch.distributed as dist
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None


class Waits(unittest.TestCase):
    def setUp(self):
        limit = datetime.timedelta(seconds=30)
        self.server = dist.TCPStore("127.0.0.1", 0, None, True, limit)
        self.client = dist.TCPStore(
            "127.0.0.1", self.server.port, None, False, limit
        )
        self.here = StoreAdapter(self.server)
        self.there = StoreAdapter(dist.PrefixStore("etc", self.client))

    def test_a_key_that_is_set_is_got(self):
        StoreAdapter(dist.PrefixStore("etc", self.server)).set("name", b"value")
        self.assertEqual(self.there.get("name", 0), b"value")

    def test_the_first_value_stays(self):
        self.assertEqual(self.there.set_first("name", b"one"), b"one")
        self.assertEqual(self.there.set_first("name", b"two"), b"one")
        self.assertEqual(self.there.get("name", 0), b"one")

    def test_a_wait_in_vain_leaves_the_store_as_it_was(self):
        """The answer that a wait did not get must not be that to the next question."""
        for trial in range(5):
            self.assertIsNone(self.there.get(f"late{trial}", 0.05))
            StoreAdapter(dist.PrefixStore("etc", self.server)).set(
                f"late{trial}", b"value"
            )
            self.assertEqual(self.client.add("count", 7), 7 * (trial + 1))
            self.assertEqual(self.there.get(f"late{trial}", 1), b"value")

    def test_a_wait_in_vain_logs_nothing(self):
        with tempfile.TemporaryFile() as log:
            stderr = os.dup(2)
            os.dup2(log.fileno(), 2)
            try:
                self.assertIsNone(self.there.get("never", 0.3))
            finally:
                os.dup2(stderr, 2)
                os.close(stderr)
            log.seek(0)
            self.assertEqual(log.read(), b"")


if __name__ == "__main__":
    unittest.main()
