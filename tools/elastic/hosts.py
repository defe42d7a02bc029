"""Where devices are: on this machine, or on rate-limited hosts that are network
namespaces of it, each with its own line to a bridge."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from pathlib import Path
from typing import List, Optional

# Of Linux: a network namespace.
CLONE_NEWNET = 0x40000000


class Hosts:
    """`nodes` hosts of `per_node` devices; without a rate, all of them are this one.

    With a rate (as tc takes it: 200mbit) it is a limit of every host's line, in each
    direction. Needs root, and ip and tc (iproute2).
    """

    def __init__(self, nodes: int, per_node: int, rate: Optional[str] = None):
        self.nodes, self.per_node, self.rate = nodes, per_node, rate
        self.name, self.net = f"etl{os.getpid()}", ""

    def __enter__(self) -> Hosts:
        if self.rate:
            self.remove_abandoned()
            self.net = self.find_net()
            try:
                self.build()
            except BaseException:
                self.__exit__()
                raise
        return self

    def __exit__(self, *_) -> None:
        if self.rate:
            for host in range(self.nodes):
                self.run(f"ip netns del {self.name}-{host}", check=False)
            self.run(f"ip link del {self.name}", check=False)

    @classmethod
    def remove_abandoned(cls) -> None:
        """Removes the hosts of launchers that were killed."""
        found = cls.run("ip netns list") + cls.run("ip -brief link show type bridge")
        for name, pid in re.findall(r"^(etl(\d+)(?:-\d+)?)\b", found, re.MULTILINE):
            if not Path(f"/proc/{pid}").exists():
                cls.run(f"ip {'netns' if '-' in name else 'link'} del {name}", check=False)

    @classmethod
    def find_net(cls) -> str:
        """One that no other launcher's hosts are in: of two equal ones, only the first
        is reached."""
        used = cls.run("ip -brief -4 addr")
        first = os.getpid()
        return next(net for net in (f"10.98.{(first + i) % 250}" for i in range(250))
                    if f" {net}." not in used)

    def build(self) -> None:
        name = self.name
        self.run(f"ip link add {name} type bridge")
        self.run(f"ip addr add {self.net}.254/24 dev {name}")
        self.run(f"ip link set {name} up")
        for host in range(self.nodes):
            space, port = f"{name}-{host}", f"{name}p{host}"
            self.run(f"ip netns add {space}")
            self.run(f"ip link add {port} type veth peer name eth0 netns {space}")
            self.run(f"ip link set {port} master {name} up")
            self.run(f"ip -n {space} addr add {self.net}.{host + 1}/24 dev eth0")
            self.run(f"ip -n {space} link set eth0 up")
            self.run(f"ip -n {space} link set lo up")
            # Both directions: what the host sends, and what the bridge sends it.
            self.limit(f"ip netns exec {space} tc", "eth0")
            self.limit("tc", port)

    def limit(self, tc: str, device: str) -> None:
        """To the rate; traffic that is marked as bulk (DSCP CS1) gets what is left."""
        self.run(f"{tc} qdisc add dev {device} root handle 1: htb default 10")
        for parent, name, rate, order in (("1:", "1:1", self.rate, ""),
                                          ("1:1", "1:10", "1mbit", "prio 0"),
                                          ("1:1", "1:20", "1mbit", "prio 1")):
            self.run(f"{tc} class add dev {device} parent {parent} classid {name} htb "
                     f"rate {rate} ceil {self.rate} burst 256kb cburst 256kb "
                     f"quantum 60000 {order}")
        self.run(f"{tc} filter add dev {device} parent 1: protocol ip u32 "
                 "match ip tos 0x20 0xfc flowid 1:20")

    @staticmethod
    def run(command: str, check: bool = True) -> str:
        done = subprocess.run(command.split(), capture_output=True, text=True)
        if check and done.returncode:
            raise RuntimeError(f"{command}: {done.stderr.strip()}")
        return done.stdout

    def command(self, device: int) -> List[str]:
        """What runs a program where the device is."""
        host = device // self.per_node
        return f"ip netns exec {self.name}-{host}".split() if self.rate else []

    def enter(self, host: int) -> None:
        """From now on this process, and what it starts, is on that host."""
        if not self.rate:
            return
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/run/netns/{self.name}-{host}") as space:
            if libc.setns(space.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), f"setns: host {host}")

    def address(self, device: int) -> str:
        host = device // self.per_node
        return f"{self.net}.{host + 1}" if self.rate else "127.0.0.1"

    @property
    def launcher(self) -> str:
        """The address that the launcher is reached at from every host."""
        return f"{self.net}.254" if self.rate else "127.0.0.1"

    @property
    def interface(self) -> str:
        return "eth0" if self.rate else "lo"
