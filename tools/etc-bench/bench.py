"""What the subjects of etc-bench share: arguments, plans, runs, tables, and the JSON.

A subject looks like this:

    bench = Bench("roles", "Our roles against the identity rank mapping", __doc__)
    table = bench.table("...", [("case", TEXT), ("GB/s", NUMBER), ("", SHARE_SPREAD)])
    table.row("PP4", 1.5, [0.9, 0.91, 0.93])
    bench.conclude("PP4 reaches 0.91 of ...")
    bench.finish()

Figures are planned or measured. Planned ones (bytes, rounds, simulated times) depend on
the code alone: `--planned` makes these and takes no time, and a test compares them with
what is published (published.py). A column whose figures need a clock or a run says
MEASURED behind its kind, such a conclusion measured=True.

A cell of a spread is the list of all single figures; its text has their median and
range. So the JSON keeps what was measured, and the text is made from it by `cell`
alone, here and in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import atexit
import hashlib
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

LEFT_OUT = 77

# How a column's values are written.
TEXT, COUNT, NUMBER, SECONDS, MILLISECONDS, BYTES, SHARE, RATIO = (
    "text",
    "count",
    "number",
    "s",
    "ms",
    "bytes",
    "share",
    "ratio",
)
MILLISECONDS_SPREAD, SECONDS_SPREAD, SHARE_SPREAD, RATIO_SPREAD = (
    "ms spread",
    "s spread",
    "share spread",
    "ratio spread",
)
DIFFERENCE = "difference"  # a share, with its sign
MEASURED = True  # third in a column: its figures need a clock or a run


def significant(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, never in exponents."""
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    return (
        f"{float(text):.0f}"
        if abs(value) >= 10 ** (digits - 1)
        else f"{float(text):#.{digits}g}"
    )


def bytes_text(value: float) -> str:
    """Decimal units, as etc-opt and etc-run print them."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{value / size:.2f} {unit}"
    return f"{value:.0f} B"


FORMATS: dict[str, Callable[[Any], str]] = {
    TEXT: str,
    COUNT: lambda value: f"{value:,}".replace(",", " "),
    NUMBER: significant,
    SECONDS: significant,
    MILLISECONDS: significant,
    BYTES: bytes_text,
    SHARE: lambda value: f"{100 * value:.1f}%",
    RATIO: lambda value: f"{significant(value)}x",
    DIFFERENCE: lambda value: f"{100 * value:+.1f}%",
}


def cell(value, kind: str) -> str:
    """The text of a cell; of a spread, the median, the least and the most."""
    if value is None:
        return "-"
    if kind.endswith(" spread"):
        text = FORMATS[kind.removesuffix(" spread")]
        middle = text(statistics.median(value))
        return (
            f"{middle} ({text(min(value))} - {text(max(value))})"
            if len(value) > 1
            else middle
        )
    return FORMATS[kind](value)


def markdown(table: dict) -> str:
    """A table of the JSON as Markdown."""
    names = [column["name"] for column in table["columns"]]
    kinds = [column["kind"] for column in table["columns"]]
    lines = [names, ["---" if kind == TEXT else "---:" for kind in kinds]]
    lines += [
        [cell(value, kind) for value, kind in zip(row, kinds, strict=True)]
        for row in table["rows"]
    ]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def column_of(name: str, kind: str, measured: bool = False) -> dict:
    """A column of the JSON."""
    return {"name": name, "kind": kind} | ({"measured": True} if measured else {})


class Table:
    """Rows under columns; `note` says in a sentence or two what stands in them."""

    def __init__(self, title: str, columns: list[tuple], note: str):
        self.data: dict[str, Any] = {
            "title": title,
            "note": note,
            "columns": [column_of(*column) for column in columns],
            "rows": [],
        }

    def row(self, *values) -> None:
        assert len(values) == len(self.data["columns"]), values
        self.data["rows"].append(list(values))


def busy_share(seconds: float = 1) -> float:
    """The share of all processors that is in use while nothing is measured yet."""

    def ticks() -> tuple[int, int]:
        fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
        values = [int(field) for field in fields]
        return sum(values), values[3] + values[4]  # idle, and waiting for a disk

    total, idle = ticks()
    time.sleep(seconds)
    total_then, idle_then = ticks()
    return round(1 - (idle_then - idle) / max(1, total_then - total), 2)


class Bench:
    """One run of a subject: the arguments it got, the tables it fills."""

    def __init__(self, subject: str, title: str, doc: str):
        parser = argparse.ArgumentParser(
            description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument(
            "--quick", action="store_true", help="small cases, few repetitions"
        )
        parser.add_argument(
            "--opt", type=pathlib.Path, required=True, metavar="PATH", help="etc-opt"
        )
        parser.add_argument(
            "--run", type=pathlib.Path, required=True, metavar="PATH", help="etc-run"
        )
        parser.add_argument(
            "--json",
            type=pathlib.Path,
            required=True,
            metavar="FILE",
            help="where the figures go",
        )
        parser.add_argument(
            "--planned",
            type=pathlib.Path,
            metavar="FILE",
            help="planned figures only; FILE is what is published of the subject",
        )
        arguments = parser.parse_args()
        self.subject, self.title, self.quick = subject, title, arguments.quick
        self.measures = arguments.planned is None
        self.published = (
            {} if self.measures else json.loads(arguments.planned.read_text())
        )
        self.opt, self.run_tool = arguments.opt.resolve(), arguments.run.resolve()
        self.json, self.bin = arguments.json, arguments.opt.resolve().parent
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="etc-bench-"))
        atexit.register(shutil.rmtree, self.work, ignore_errors=True)
        self.tables: list[Table] = []
        self.conclusions: list[str] = []
        self.measured_conclusions: list[str] = []
        self.inputs: str | None = None
        self.busy = busy_share() if self.measures else 0
        self.begin = time.monotonic()

    def table(self, title: str, columns: list[tuple], note: str = "") -> Table:
        self.tables.append(Table(title, columns, note))
        return self.tables[-1]

    def conclude(self, sentence: str, measured: bool = False) -> None:
        """A sentence that compares; its figures come from the tables."""
        (self.measured_conclusions if measured else self.conclusions).append(sentence)

    def stands(self, inputs: str) -> bool:
        """Whether figures that take long need not be made again, since what they are
        made from, of which `inputs` is a digest, is as it was when published."""
        self.inputs = inputs
        return not self.measures and self.published.get("inputs") == inputs

    def repetitions(self, full: int, quick: int = 1) -> int:
        return quick if self.quick else full

    # Tools

    def plan(self, name: str, *options: str | pathlib.Path) -> pathlib.Path:
        """Plans and returns the file, for example plan("pp", "--prev=PP4", ...)."""
        path = self.work / f"{name}.etcplan"
        call([self.opt, *options, "--quiet", "--emit=plan", "-o", path])
        return path

    def summary(self, *options: str) -> dict:
        """The summary of a plan, as JSON."""
        return json.loads(
            call([self.opt, *options, "--quiet", "--emit=json", "--devices=0"])
        )["summary"]

    def execute(self, plan: pathlib.Path, *options: str) -> dict:
        """Runs a plan and returns what etc-run says of it."""
        return json.loads(call([self.run_tool, "--json", *options, plan]))

    def leave_out(self, reason: str) -> None:
        """Ends a subject that can't be made here, or need not be."""
        print(f"{self.subject}: {reason}", file=sys.stderr)
        sys.exit(LEFT_OUT)

    def finish(self) -> None:
        """Writes the JSON and prints the tables."""
        result = {
            "format": "etc-bench",
            "version": 1,
            "subject": self.subject,
            "title": self.title,
            "quick": self.quick,
            "etc_version": call([self.opt, "--version"]).splitlines()[0],
            "machine": machine(),
            "busy_before": self.busy,
            "wall_seconds": round(time.monotonic() - self.begin, 1),
            "tables": [table.data for table in self.tables],
            "conclusions": self.conclusions,
            "measured_conclusions": self.measured_conclusions,
        }
        if self.inputs:
            result["inputs"] = self.inputs
        self.json.parent.mkdir(parents=True, exist_ok=True)
        write_sealed(result, self.json)
        print(text_of(result), end="")


