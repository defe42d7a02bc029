"""What gpu/run and gpu/cluster share: steps that never stop at a failure, and predictions beside measurements."""

from __future__ import annotations

import collections
import json
import os
import pathlib
import re
import subprocess
import time
from typing import Any

RATES = "h100"  # the cluster whose figures are predicted


class Steps:
    """Runs commands one after the other; what fails is noted, and the next one runs."""

    def __init__(self, results: pathlib.Path):
        self.results = results
        self.failed: list[str] = []
        results.mkdir(parents=True, exist_ok=True)

    def run(
        self,
        name: str,
        command: list,
        environment: dict[str, str] | None = None,
        timeout: float = 600,
    ) -> str:
        """The output, which goes to NAME.txt too. Empty where the command could not be started."""
        print(f"== {name}", flush=True)
        began = time.monotonic()
        output = ""
        code: int | str
        try:
            done = subprocess.run(
                [str(word) for word in command],
                env=os.environ | (environment or {}),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=timeout,
            )
            output, code = done.stdout, done.returncode
        except subprocess.TimeoutExpired as late:
            output = (late.stdout or b"").decode(errors="replace")
            code = f"no end within {timeout:.0f} s"
        except OSError as error:
            code = str(error)
        (self.results / f"{name}.txt").write_text(output)
        seconds = time.monotonic() - began
        print(f"   {'done' if code == 0 else f'FAILED ({code})'}, {seconds:.1f} s")
        if code != 0:
            self.failed.append(f"{name}: {code}")
            print("".join(f"   {line}\n" for line in output.splitlines()[-5:]), end="")
        return output


def json_of(output: str) -> dict[str, Any]:
    """The JSON in what a program printed; nothing where there is none."""
    begin, end = output.find("{"), output.rfind("}")
    try:
        return json.loads(output[begin : end + 1])
    except ValueError:
        return {}


def logged(log: pathlib.Path, results: pathlib.Path, name: str) -> dict[str, str]:
    """The environment in which calls, and NCCL's channels, are logged."""
    return {
        "ETC_LOGGED_CUDA_DRIVER": os.environ.get("ETC_CUDA_DRIVER", "libcuda.so.1"),
        "ETC_LOGGED_NCCL": os.environ.get("ETC_NCCL", "libnccl.so.2"),
        "ETC_CUDA_DRIVER": str(log),
        "ETC_NCCL": str(log),
        "ETC_CALL_LOG": str(results / f"{name}.calls"),
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_FILE": str(results / f"{name}.nccl.%p"),
    }


class Calls:
    """The calls of rounds, of all processes, as etc-call-log logged them.

    A group is a round. What prepare connects is the first group of a process.
    """

    def __init__(self, folder: pathlib.Path, pattern: str):
        self.groups = 0
        self.launches = 0
        self.most_launches = 0  # on a stream between two groups
        self.forbidden: collections.Counter[str] = collections.Counter()
        self.page_moves = 0
        for path in folder.glob(pattern):
            threads: dict[str, list[list[str]]] = {}
            for line in path.read_text().splitlines():
                thread, _, *call = line.split()
                threads.setdefault(thread, []).append(call)
            for calls in threads.values():
                self._count(calls)

    def _count(self, calls: list[list[str]]) -> None:
        ends = [i for i, call in enumerate(calls) if call[0] == "ncclGroupEnd"]
        if len(ends) < 2:
            return
        self.groups += len(ends) - 1
        on_stream: collections.Counter[str] = collections.Counter()
        # From the first group of a round to the last one.
        for name, *rest in calls[ends[1] : ends[-1] + 1]:
            if name == "cuLaunchKernel":
                self.launches += 1
                on_stream[rest[0]] += 1
                self.most_launches = max(self.most_launches, on_stream[rest[0]])
            elif name == "ncclGroupEnd":
                on_stream.clear()
            elif name in ("cuMemMap", "cuMemUnmap", "cuMemSetAccess"):
                self.page_moves += 1
            elif re.search("Alloc|Free|Create|Destroy|Release|Reserve|Load|Init", name):
                self.forbidden[name] += 1


def channels_of(folder: pathlib.Path, pattern: str) -> int | None:
    """The channels of the pair that has most, as NCCL_DEBUG=INFO names them."""
    pairs: dict[tuple[str, str], set[str]] = {}
    for path in folder.glob(pattern):
        for match in re.finditer(
            r"Channel (\d+)/\d+ : (\d+)\[\w+\] -> (\d+)\[\w+\]",
            path.read_text(errors="replace"),
        ):
            pairs.setdefault((match[2], match[3]), set()).add(match[1])
    return max(map(len, pairs.values()), default=None)


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def compare(rows: list[tuple[str, float | None, float | None]]) -> str:
    """A table of names, predictions and measurements, and by how much they differ."""
    lines = ["| | predicted | measured | difference |", "| --- | ---: | ---: | ---: |"]
    for name, predicted, measured in rows:
        differs = "-"
        if predicted and measured is not None:
            differs = f"{100 * (measured / predicted - 1):+.1f}%"
        lines.append(
            f"| {name} | {number(predicted)} | {number(measured)} | {differs} |"
        )
    return "\n".join(lines) + "\n"


def rows_of(
    name: str,
    forecast: dict,
    measured: dict,
    calls: Calls,
    channels: int | None,
    nodes: int = 1,
    shared: bool = False,
) -> list[tuple[str, float | None, float | None]]:
    """One migration over NCCL: what its plan predicts beside what was measured. Where
    processes share a GPU, NCCL has sockets instead of NVLink, at no predicted speed."""
    wire = forecast.get("nccl", {})
    rounds = wire.get("rounds")
    devices = measured.get("devices", [])
    seconds = measured.get("seconds")
    port = None if shared else forecast.get("busiest_port_seconds")
    predicted = None if shared else forecast.get("seconds")
    host = sum(
        each[f"{part}_seconds"]
        for each in devices
        for part in ("pack", "copy", "unpack", "acknowledge")
    )
    peak = max((each["peak_bytes"] for each in devices), default=None)
    proved = max(
        (each["peak_bytes"] for each in forecast.get("devices", [])), default=None
    )
    return [
        # Of this node's processes, where there are others.
        (f"{name}: groups", rounds if nodes == 1 else None, calls.groups or None),
        (
            f"{name}: launches a round, at most",
            3,
            calls.launches / calls.groups if calls.groups else None,
        ),
        (
            f"{name}: launches a stream and round, at most",
            2,
            calls.most_launches or None,
        ),
        (f"{name}: calls in rounds that create or release", 0, calls.forbidden.total()),
        (
            f"{name}: channels of a pair",
            None if shared else 32 if nodes == 1 else 16,
            channels,
        ),
        (
            f"{name}: host time a round, ms",
            None,
            1e3 * host / rounds if rounds and devices else None,
        ),
        (f"{name}: seconds", predicted, seconds),
        (
            f"{name}: share of the busiest port",
            port / predicted if port and predicted else None,
            port / seconds if port and seconds else None,
        ),
        (f"{name}: peak of a device, bytes", proved, peak),
    ]


def finish(steps: Steps, rows: list[tuple[str, float | None, float | None]]) -> None:
    """Writes and prints the table, and what failed."""
    table = compare(rows)
    failed = "".join(f"- {each}\n" for each in steps.failed)
    text = f"{table}\n{'Failed:' if failed else 'Nothing failed.'}\n{failed}"
    (steps.results / "summary.md").write_text(text)
    print(f"== predictions beside measurements\n{text}", end="")
