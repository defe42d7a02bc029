"""One end of a bare TCP connection, for what a line does without ETC: wire.py ROLE
ADDRESS PORT [BYTES].

serve    accepts, and does for the other end what it asks for
send     sends BYTES; prints the seconds until the other end has said that all are there
exchange both ends send BYTES at once; prints the seconds until both have all
bounce   prints the seconds that a byte takes there and back, the median of 101
"""

from __future__ import annotations

import socket
import statistics
import sys
import threading
import time

BLOCK = memoryview(bytearray(1 << 20))
LETTERS = {"send": b"s", "exchange": b"x", "bounce": b"b"}


def send(connection: socket.socket, count: int) -> None:
    while count:
        count -= connection.send(BLOCK[: min(count, len(BLOCK))])


def receive(connection: socket.socket, count: int) -> None:
    room = bytearray(1 << 20)
    while count:
        got = connection.recv_into(room, min(count, len(room)))
        if got == 0:
            raise SystemExit("wire: the other end has gone")
        count -= got


def exchange(connection: socket.socket, count: int) -> None:
    """Both directions at once, and a byte each when all is there."""
    sender = threading.Thread(target=send, args=(connection, count))
    sender.start()
    receive(connection, count)
    sender.join()
    send(connection, 1)
    receive(connection, 1)


def serve(address: str, port: int) -> None:
    with socket.create_server((address, port)) as server:
        print("ready", flush=True)
        connection, _ = server.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while request := connection.recv(9, socket.MSG_WAITALL):
        count = int.from_bytes(request[1:], "big")
        if request[:1] == b"s":
            receive(connection, count)
            send(connection, 1)
        elif request[:1] == b"x":
            exchange(connection, count)
        else:
            for _ in range(count):
                receive(connection, 1)
                send(connection, 1)


def ask(role: str, address: str, port: int, count: int) -> float:
    connection = socket.create_connection((address, port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(LETTERS[role] + count.to_bytes(8, "big"))
    begin = time.perf_counter()
    if role == "send":
        send(connection, count)
        receive(connection, 1)
    elif role == "exchange":
        exchange(connection, count)
    else:
        times = []
        for _ in range(count):
            start = time.perf_counter()
            send(connection, 1)
            receive(connection, 1)
            times.append(time.perf_counter() - start)
        return statistics.median(times)
    return time.perf_counter() - begin


def main() -> None:
    role, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if role == "serve":
        serve(address, port)
    else:
        print(ask(role, address, port, int(sys.argv[4])))


if __name__ == "__main__":
    main()
