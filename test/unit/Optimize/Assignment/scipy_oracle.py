"""Compares the solver's totals with scipy.optimize.linear_sum_assignment on random problems.

usage: scipy_oracle.py PATH/etc-assignment-problems

ETC_PROPERTY_COUNT sets how many problems (2000), ETC_PROPERTY_SEED the first seed (1). Exits with 77, "skipped",
where SciPy is not installed.
"""

import json
import os
import subprocess
import sys

try:
    import numpy
    from scipy.optimize import linear_sum_assignment
except ImportError:
    print("skipped: scipy is not installed")
    sys.exit(77)

# A byte on the node as a number of bytes on the device. The totals are small here, so a plain factor that doubles
# hold exactly will do.
NODE = 1 << 20


def scipy_total(problem):
    """The best total of the problem spread out into single roles and devices, as node * NODE + device."""
    classes = numpy.zeros((len(problem["supply"]), len(problem["capacity"])))
    for row, col, node, device in problem["edges"]:
        classes[row, col] = node * NODE + device
    matrix = classes.repeat(problem["supply"], axis=0).repeat(problem["capacity"], axis=1)
    rows, cols = linear_sum_assignment(matrix, maximize=True)
    return int(matrix[rows, cols].sum())


def main():
    count = os.environ.get("ETC_PROPERTY_COUNT", "2000")
    seed = os.environ.get("ETC_PROPERTY_SEED", "1")
    compared = 0
    with subprocess.Popen([sys.argv[1], count, seed], stdout=subprocess.PIPE, text=True) as printer:
        for line in printer.stdout:
            problem = json.loads(line)
            node, device = problem["total"]
            expected = scipy_total(problem)
            if node * NODE + device != expected:
                sys.exit(f"seed {problem['seed']}: expected {expected}, got {node} * {NODE} + {device}")
            compared += 1
    if printer.returncode != 0 or compared != int(count):
        sys.exit(f"compared {compared} of {count} problems, exit status {printer.returncode}")
    print(f"{compared} problems from seed {seed} on agree with SciPy")


if __name__ == "__main__":
    main()
