"""What the busiest sender sends, compared with the least that it could, by SciPy's linear programming.

Every case is a random pair of configurations. From the plan's JSON come the bytes that each device receives and the
devices that held them: those on its own node where there are any, which a plan has to prefer, else all. A linear
program spreads them so that the busiest sender sends least, in fractions of bytes. The busiest port of the plan, the
most that one device sends or receives, may be a thousandth above what that optimum and the receivers leave, since rows
are not cut. Plans with relays are counted and left out: their sources are others.

    random_egress.py etc-opt                           100 cases, in half a minute
    random_egress.py etc-opt --count=10000             the long run, in half an hour
    random_egress.py etc-opt --seed=1234 --count=1     one case again
"""

import argparse
import collections
import json
import random
import subprocess
import sys

import numpy
from scipy.optimize import linprog
from scipy.sparse import lil_matrix

MODEL = ["--model=gpt2", "--layers=12", "--hidden=192", "--heads=4", "--vocab=8192"]
BYTES = {"bf16": 2, "fp32": 4}
ALLOWED = 1.001


def draw(rng: random.Random) -> list[str]:
    """Two configurations of up to 96 devices, on nodes of 2 to 8, some of which are spare."""

    def side() -> tuple[int, int, int]:
        return rng.choice([1, 2, 3, 4, 6]), rng.choice([1, 2, 4]), rng.choice([1, 2, 3, 4])

    optimizer = rng.choice(["", "", "+zero1"])
    sides = [side(), side()]
    devices = rng.choice([2, 4, 8])
    nodes = -(-max(pp * tp * dp for pp, tp, dp in sides) // devices) + rng.choice([0, 0, 1])
    prev, curr = (f"PP{pp}TP{tp}DP{dp}{optimizer}" for pp, tp, dp in sides)
    return [f"--prev={prev}", f"--curr={curr}", f"--cluster={nodes}x{devices}", "--place=any"]


def find_holders(plan: dict) -> dict[int, list]:
    """The boxes that devices held before, and the devices, by tensor."""
    held = collections.defaultdict(list)
    for device in plan["devices"]:
        for number in device["prev"]:
            shard = plan["shards"][number]
            for box in shard["boxes"]:
                held[shard["tensor"]].append((box, device["device"]))
    return held


def is_within(box: list, around: list) -> bool:
    return all(outer[0] <= inner[0] and inner[1] <= outer[1] for inner, outer in zip(box, around))


def find_demands(plan: dict) -> collections.Counter:
    """Bytes that are received, by the devices that may send them."""
    nodes = [node for node, count in enumerate(plan["world"]["nodes"]) for _ in range(count)]
    held, demands, known = find_holders(plan), collections.Counter(), {}
    for device in plan["devices"]:
        for op in (op for ops in device["rounds"] for op in ops if op["op"] == "recv"):
            tensor = op.get("source", op["tensor"])
            key = tensor, tuple(map(tuple, op["box"]))
            if key not in known:
                known[key] = [other for around, other in held[tensor] if is_within(op["box"], around)]
            near = [other for other in known[key] if nodes[other] == nodes[device["device"]]]
            size = BYTES[plan["tensors"][tensor]["dtype"]]
            demands[frozenset(near or known[key])] += size * int(numpy.prod([end - begin for begin, end in op["box"]]))
    return demands


def least_egress(demands: collections.Counter) -> float:
    """The least that the busiest sender sends, in bytes."""
    senders = sorted(set().union(*demands))
    shares = [(row, sender) for row, group in enumerate(demands) for sender in sorted(group)]
    total = max(demands.values())
    whole, load = lil_matrix((len(demands), len(shares) + 1)), lil_matrix((len(senders), len(shares) + 1))
    for column, (row, sender) in enumerate(shares):
        whole[row, column] = load[senders.index(sender), column] = 1
    load[:, len(shares)] = -1
    cost = numpy.zeros(len(shares) + 1)
    cost[-1] = 1
    result = linprog(cost, A_ub=load.tocsr(), b_ub=numpy.zeros(len(senders)), A_eq=whole.tocsr(),
                     b_eq=[demand / total for demand in demands.values()], method="highs")
    assert result.status == 0, result.message
    return result.fun * total


def run(etc_opt: str, request: list[str]) -> tuple[str, float]:
    """"relays", "nothing" or "level", and how often the least; raises where the busiest sender sends too much."""
    done = subprocess.run([etc_opt, *MODEL, *request, "--emit=json", "--quiet"], capture_output=True, text=True, check=True)
    plan = json.loads(done.stdout)
    summary = plan["summary"]
    if summary["relayed_bytes"]:
        return "relays", 1
    if not summary["moved_bytes"]:
        return "nothing", 1
    least = max(least_egress(find_demands(plan)), summary["max_recv_bytes"])
    busiest = max(summary["max_send_bytes"], summary["max_recv_bytes"])
    assert busiest <= ALLOWED * least, f"the busiest port has {busiest} bytes, {least:.0f} are enough"
    return "level", busiest / least


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etc_opt")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--count", type=int, default=100)
    options = parser.parse_args()
    print(f"{options.count} plans from seed {options.seed} on", flush=True)
    outcomes, worst = collections.Counter(), 1.0
    for seed in range(options.seed, options.seed + options.count):
        request = draw(random.Random(seed))
        try:
            kind, ratio = run(options.etc_opt, request)
            outcomes[kind] += 1
            worst = max(worst, ratio)
        except (AssertionError, subprocess.CalledProcessError) as error:
            print(f"seed {seed}: {' '.join(request)}: {getattr(error, 'stderr', '') or error}")
            outcomes["wrong"] += 1
    print(f"{outcomes['level']} level, {outcomes['relays']} with relays, {outcomes['nothing']} that move nothing, "
          f"{outcomes['wrong']} wrong; at most {worst:.3f}x the least")
    return 1 if outcomes["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
