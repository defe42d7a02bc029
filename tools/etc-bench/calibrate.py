"""What the simulator has to be told of a rate-limited line: measured with bare TCP
(wire.py), without ETC."""

from __future__ import annotations

import pathlib
import sys
from typing import NamedTuple

from hosts import Hosts, finish

WIRE = pathlib.Path(__file__).resolve().parent / "wire.py"


class Line(NamedTuple):
    """Of a line of so many bytes per second, the share that is payload; the bytes of
    acknowledgements for each byte received; the latency."""

    payload_share: float
    acknowledgement_share: float
    latency_seconds: float


def wire(
    hosts: Hosts, ends: tuple[int, int], role: str, count: int, port: int
) -> float:
    """What wire.py prints between two hosts."""
    script = [sys.executable, WIRE]
    server = hosts.start(ends[1], [*script, "serve", hosts.address(ends[1]), port])
    server.stdout.readline()
    client = hosts.start(ends[0], [*script, role, hosts.address(ends[1]), port, count])
    seconds = float(finish([client])[0])
    finish([server])
    return seconds


def calibrate(
    hosts: Hosts, ends: tuple[int, int], megabits: float, repetitions: int
) -> Line:
    """The line between two hosts, which is limited to so many Mb/s; the best of all
    repetitions."""
    rate = megabits * 1e6 / 8
    count = int(2 * rate)
    one_way, both_ways, bounces = [], [], []
    for index in range(repetitions):
        port = 5000 + 3 * index
        one_way.append(wire(hosts, ends, "send", count, port))
        both_ways.append(wire(hosts, ends, "exchange", count, port + 1))
        bounces.append(wire(hosts, ends, "bounce", 101, port + 2))
    one, both = min(one_way), min(both_ways)
    return Line(count / one / rate, max(0.0, both / one - 1), min(bounces) / 2)
