"""What recover_faults.py does to a process, from outside and at a random moment."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import socket
import time

from recover_worker import Process

_PIDFD_GETFD = 438


class Injury:
    """A fault, and when it was there."""

    def __init__(self, kind: str, chance: random.Random) -> None:
        self.kind = kind
        self.chance = chance
        self.at: float | None = None

    def inflict(self, victim: Process, within: float) -> None:
        """Does it to the victim after a random time."""
        time.sleep(self.chance.uniform(0, within))
        self.at = time.monotonic()
        if self.kind == "kill":
            victim.process.kill()
        elif self.kind == "raise":
            victim.signal(signal.SIGINT)
        elif self.kind == "cut":
            cut(victim, self.chance)
        else:
            stop(victim)
        if self.kind == "pause":
            time.sleep(self.chance.uniform(0, 0.8))
            victim.signal(signal.SIGCONT)


def stop(victim: Process) -> None:
    """Not while it has the lock of all doubles, without which no GPU gets on."""
    victim.signal(signal.SIGSTOP)
    if "ETC_CUDA_DRIVER" not in os.environ or victim.process.pid is None:
        return
    double = ctypes.CDLL(os.environ["ETC_CUDA_DRIVER"])
    folder = f"/proc/{victim.process.pid}"
    while victim.process.is_alive():
        with open(f"{folder}/stat") as file:
            is_stopped = file.read().rpartition(")")[2].split()[0] == "T"
        if is_stopped and not os.path.exists(f"{folder}/task/{double.etcDoubleHolder()}"):
            return
        if is_stopped:
            victim.signal(signal.SIGCONT)
            time.sleep(0.001)
            victim.signal(signal.SIGSTOP)


def cut(victim: Process, chance: random.Random) -> None:
    """Ends one of the victim's connections, or all, as a network would: both processes
    live on. This process gets a copy of the socket and shuts it down."""
    found = _connections(victim.process.pid)
    chance.shuffle(found)
    for each in found if chance.random() < 0.3 else found[:1]:
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it has ended by itself
    for each in found:
        each.close()


def _connections(process: int | None) -> list[socket.socket]:
    """The connections that a process has over TCP."""
    if process is None:
        return []
    found = []
    handle = os.pidfd_open(process)
    for number in os.listdir(f"/proc/{process}/fd"):
        copy = _copy(process, handle, int(number))
        if copy is not None and _is_connected(copy):
            found.append(copy)
        elif copy is not None:
            copy.close()
    os.close(handle)
    return sorted(found, key=lambda each: each.getsockname()[1])


def _copy(process: int, handle: int, number: int) -> socket.socket | None:
    """A descriptor of another process, if it is a socket."""
    try:
        if not os.readlink(f"/proc/{process}/fd/{number}").startswith("socket:"):
            return None
    except FileNotFoundError:
        return None  # closed meanwhile
    copy = ctypes.CDLL(None).syscall(_PIDFD_GETFD, handle, number, 0)
    return socket.socket(fileno=copy) if copy >= 0 else None


def _is_connected(copy: socket.socket) -> bool:
    try:
        copy.getpeername()
    except OSError:
        return False
    return copy.family in (socket.AF_INET, socket.AF_INET6)
