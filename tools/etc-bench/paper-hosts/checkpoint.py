"""Plain files as a checkpoint path: every shard is written once, and every new shard's
bytes are read.

As a module it works out who writes and reads what. As a program it is one host of such
a run:

    checkpoint.py TASK.json     waits for lines on stdin (save, load, end), answers
                                each with one on stdout

No format, no metadata, no wait for the disk, no resharding in memory, no restart of
processes: a real checkpoint path does all that too. What a migration casts where it
lands (param) is spared here as well.
"""

from __future__ import annotations

import json
import math
import pathlib
import socket
import struct
import sys
import threading
from collections import defaultdict
from typing import NamedTuple

DTYPE_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "fp64": 8, "i64": 8, "u8": 1}
BLOCK = memoryview(bytearray(1 << 20))
HEADER = struct.Struct("!cQ32s")  # what, bytes, file


class Piece(NamedTuple):
    """Bytes of a file on a host."""

    host: int
    file: str
    bytes: int


class Work(NamedTuple):
    """By host: what it writes, and what each of its devices reads."""

    writes: dict[int, list[Piece]]
    reads: dict[int, list[list[Piece]]]

    def volume(self) -> tuple[int, int]:
        written = sum(
            piece.bytes for pieces in self.writes.values() for piece in pieces
        )
        read = sum(
            p.bytes
            for devices in self.reads.values()
            for pieces in devices
            for p in pieces
        )
        return written, read


def overlap(one: list, other: list) -> int:
    """Elements that two lists of disjoint boxes share."""
    return sum(
        math.prod(max(0, min(a[1], b[1]) - max(a[0], b[0])) for a, b in zip(x, y))
        for x in one
        for y in other
    )


def share_out(plan: dict, storage: int | None) -> Work:
    """The work of a plan's state; in the hosts' own memory, or all on `storage`."""
    starts = [0]
    for count in plan["world"]["nodes"]:
        starts.append(starts[-1] + count)
    host_of = {
        d["device"]: max(h for h, s in enumerate(starts) if s <= d["device"])
        for d in plan["devices"]
    }
    kept = {i for i, tensor in enumerate(plan["tensors"]) if tensor["type"] != "param"}
    shards = plan["shards"]

    def size(elements: int, tensor: int) -> int:
        return elements * DTYPE_BYTES[plan["tensors"][tensor]["dtype"]]

    holders = defaultdict(list)  # of a shard: hosts, the one of the lowest device first
    for device in plan["devices"]:
        for shard in device["prev"]:
            if shards[shard]["tensor"] in kept:
                holders[shard].append(host_of[device["device"]])
    writes, of_tensor, load = defaultdict(list), defaultdict(list), defaultdict(int)
    for shard, hosts in holders.items():
        boxes = shards[shard]["boxes"]
        count = size(overlap(boxes, boxes), shards[shard]["tensor"])
        of_tensor[shards[shard]["tensor"]].append(shard)
        for host in hosts[:1] if storage is not None else dict.fromkeys(hosts):
            writes[host].append(
                Piece(host if storage is None else storage, str(shard), count)
            )
    reads = defaultdict(list)
    for device in plan["devices"]:
        host, pieces = host_of[device["device"]], []
        for shard in device["curr"]:
            tensor = shards[shard]["tensor"]
            for source in of_tensor[tensor] if tensor in kept else []:
                count = size(
                    overlap(shards[shard]["boxes"], shards[source]["boxes"]), tensor
                )
                if count == 0:
                    continue
                hosts = holders[source]
                place = (
                    storage
                    if storage is not None
                    else host
                    if host in hosts
                    else min(hosts, key=lambda h: load[h])
                )
                load[place] += count
                pieces.append(Piece(place, str(source), count))
        if pieces:
            reads[host].append(pieces)
    return Work(writes, reads)


def receive_exactly(connection: socket.socket, count: int, file=None) -> None:
    room = memoryview(bytearray(1 << 20))
    while count:
        got = connection.recv_into(room, min(count, len(room)))
        if got == 0:
            raise SystemExit("checkpoint: the other end has gone")
        if file:
            file.write(room[:got])
        count -= got


def write_file(path: pathlib.Path, count: int) -> None:
    with path.open("wb") as file:
        while count:
            count -= file.write(BLOCK[: min(count, len(BLOCK))])


def answer(connection: socket.socket, folder: pathlib.Path) -> None:
    """Serves one connection: (p)ut a file, (g)et a file's first bytes."""
    while header := connection.recv(HEADER.size, socket.MSG_WAITALL):
        what, count, name = HEADER.unpack(header)
        path = folder / name.rstrip(b"\0").decode()
        if what == b"p":
            with path.open("wb") as file:
                receive_exactly(connection, count, file)
            connection.sendall(b"\0")
        else:
            with path.open("rb") as file:
                connection.sendfile(file, 0, count)


def serve(address: str, port: int, folder: pathlib.Path) -> None:
    server = socket.create_server((address, port), backlog=64)

    def accept() -> None:
        while True:
            connection, _ = server.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(
                target=answer, args=(connection, folder), daemon=True
            ).start()

    threading.Thread(target=accept, daemon=True).start()


class Host:
    def __init__(self, task: dict):
        self.task, self.host = task, task["host"]
        self.folder = pathlib.Path(task["folder"])
        serve(task["addresses"][self.host], task["port"], self.folder)

    def connect(self, connections: dict, host: int) -> socket.socket:
        if host not in connections:
            connections[host] = socket.create_connection(
                (self.task["addresses"][host], self.task["port"])
            )
            connections[host].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connections[host]

    def save(self) -> None:
        connections: dict = {}
        for host, name, count in self.task["writes"]:
            if host == self.host:
                write_file(self.folder / name, count)
                continue
            connection = self.connect(connections, host)
            connection.sendall(HEADER.pack(b"p", count, name.encode()))
            left = count
            while left:
                left -= connection.send(BLOCK[: min(left, len(BLOCK))])
        for connection in connections.values():
            receive_exactly(
                connection, sum(host != self.host for host, _, _ in self.task["writes"])
            )

    def load(self) -> None:
        devices = [
            threading.Thread(target=self.read, args=(pieces,))
            for pieces in self.task["reads"]
        ]
        for device in devices:
            device.start()
        for device in devices:
            device.join()

    def read(self, pieces: list) -> None:
        """What one device reads, one piece after the other."""
        connections: dict = {}
        room = memoryview(bytearray(1 << 20))
        for host, name, count in pieces:
            if host == self.host:
                with (self.folder / name).open("rb") as file:
                    while count:
                        count -= file.readinto(room[: min(count, len(room))])
                continue
            connection = self.connect(connections, host)
            connection.sendall(HEADER.pack(b"g", count, name.encode()))
            receive_exactly(connection, count)


def main() -> None:
    host = Host(json.loads(pathlib.Path(sys.argv[1]).read_text()))
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() == "end":
            break
        host.save() if line.strip() == "save" else host.load()
        print("done", flush=True)


if __name__ == "__main__":
    main()
