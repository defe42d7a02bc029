"""A checkpoint in the memory of the hosts that made it: every process serves the files
that it has written, and reads those of other hosts over the network."""

from __future__ import annotations

import io
import os
import socket
import socketserver
import struct
import threading
from pathlib import Path
from typing import Optional, Tuple

from torch.distributed.checkpoint import FileSystemReader
from torch.distributed.checkpoint.filesystem import FileSystem

REQUEST = struct.Struct("!QQ")  # offset, length; a line with the path comes before


class Handler(socketserver.StreamRequestHandler):
    """Parts of one file, as long as they are asked for."""

    def handle(self) -> None:
        path = self.rfile.readline().decode().strip()
        with open(path, "rb") as file:
            while request := self.rfile.read(REQUEST.size):
                offset, length = REQUEST.unpack(request)
                self.request.sendall(struct.pack("!Q", length))
                while length:
                    sent = os.sendfile(self.request.fileno(), file.fileno(), offset,
                                       length)
                    offset, length = offset + sent, length - sent


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, host: str):
        super().__init__((host, 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def announce(self, store, folder: Path) -> None:
        """Tells where each file of the folder is, and how long it is."""
        host, port = str(self.server_address[0]), self.server_address[1]
        for path in folder.iterdir():
            size = path.stat().st_size
            store.set(f"file/{path.name}", f"{host}|{port}|{size}|{path}")


class RemoteFile(io.RawIOBase):
    def __init__(self, address: Tuple[str, int], path: str, size: int):
        self.connection = socket.create_connection(address)
        self.connection.sendall(path.encode() + b"\n")
        self.size, self.answer = size, self.connection.makefile("rb")

    def part(self, offset: int, length: int) -> bytes:
        self.connection.sendall(REQUEST.pack(offset, length))
        self.answer.read(8)
        return self.answer.read(length)

    def read(self, size: int = -1) -> bytes:
        return self.part(0, self.size)

    def close(self) -> None:
        self.answer.close()
        self.connection.close()
        super().close()


class Files(FileSystem):
    def __init__(self, store, host: str):
        self.store, self.host = store, host

    def create_stream(self, path, mode: str):
        place = self.store.get(f"file/{path.name}").decode()
        host, port, size, where = place.split("|")
        if host == self.host:
            return open(where, mode)
        return RemoteFile((host, int(port)), where, int(size))


class HostReader(FileSystemReader):
    """Reads each tensor in one piece, from the host that has it."""

    def __init__(self, store, host: str):
        super().__init__("")
        self.fs = Files(store, host)

    def _slice_file(self, file, info):
        if isinstance(file, RemoteFile):
            return io.BytesIO(file.part(info.offset, info.length))
        return super()._slice_file(file, info)


class HostFiles:
    """Where a process keeps its part, and how it reads those of all."""

    def __init__(self, store, host: Optional[str]):
        self.store, self.host = store, host or "127.0.0.1"
        self.server = Server(self.host)

    def announce(self, folder: Path) -> None:
        if folder.exists():
            self.server.announce(self.store, folder)

    def reader(self) -> HostReader:
        return HostReader(self.store, self.host)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
