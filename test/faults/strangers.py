#!/usr/bin/env python3
"""Strangers at every port while eight processes meet and migrate: P10 of docs/reliability.md.

Whatever listens on this host after a run begins is connected to, again and again, with noise, with greetings that
look right, or with silence. Each migration has to end as if nobody had come, every byte verified.
"""

import argparse
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

LISTENS = "0A"
HELLO = b"ETCCTRL2" + bytes(40)
INTRODUCTION = b"ETCPEER3" + bytes(12)
STATE = b"ETCDATA1" + bytes(72)


Address = tuple[str, int]


def listening() -> set[Address]:
    """Where on this host somebody listens, over IPv4."""
    lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    fields = [line.split() for line in lines]
    return {parse(f[1]) for f in fields if f[3] == LISTENS}


def parse(text: str) -> Address:
    host, port = text.split(":")
    return socket.inet_ntoa(struct.pack("=L", int(host, 16))), int(port, 16)


def children(pid: int) -> list[int]:
    try:
        return [int(c) for c in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def delay(pid: int, chance: random.Random) -> None:
    """Stops a process that was started for a moment, so that the others leave their ports open."""
    for _ in range(3):
        time.sleep(chance.uniform(0, 0.03))
        if started := children(pid):
            victim = chance.choice(started)
            try:
                os.kill(victim, signal.SIGSTOP)
                time.sleep(0.1)
                os.kill(victim, signal.SIGCONT)
            except ProcessLookupError:
                pass


class Strangers(threading.Thread):
    """Connects to all ports that begin to listen, until stop()."""

    def __init__(self, seed: int):
        super().__init__()
        self.random = random.Random(seed)
        self.others = listening()
        self.stopping = threading.Event()
        self.sockets: list[socket.socket] = []
        self.reached: set[Address] = set()

    def run(self) -> None:
        while not self.stopping.is_set():
            for address in listening() - self.others:
                self.visit(address)
            # Some leave, most stay and are silent.
            while len(self.sockets) > 400:
                self.sockets.pop(self.random.randrange(400)).close()

    def visit(self, address: Address) -> None:
        try:
            made = socket.create_connection(address, timeout=0.2)
            self.sockets.append(made)
            self.reached.add(address)
            said = self.random.choice((b"", HELLO, INTRODUCTION, STATE, None))
            made.sendall(self.random.randbytes(4096) if said is None else said)
        except OSError:
            pass  # it listens no more

    def stop(self) -> int:
        """The number of ports that were reached."""
        self.stopping.set()
        self.join()
        for made in self.sockets:
            made.close()
        return len(self.reached)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="where etc-opt and etc-run are")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    reached = 0
    with tempfile.TemporaryDirectory() as folder:
        plan = pathlib.Path(folder) / "m.etcplan"
        asked = ["--model=gpt2", "--hidden=96", "--prev=PP2TP2", "--curr=PP2TP4", "--cluster=1x8", "--quiet", "--emit=plan"]
        subprocess.run([options.bin / "etc-opt", *asked, "-o", plan], check=True)
        for run in range(options.runs):
            strangers = Strangers(options.seed + run)
            strangers.start()
            encrypt = ["--encrypt"] if run % 2 else []
            # Ports are open for milliseconds: strangers get the processor first.
            command = ["nice", "-n", "19", options.bin / "etc-run", plan, "--transport=tcp", "--launch=8", *encrypt]
            started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            delay(started.pid, strangers.random)
            said, _ = started.communicate()
            reached += strangers.stop()
            if started.returncode != 0 or "verified: every element" not in said:
                print(f"run {run} {' '.join(encrypt)}: exit status {started.returncode}\n{said}")
                return 1
    print(f"{options.runs} runs, strangers at {reached} ports")
    return 0 if reached > options.runs else 1


if __name__ == "__main__":
    sys.exit(main())
