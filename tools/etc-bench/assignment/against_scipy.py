#!/usr/bin/env python3
"""Pairs etc-bench-assignment with scipy.optimize.linear_sum_assignment, case by case in one run.

usage: against_scipy.py PATH/etc-bench-assignment [--repetitions N] [--roles MIN MAX]

Ours is the whole way from two configurations to who sits where. SciPy gets its matrix for free: only the call is
timed, and it minimises the negative weights, so that it has nothing to convert. Both run N times, in turn; the ratio
is that of the medians. The bytes that both keep must be equal. 16384 roles take a matrix of 2 GiB.
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


def ours(binary, name=None):
    """Runs the cases, or the one case, and returns Google Benchmark's records."""
    command = [binary, "--benchmark_format=json"]
    if name:
        command += [f"--benchmark_filter=^{name}$", "--benchmark_min_time=0.2"]
    else:
        command += ["--benchmark_min_time=0"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["benchmarks"]


def overlaps(extent, roles, devices):
    """[roles, devices] units that even splits of [0, extent) into so many intervals share."""
    a = numpy.arange(roles + 1) * extent // roles
    b = numpy.arange(devices + 1) * extent // devices
    shared = numpy.minimum.outer(a[1:], b[1:]) - numpy.maximum.outer(a[:-1], b[:-1])
    return numpy.maximum(shared, 0).astype(float)


def cost_matrix(prev, curr, layers):
    slices = math.lcm(prev[1], curr[1])
    classes = -numpy.kron(overlaps(layers, curr[0], prev[0]), overlaps(slices, curr[1], prev[1]))
    return classes.repeat(curr[2], axis=0).repeat(prev[2], axis=1)


def scipy_run(matrix):
    begin = time.perf_counter()
    rows, cols = linear_sum_assignment(matrix)
    return 1e3 * (time.perf_counter() - begin), -matrix[rows, cols].sum()


def compare(binary, name, repetitions):
    numbers = [int(number) for number in re.findall(r"\d+", name)]
    prev, curr, layers = numbers[0:3], numbers[3:6], numbers[6]
    matrix = cost_matrix(prev, curr, layers)
    our_times, scipy_times = [], []
    for _ in range(repetitions):
        record = ours(binary, name)[0]
        scipy_time, kept = scipy_run(matrix)
        if kept != record["kept"]:
            raise SystemExit(f"{name}: SciPy keeps {kept}, we keep {record['kept']}")
        our_times.append(record["real_time"])
        scipy_times.append(scipy_time)
    our_time, scipy_time = statistics.median(our_times), statistics.median(scipy_times)
    print(f"| {len(matrix)} | {name} | {our_time:.3f} | {scipy_time:.2f} | {scipy_time / our_time:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--roles", type=int, nargs=2, default=[0, 16384], metavar=("MIN", "MAX"))
    arguments = parser.parse_args()

    print("| roles | case | ours, ms | SciPy, ms | SciPy / ours |")
    print("|---|---|---|---|---|")
    for record in ours(arguments.binary):
        pp, tp, dp = [int(number) for number in re.findall(r"\d+", record["name"])[3:6]]
        if arguments.roles[0] <= pp * tp * dp <= arguments.roles[1]:
            compare(arguments.binary, record["name"], arguments.repetitions)


if __name__ == "__main__":
    main()
