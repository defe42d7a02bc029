#!/usr/bin/env python3
"""Pairs etc-bench-assignment with scipy.optimize.linear_sum_assignment and with LEMON, case by case in one run.

usage: compare.py PATH/etc-bench-assignment [--repetitions N] [--roles MIN MAX]

Against SciPy, ours is the whole way from two configurations to who sits where. SciPy gets its matrix for free: only the
call is timed, and it minimises the negative weights, so that it has nothing to convert. Against LEMON (where it was
found when the benchmark was built) both solve the class graph, built beforehand; the faster of LEMON's network simplex
and cost scaling counts.

All run N times, in turn; ratios are those of the medians. The bytes that all keep must be equal. 16384 roles take SciPy
a matrix of 2 GiB.
"""

import argparse
import json
import math
import re
import statistics
import subprocess
import time

import numpy
from scipy.optimize import linear_sum_assignment


def measure(binary, name):
    """Milliseconds of one of Google Benchmark's cases, and the bytes it keeps."""
    command = [
        binary,
        "--benchmark_format=json",
        f"--benchmark_filter=^{name}$",
        "--benchmark_min_time=0.2",
    ]
    record = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )["benchmarks"][0]
    return record["real_time"], record["kept"]


def cases(binary):
    """The names of all cases."""
    text = subprocess.run(
        [binary, "--benchmark_list_tests"], check=True, capture_output=True, text=True
    ).stdout
    return text.split()


def overlaps(extent, roles, devices):
    """[roles, devices] units that even splits of [0, extent) into so many intervals share."""
    a = numpy.arange(roles + 1) * extent // roles
    b = numpy.arange(devices + 1) * extent // devices
    shared = numpy.minimum.outer(a[1:], b[1:]) - numpy.maximum.outer(a[:-1], b[:-1])
    return numpy.maximum(shared, 0).astype(float)


def cost_matrix(prev, curr, layers):
    slices = math.lcm(prev[1], curr[1])
    classes = -numpy.kron(
        overlaps(layers, curr[0], prev[0]), overlaps(slices, curr[1], prev[1])
    )
    return classes.repeat(curr[2], axis=0).repeat(prev[2], axis=1)


def scipy_run(matrix):
    begin = time.perf_counter()
    rows, cols = linear_sum_assignment(matrix)
    return 1e3 * (time.perf_counter() - begin), -matrix[rows, cols].sum()


class Case:
    def __init__(self, name, names):
        self.name = name
        numbers = [int(number) for number in re.findall(r"\d+", name)]
        self.prev, self.curr, self.layers = numbers[0:3], numbers[3:6], numbers[6]
        self.roles = math.prod(self.curr)
        self.lemon = [
            method
            for method in ("simplex", "scaling")
            if f"solve:{method}/{name}" in names
        ]

    def compare(self, binary, repetitions):
        matrix = cost_matrix(self.prev, self.curr, self.layers)
        times = {}
        for _ in range(repetitions):
            runs = {
                "ours": measure(binary, self.name),
                "alone": measure(binary, f"solve:ours/{self.name}"),
            }
            for method in self.lemon:
                runs[method] = measure(binary, f"solve:{method}/{self.name}")
            runs["scipy"] = scipy_run(matrix)
            if len({kept for _, kept in runs.values()}) != 1:
                raise SystemExit(f"{self.name}: not all keep the same: {runs}")
            for key, (milliseconds, _) in runs.items():
                times.setdefault(key, []).append(milliseconds)
        return times


def ratio(value, base):
    return f"{value / base:.0f}" if value >= 10 * base else f"{value / base:.1f}"


def print_json(roles, title, times):
    """All runs of a case in milliseconds; none of LEMON where it was not built."""
    print(json.dumps({"roles": roles, "case": title, **times}), flush=True)


def print_row(roles, title, times):
    times = {key: statistics.median(values) for key, values in times.items() if values}
    scipy, lemon = times["scipy"], times.get("lemon")
    cells = [
        roles,
        title,
        f"{times['ours']:.3f}",
        f"{scipy:.2f}",
        ratio(scipy, times["ours"]),
        f"{times['alone']:.3f}",
        f"{lemon:.3f}" if lemon else "-",
        ratio(lemon, times["alone"]) if lemon else "-",
    ]
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("binary")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument(
        "--json",
        action="store_true",
        help="a line of JSON a case, in place of the table",
    )
    parser.add_argument(
        "--roles", type=int, nargs=2, default=[0, 16384], metavar=("MIN", "MAX")
    )
    arguments = parser.parse_args()

    names = cases(arguments.binary)
    write = print_json if arguments.json else print_row
    if not arguments.json:
        print(
            "| roles | case | ours, ms | SciPy, ms | SciPy / ours | solution alone, ms | LEMON, ms | LEMON / ours |"
        )
        print("|---|---|---|---|---|---|---|---|")
    for name in names:
        if name.startswith("solve:"):
            continue
        case = Case(name, names)
        if arguments.roles[0] <= case.roles <= arguments.roles[1]:
            times = case.compare(arguments.binary, arguments.repetitions)
            lemon = min(
                (times[method] for method in case.lemon),
                default=None,
                key=statistics.median,
            )
            title = (
                name.replace("DP1/", "/")
                .replace("/layers:", " layers:")
                .replace("/", " -> ")
            )
            write(case.roles, title, {**times, "lemon": lemon})


if __name__ == "__main__":
    main()
