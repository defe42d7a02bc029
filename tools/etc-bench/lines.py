"""Devices with a line each, on one machine: every device is a network namespace with
a link to its node's bridge and a NIC on the bridge between nodes, each behind token
buckets in both directions. Needs root, ip and tc.
"""

from __future__ import annotations

import json
import pathlib
import signal
import sys

from bench import call
from hosts import SETTINGS, Hosts, ip

# Less than with a line per host, since a round has fewer bytes for each line.
BURST_BYTES = 32 << 10
QUEUE_BYTES = 16 << 20


class DeviceLines(Hosts):
    """`with DeviceLines(2, 4) as lines:`, a host for each device, numbered through.

    A device has one address; the routes of its namespace choose its link towards
    devices of its node, and its NIC towards all others.
    """

    def __init__(self, nodes: int, per_node: int):
        super().__init__(nodes * per_node)
        self.nodes, self.per_node = nodes, per_node

    def __enter__(self) -> DeviceLines:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that __exit__ runs
        try:
            self.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def build(self) -> None:
        ip("netns", "add", self.bridge)
        for bridge in ("fabric", *(f"node{node}" for node in range(self.nodes))):
            ip("-n", self.bridge, "link", "add", bridge, "type", "bridge")
            ip("-n", self.bridge, "link", "set", bridge, "up")
        for device in range(self.count):
            self.add(device)

    def add(self, device: int) -> None:
        name, node = self.name(device), device // self.per_node
        ip("netns", "add", name)
        ip(*f"-n {name} link set lo up".split())
        for line, bridge in (("nic0", "fabric"), ("link0", f"node{node}")):
            port = f"{line}-{device}"
            ip(
                *f"link add {line} netns {name} type veth".split(),
                *f"peer name {port} netns {self.bridge}".split(),
            )
            ip(*f"-n {self.bridge} link set {port} master {bridge} up".split())
            ip(*f"-n {name} link set {line} up".split())
        address = self.address(device)
        ip(*f"-n {name} addr add {address}/32 dev lo".split())
        for other in range(self.count):
            if other != device:
                line = "link0" if other // self.per_node == node else "nic0"
                route = f"{self.address(other)}/32 dev {line} src {address}"
                ip(*f"-n {name} route add {route}".split())
        settings = [f"net.ipv4.{key}={value}" for key, value in SETTINGS.items()]
        call(["ip", "netns", "exec", name, "sysctl", "-qw", *settings])

    def limit_lines(self, link_megabits: float, nic_megabits: float) -> None:
        """Limits every link and every NIC, in both directions."""
        for line, megabits in (("link0", link_megabits), ("nic0", nic_megabits)):
            bucket = f"root tbf rate {megabits * 1e6:.0f}bit"
            bucket += f" burst {BURST_BYTES} limit {QUEUE_BYTES}"
            for device in range(self.count):
                ends = ((self.name(device), line), (self.bridge, f"{line}-{device}"))
                for space, end in ends:
                    call(f"tc -n {space} qdisc replace dev {end} {bucket}".split())

    def hosts_of(self, run: pathlib.Path, plan: pathlib.Path) -> list[int]:
        """The device of every rank of a plan."""
        forecast = json.loads(call([run, "--dry-run", "--json", plan]))
        return [device["device"] for device in forecast["devices"]]
