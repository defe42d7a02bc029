"""Bounds of time over all roles that are wrong in one place, all refused by etc-verify-plan (V17).

usage: mutate_role_bounds.py etc-opt [--count=40] [--seed=1]

Plans of a few requests, each with `count` mutations: a number of the bound that is a little or far off, a node or
device that is left out, nodes for devices. Printed: the seed, how many are refused, and those that are not.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile

VERIFY = "--pass-pipeline=builtin.module(etc.migration(etc-verify-plan))"
SMALL = ("--layers=4", "--hidden=64", "--heads=4", "--vocab=100", "--seq=4", "--quiet")
REQUESTS = (
    ("--prev=PP2", "--curr=PP2DP3", "--cluster=3x2"),
    ("--prev=PP2", "--curr=PP4", "--cluster=1x4"),
    ("--prev=PP4TP2", "--curr=PP2TP2", "--cluster=4x2"),
    ("--prev=PP2TP2", "--curr=PP2TP2DP2", "--cluster=2x4@paper-cluster-b"),
    ("--prev=PP2TP2", "--curr=PP4TP1DP2", "--cluster=2x4"),
    ("--prev=DP2+zero1", "--curr=DP4+zero1", "--cluster=2x2", "--place=any"),
    ("--prev=PP4TP2", "--curr=PP4TP2DP2", "--cluster=6x4@paper-cluster-a", "--place=tp"),
    ("--prev=PP2TP4", "--curr=PP2TP2DP2", "--cluster=4x4", "--draining=0,1,2,3"),
    ("--prev=PP2DP4", "--curr=PP2DP3", "--cluster=4x2", "--failed=0,1"),
)
LINE = re.compile(r"etc\.role_bound (\w+) (\w+) \[([-0-9, ]*)\] u \[([-0-9, ]*)\] v \[([-0-9, ]*)\] bytes (\d+) rate (\d+)")


def numbers(text):
    return [int(number) for number in text.split(", ")] if text else []


def shift(rng, value):
    """Another number, near or far, not below 1."""
    others = {value + 1, value - 1, value + rng.randint(2, 1000), 2 * value, value // 2} - {value}
    return rng.choice(sorted(other for other in others if other >= 1))


def mutate(rng, line):
    level, witness, inside, u, v, size, rate = line
    inside, u, v = numbers(inside), numbers(u), numbers(v)
    kinds = ["bytes", "rate", "level"] + ["u", "u"] * bool(u) + ["v"] * any(v) + ["inside"] * (len(inside) > 1)
    kind = rng.choice(kinds)
    if kind == "bytes":
        size = shift(rng, int(size))
    elif kind == "rate":
        rate = shift(rng, int(rate))
    elif kind == "level":
        level = "device" if level == "node" else "node"
    elif kind == "inside":
        inside.pop(rng.randrange(len(inside)))
    else:
        duals = u if kind == "u" else v
        at = rng.choice([i for i, dual in enumerate(duals) if kind == "u" or dual])
        duals[at] = shift(rng, duals[at]) if rng.random() < 0.9 else -1
    lists = [", ".join(map(str, numbers)) for numbers in (inside, u, v)]
    return kind, "etc.role_bound {} {} [{}] u [{}] v [{}] bytes {} rate {}".format(level, witness, *lists, size, rate)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("etc_opt")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng, made, refused, witnesses = random.Random(options.seed), 0, 0, set()
    print(f"seed {options.seed}", flush=True)
    for request in REQUESTS:
        plan = subprocess.run([options.etc_opt, "--model=gpt2", *SMALL, *request], capture_output=True, text=True)
        assert plan.returncode == 0, plan.stderr
        found = LINE.search(plan.stdout)
        assert found, f"no bound over all roles: {request}"
        witnesses.add((found[1], found[2]))
        mutants = [mutate(rng, found.groups()) for _ in range(options.count)]
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
            file.write("\n// -----\n".join(LINE.sub(text, plan.stdout) for _, text in mutants))
            file.flush()
            done = subprocess.run([options.etc_opt, file.name, "--split-input-file", VERIFY, "-o", "/dev/null"],
                                  capture_output=True, text=True)
        wrong = re.findall(r"\(V17\)|expected \d+ values of u", done.stderr)
        made, refused = made + len(mutants), refused + len(wrong)
        if len(wrong) != len(mutants):
            print(f"{request}: {len(wrong)} of {len(mutants)}, {found[0]}:", *(text for _, text in mutants), sep="\n  ")
    print(f"bounds of {len(witnesses)} kinds: " + ", ".join(" ".join(kind) for kind in sorted(witnesses)))
    print(f"{refused} of {made} mutations refused")
    return 0 if refused == made else 1


if __name__ == "__main__":
    sys.exit(main())
