"""The stores of process groups."""

from __future__ import annotations

import datetime
import socket
from typing import Any


def store_of(group: Any = None) -> Any:
    """The store of a torch.distributed process group, or of the default one."""
    from torch.distributed import distributed_c10d as c10d

    if group is None:
        return c10d._get_default_store()
    if hasattr(c10d, "_get_process_group_store"):
        return c10d._get_process_group_store(group)
    return c10d._pg_map[group][1]  # torch 1.13


def serve_store(host: str) -> Any:
    """A TCPStore of this process, at a free port of this address. By itself, torch
    listens at all addresses of the host."""
    listener = socket.create_server((host, 0))
    port = listener.getsockname()[1]
    return _make_store(
        host,
        port,
        is_master=True,
        wait_for_workers=False,
        master_listen_fd=listener.detach(),
    )


def join_store(host: str, port: int, timeout: datetime.timedelta) -> Any:
    """A TCPStore of another process."""
    return _make_store(host, port, is_master=False, timeout=timeout)


def _make_store(*place: Any, **options: Any) -> Any:
    """With libuv, which serves many clients faster, where torch has it: Debian's has
    not, and refuses the default."""
    from torch.distributed import TCPStore

    try:
        return TCPStore(*place, use_libuv=True, **options)
    except RuntimeError as error:
        if "without libuv" not in str(error):
            raise
    return TCPStore(*place, use_libuv=False, **options)
