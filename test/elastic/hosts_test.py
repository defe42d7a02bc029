"""Rate-limited hosts leave nothing behind, and get in nobody's way."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from elastic.hosts import Hosts  # noqa: E402


def can_be_made():
    try:
        with make():
            return True
    except (OSError, RuntimeError):
        return False


def make():
    return Hosts(nodes=1, per_node=1, rate="100mbit")


def exists(name):
    command = ["ip", "link", "show", name]
    return subprocess.run(command, capture_output=True).returncode == 0


@unittest.skipUnless(can_be_made(), "needs root, ip and tc (iproute2)")
class HostsTest(unittest.TestCase):
    def test_those_of_a_launcher_that_was_killed_are_removed(self):
        pid = os.fork()
        if pid == 0:
            make().__enter__()
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(pid, 0)
        self.assertTrue(exists(f"etl{pid}"))
        with make() as hosts:
            self.assertFalse(exists(f"etl{pid}"))
            self.assertTrue(exists(hosts.name))
        self.assertFalse(exists(hosts.name))

    def test_two_launchers_have_two_nets(self):
        with make() as hosts, socket.socket() as listener:
            self.assertNotEqual(hosts.net, Hosts.find_net())
            listener.bind((hosts.launcher, 0))
            listener.listen()
            connect = f"import socket; socket.create_connection({listener.getsockname()}, 5)"
            command = [*hosts.command(0), sys.executable, "-c", connect]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    unittest.main()
