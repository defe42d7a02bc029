"""Where the files of a checkpoint are: in a folder that every host sees, or in the memory
of the hosts that made them, where every process serves the files that it has written,
and reads those of other hosts over the network."""

from __future__ import annotations

import io
import os
import shutil
import socket
import socketserver
import struct
import threading
from pathlib import Path
from typing import BinaryIO, Optional, Tuple

import torch.distributed as dist
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
        self.fs, self.metadata = Files(store, host), None

    def read_metadata(self, *args, **kwargs):
        self.metadata = self.metadata or super().read_metadata(*args, **kwargs)
        return self.metadata

    def _slice_file(self, file, info):
        if isinstance(file, RemoteFile):
            return io.BytesIO(file.part(info.offset, info.length))
        return super()._slice_file(file, info)


class Folder:
    """A folder that every host sees: no byte of it crosses a line. Its owner removes it
    when all have read it."""

    def __init__(self, path: Path, owner: bool):
        self.path, self.owner = path, owner

    def beside(self, name: str) -> Folder:
        """Another one of the same kind, inside."""
        return Folder(self.path / name, self.owner)

    def announce(self) -> None:
        """What this process has written can be read."""

    def open(self, name: str) -> BinaryIO:
        """A file that some process has written."""
        return open(self.path / name, "rb")

    def reader(self) -> FileSystemReader:
        """The same for torch.distributed.checkpoint."""
        return FileSystemReader(self.path)

    def close(self) -> None:
        if self.owner:
            shutil.rmtree(self.path, ignore_errors=True)


class HostFolder(Folder):
    """A folder of this process's own, that it serves to processes on other hosts."""

    def __init__(self, path: Path, store, host: Optional[str]):
        super().__init__(path, owner=True)
        self.store, self.host = store, host or "127.0.0.1"
        self.server = Server(self.host)

    def beside(self, name: str) -> Folder:
        return HostFolder(self.path / name, dist.PrefixStore(name, self.store),
                          self.host)

    def announce(self) -> None:
        if self.path.exists():
            self.server.announce(self.store, self.path)

    def open(self, name: str) -> BinaryIO:
        file = Files(self.store, self.host).create_stream(Path(name), "rb")
        if not isinstance(file, RemoteFile):
            return file
        with file:
            return io.BytesIO(file.read())

    def reader(self) -> FileSystemReader:
        return HostReader(self.store, self.host)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        super().close()
