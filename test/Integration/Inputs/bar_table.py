"""The table of bars for GPT-3 2.7B: what moves, in GB, and in brackets what of it moves between nodes of four devices.

    bar_table.py FOLDER -- etc-opt

A row a reconfiguration, at 14 bytes a parameter:

    assigned          any role on any device, the least in all first
    in node           tensor-parallel groups inside nodes; * on the fewest nodes as well; - where a group exceeds a node
    survivors given   the devices beyond the new world leave
    derived           that param, cast from master, makes each of these figures 12/14 of itself, to the byte

The figures are those of --emit=summary. Both sides pad the vocabulary as the larger TP does.
"""

import json
import math
import re
import subprocess
import sys

ROWS = ("2,4,1 -> 2,4,2", "2,4,1 -> 4,4,1", "2,4,1 -> 2,8,1", "4,4,1 -> 2,4,1", "2,8,1 -> 2,4,1", "2,4,2 -> 2,4,1",
        "2,2,2 -> 4,4,1", "8,1,1 -> 16,1,1", "16,1,1 -> 8,1,1", "4,2,1 -> 4,4,1", "4,4,1 -> 4,2,1")
PACKED = ("16,1,1 -> 8,1,1", "4,4,1 -> 4,2,1")
VOCABULARY, HIDDEN, NODE = 50257, 2560, 4


def padded(tp):
    return -(-VOCABULARY // (128 * tp)) * 128 * tp


class Row:
    def __init__(self, command, folder, name):
        self.command, self.file = command, f"{folder}/plan.json"
        sides = [[int(size) for size in side.split(",")] for side in name.split(" -> ")]
        self.worlds = [math.prod(side) for side in sides]
        self.tp = max(side[1] for side in sides)
        prev, curr = ("PP{}TP{}DP{}".format(*side) for side in sides)
        self.request = ["--model=gpt3-2.7b", "--seq=1024", f"--prev={prev}", f"--curr={curr}",
                        f"--cluster={max(self.worlds) // NODE}x{NODE}"]

    def run(self, options, vocabulary=None):
        vocabulary = vocabulary or padded(self.tp)
        return subprocess.run([*self.command, *self.request, f"--vocab={vocabulary}", *options], check=True,
                              capture_output=True, text=True).stdout

    def summary(self, *options):
        """"17.63 [0.00]" of the summary."""
        text = self.run([*options, "--derive=none", "--emit=summary"])
        figures = re.search(r"moves +(\S+ \S+) of .*, (\S+ \S+) between nodes", text).groups()
        return "{:.2f} [{:.2f}]".format(*map(gigabytes, figures))

    def volumes(self, *options, vocabulary=None):
        self.run([*options, "--emit=json", "--devices=0", "--quiet", "-o", self.file], vocabulary)
        with open(self.file) as file:
            summary = json.load(file)["summary"]
        return summary["moved_bytes"], summary["internode_bytes"]

    def is_derived(self, *options):
        moved = self.volumes(*options, "--derive=none")
        derived = self.volumes(*options, "--derive=param")
        return all(12 * all_types == 14 * most for all_types, most in zip(moved, derived))


def gigabytes(text):
    number, unit = text.split()
    return float(number) * {"B": 1e-9, "MB": 1e-3, "GB": 1}[unit]


def columns(row, name):
    anywhere = ["--place=any", "--objective=total"]
    yield "assigned", "", anywhere
    if row.tp <= NODE or name.startswith("2,8,1"):
        yield "in node", "*" if name in PACKED else "", ["--objective=internode", "--place=pack" if name in PACKED else "--place=tp"]
    if row.worlds[1] < row.worlds[0]:
        draining = ",".join(map(str, range(row.worlds[1], row.worlds[0])))
        yield "survivors given", "", [*anywhere, f"--draining={draining}"]


def main():
    folder, command = sys.argv[1], sys.argv[sys.argv.index("--") + 1:]
    for name in ROWS:
        row = Row(command, folder, name)
        cells, derived = [], True
        for column, mark, options in columns(row, name):
            cells.append(f"{column} {row.summary(*options)}{mark}")
            derived = derived and row.is_derived(*options)
        print(f"{name}: {', '.join(cells)}; derived {'12/14' if derived else 'differs'}", flush=True)
    differences(command, folder)


def differences(command, folder):
    """Where a rule makes a digit differ, by how many bytes."""
    anywhere = ["--place=any", "--objective=total", "--derive=none"]
    row = Row(command, folder, "2,4,1 -> 2,8,1")
    less = row.volumes(*anywhere)[0] - row.volumes(*anywhere, vocabulary=VOCABULARY)[0]
    rows = less / (HIDDEN * 14)
    print(f"2,4,1 -> 2,8,1 padded per side: {less} bytes less, {rows:g} rows of the vocabulary")


if __name__ == "__main__":
    main()
