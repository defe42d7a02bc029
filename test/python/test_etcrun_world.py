"""A training process and its agent: what one tells the other. The agent is a socket."""

import errno
import json
import multiprocessing
import os
import pathlib
import signal
import socket
import tempfile
import time
import unittest
from unittest import mock

import etc.torch


class Telling(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        path = str(pathlib.Path(folder) / "agent")
        self.addCleanup(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen()
            env = {"ETC_AGENT": path, "ETC_WORKER": "0/0"}
            with mock.patch.dict(os.environ, env):
                self.world = etc.torch.World()
            self.agent = self.enterContext(server.accept()[0])
        self.agent.settimeout(30)
        self.heard = self.enterContext(self.agent.makefile("rb"))
        self.assertEqual(self.hear(), {"local": 0, "life": 0})

    def hear(self):
        return json.loads(self.heard.readline())

    def test_an_error_as_groups_are_ended_does_not_hide_the_agent(self):
        world = {"t": "world", "world": {}}
        failure = OSError(errno.EMFILE, "too many open files")
        with mock.patch.object(self.world._groups, "void", side_effect=failure):
            for message in ({"t": "want", "generation": 1, "void": True}, world):
                self.agent.send(json.dumps(message).encode() + b"\n")
            self.assertEqual(self.world._link.wait(), world)

    def test_sigterm_drains(self):
        os.kill(os.getpid(), signal.SIGTERM)
        self.assertEqual(self.hear(), {"t": "drain"})

    def test_sigterm_to_a_forked_child_ends_it(self):
        """As multiprocessing's pools do. The trainer goes on."""
        fork = multiprocessing.get_context("fork")
        child = fork.Process(target=time.sleep, args=(60,))
        child.start()
        time.sleep(0.3)
        child.terminate()
        child.join(10)
        code = child.exitcode
        child.kill()
        self.world._link.send({"t": "done"})
        self.assertEqual(self.hear(), {"t": "done"})
        self.assertEqual(code, -signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
