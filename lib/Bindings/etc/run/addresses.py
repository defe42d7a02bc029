"""The addresses of this node, and of those where agents meet."""

from __future__ import annotations

import fcntl
import socket
import struct

Address = tuple[str, int]

PORT = 29400
"""torchrun's, where --rdzv-endpoint has none."""

# Linux's number of the request for an interface's address.
_SIOCGIFADDR = 0x8915


def read_endpoints(text: str) -> list[Address]:
    """--rdzv-endpoint: HOST[:PORT], or several with commas between. A name with several
    addresses, such as that of a headless service, is all of them. Raises ValueError."""
    found: list[Address] = []
    for part in filter(None, text.split(",")):
        host, _, port = part.strip().rpartition(":")
        if not host:
            host, port = port, str(PORT)
        if not port.isdecimal() or not 0 < int(port) < 65536:
            raise ValueError(
                f"--rdzv-endpoint: {part}: expected a port from 1 to 65535, got {port}"
            )
        try:
            answers = socket.getaddrinfo(host, int(port), socket.AF_INET)
        except OSError as error:
            raise ValueError(f"--rdzv-endpoint: {host}: {error.strerror}") from None
        except UnicodeError:  # an empty part between dots, or one that is too long
            raise ValueError(
                f"--rdzv-endpoint: {host} can't name a host; expected HOST[:PORT]"
            ) from None
        found += [(str(a[4][0]), int(port)) for a in answers]
    return list(dict.fromkeys(found))


def own_host(endpoints: list[Address]) -> str:
    """The address of this node from which the first endpoint is reached. Raises
    ValueError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((endpoints[0][0], PORT))
            return str(probe.getsockname()[0])
        except OSError as error:
            raise ValueError(
                f"--rdzv-endpoint: no way to {endpoints[0][0]}: {error.strerror}"
            ) from None


def listening_port(host: str, endpoints: list[Address]) -> int:
    """That of an endpoint on this node which is free, or any. Raises ValueError."""
    for port in [port for where, port in endpoints if where == host] + [0]:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise ValueError(f"--local-addr: {host} is no address of this node")


def interface_of(address: str) -> str | None:
    """The network interface that has this address, or that of this name; None where it
    is a further one."""
    try:
        address = socket.gethostbyname(address)
    except (OSError, UnicodeError):  # no name at all is the latter
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                answer = fcntl.ioctl(probe, _SIOCGIFADDR, request)
            except OSError:
                continue  # it has none
            if socket.inet_ntoa(answer[20:24]) == address:
                return name
    return None
