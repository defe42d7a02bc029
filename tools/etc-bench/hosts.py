"""Hosts with a limited line, on one machine: network namespaces on a bridge, each
behind a token bucket.

The bucket limits what a host sends, and a second one what the bridge sends to it, so a
line is full duplex. What runs inside a host is as fast as the machine. Needs root, ip
and tc.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from bench import call

# What a bucket saves up while its line is idle.
BURST_BYTES = 64 << 10
# A queue that never fills: windows are small, so nothing is lost, as on lossless
# fabrics.
QUEUE_BYTES = 16 << 20
WINDOW_BYTES = 128 << 10
SETTINGS = {
    "tcp_congestion_control": "reno",
    "tcp_rmem": f"4096 {WINDOW_BYTES} {WINDOW_BYTES}",
    "tcp_wmem": f"4096 {WINDOW_BYTES} {WINDOW_BYTES}",
    "tcp_slow_start_after_idle": "0",
}
NETWORK = "10.99.0"


def why_not() -> str | None:
    """Why there can be no hosts here; None where there can."""
    if os.geteuid() != 0:
        return "needs root, for network namespaces"
    for tool in ("ip", "tc"):
        if not shutil.which(tool):
            return f"needs {tool}, of the package iproute2"
    name = f"etcp{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode:
        return "no network namespace can be made here"
    subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return None


class Hosts:
    """`with Hosts(4) as hosts:`; the lines are unlimited until limit() is called."""

    def __init__(self, count: int):
        self.count = count
        self.prefix = f"etch{os.getpid()}"
        self.bridge = f"{self.prefix}br"

    def __enter__(self) -> Hosts:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that __exit__ runs
        ip("netns", "add", self.bridge)
        ip("-n", self.bridge, "link", "add", "br0", "type", "bridge")
        ip("-n", self.bridge, "link", "set", "br0", "up")
        for host in range(self.count):
            name, port = self.name(host), f"port{host}"
            ip("netns", "add", name)
            ip(
                *f"link add eth0 netns {name} type veth".split(),
                *f"peer name {port} netns {self.bridge}".split(),
            )
            ip(*f"-n {self.bridge} link set {port} master br0 up".split())
            ip(*f"-n {name} addr add {self.address(host)}/24 dev eth0".split())
            ip(*f"-n {name} link set eth0 up".split())
            ip(*f"-n {name} link set lo up".split())
            settings = [f"net.ipv4.{key}={value}" for key, value in SETTINGS.items()]
            call(["ip", "netns", "exec", name, "sysctl", "-qw", *settings])
        return self

    def __exit__(self, *_) -> None:
        for name in [self.name(host) for host in range(self.count)] + [self.bridge]:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def name(self, host: int) -> str:
        return f"{self.prefix}n{host}"

    def address(self, host: int) -> str:
        return f"{NETWORK}.{host + 1}"

    def limit(self, megabits: float) -> None:
        """Limits every line, in both directions."""
        rate = megabits * 1e6
        bucket = f"root tbf rate {rate:.0f}bit burst {BURST_BYTES} limit {QUEUE_BYTES}"
        for host in range(self.count):
            ends = ((self.name(host), "eth0"), (self.bridge, f"port{host}"))
            for space, device in ends:
                command = f"tc -n {space} qdisc replace dev {device} {bucket}"
                call(command.split())

    def unlimit(self, host: int) -> None:
        """Gives one host a line as fast as the machine."""
        for space, device in ((self.name(host), "eth0"), (self.bridge, f"port{host}")):
            call(f"tc -n {space} qdisc del dev {device} root".split())

    def start(self, host: int, command: list, **options) -> subprocess.Popen:
        """Starts a process on a host; its standard output is a pipe."""
        # Hosts have their cores to themselves; whatever else runs here waits.
        prefix = ["nice", "-n", "-15", "ip", "netns", "exec", self.name(host)]
        command = prefix + [str(part) for part in command]
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    def migrate(self, run: pathlib.Path, plan: pathlib.Path, *options: str) -> dict:
        """Executes a plan, a process a device on its host; what etc-run says."""
        places = self.hosts_of(run, plan)
        with tempfile.TemporaryDirectory(prefix="etc-bench-") as meet:
            processes = []
            for rank, host in enumerate(places):
                environment = os.environ | {
                    "RANK": str(rank),
                    "WORLD_SIZE": str(len(places)),
                }
                command = [run, "--transport=tcp", f"--host={self.address(host)}"]
                command += [f"--rendezvous={meet}", "--timeout=300", "--floor-rate=1"]
                command += ["--json", *options, plan]
                processes.append(self.start(host, command, env=environment))
            outputs = finish(processes)
        return json.loads(outputs[0])

    def hosts_of(self, run: pathlib.Path, plan: pathlib.Path) -> list[int]:
        """The host of every rank of a plan: its node."""
        forecast = json.loads(call([run, "--dry-run", "--json", plan]))
        return [device["node"] for device in forecast["devices"]]


def finish(processes: list[subprocess.Popen]) -> list[str]:
    """The outputs of processes that all have to succeed."""
    outputs = []
    for process in processes:
        out, error = process.communicate()
        if process.returncode:
            for other in processes:
                other.kill()
            raise SystemExit(f"etc-bench: on a host: {error.strip() or out.strip()}")
        outputs.append(out)
    return outputs


def ip(*arguments: str) -> None:
    call(["ip", *arguments])