def text_of(result: dict) -> str:
    """Tables and conclusions of a subject as Markdown, for `run` and for the page."""
    parts = []
    for table in result["tables"]:
        parts.append(
            f"**{table['title']}.** {table['note']}".rstrip() + "\n\n" + markdown(table)
        )
    if conclusions := conclusions_of(result):
        parts.append("".join(f"- {sentence}\n" for sentence in conclusions))
    return "\n".join(parts)


def conclusions_of(result: dict) -> list[str]:
    """What a subject concludes, measured sentences first."""
    return result.get("measured_conclusions", []) + result["conclusions"]


def is_measured(result: dict) -> bool:
    """Whether any figure of a subject needs a clock or a run."""
    columns = [column for table in result["tables"] for column in table["columns"]]
    return any(column.get("measured") for column in columns)


def seal_of(result: dict) -> str:
    """A hash of all of a result: it shows that a figure was changed by hand, or that a
    conclusion, a revision or a machine belongs to other figures."""
    content = {key: value for key, value in result.items() if key != "seal"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_sealed(result: dict, file: pathlib.Path) -> None:
    """Writes a result with its seal."""
    file.write_text(json.dumps(result | {"seal": seal_of(result)}, indent=1) + "\n")


def machine() -> dict:
    """What was measured on, in words that name no machine."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in open("/proc/cpuinfo")
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": memory,
        "system": platform.system(),
        "kernel": platform.release().split("-")[0],
        "python": platform.python_version(),
    }


def call(command: list, stderr: bool = False) -> str:
    """What a command that has to succeed writes to its output, or to its errors."""
    words = [str(part) for part in command]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"etc-bench: {' '.join(words)}\n{done.stderr.strip()}")
    return done.stderr if stderr else done.stdout


def timed(command: list) -> float:
    """Seconds of a command as a whole process, start-up included."""
    begin = time.perf_counter()
    call(command)
    return time.perf_counter() - begin


def python_with(module: str) -> str | None:
    """An interpreter that has a module: this one, ETC_BENCH_PYTHON, or the system's."""
    for python in (
        sys.executable,
        os.environ.get("ETC_BENCH_PYTHON"),
        "/usr/bin/python3",
    ):
        if (
            python
            and subprocess.run(
                [python, "-c", f"import {module}"], capture_output=True
            ).returncode
            == 0
        ):
            return python
    return None
