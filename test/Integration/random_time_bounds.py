"""The bound of time of plans for small random requests, against a linear program with relays and transit.

Cases are small requests of Inputs/random_requests.py, at least half of them of tied embeddings with a large vocabulary,
with random rates: links are at least four times as fast as NICs. What ranks hold and need comes from Megatron's rules
(Inputs/megatron.py), element by element, where tied copies are the same bytes as their twins. The program is that of
unit/Optimize/Routing/lp_oracle.py, for the plan's placement. No bound may be above it. Printed: the seeds; each bound
that is more than 1% below, and the resources on which the program has a price there; how many are.

    random_time_bounds.py etc-opt --count=2500 --seed=40001      a long run, in some minutes
    random_time_bounds.py etc-opt --seed=1234 --count=1          one case again
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from random_role_bounds import World
import random_requests
from layout_case import Case
from lp_oracle import TOLERANCE, least_time

MOST_DEVICES = 9
MOST_VARIABLES = 60_000


def draw(rng):
    """A request that a linear program can bound soon, and the cluster's rates."""
    while True:
        request, _ = random_requests.draw_request(rng)
        if "policy" in request or sum(request["cluster"]["nodes"]) > MOST_DEVICES:
            continue
        if rng.random() < 0.5:
            request["model"].update(tied=True, vocab=rng.choice((40, 100, 400)))
        request.pop("memory_budget", None)
        if rng.random() < 0.5:
            count, size = sum(request["cluster"]["nodes"]), rng.choice((2, 3, 4))
            request["cluster"]["nodes"] = [size] * -(-count // size)
        nic = rng.choice((10, 25)) * 10**6
        request["cluster"]["rates"] = {
            "name": "random", "link": {"bytes_per_second": rng.choice((4, 6, 9, 18)) * nic, "latency_seconds": 0},
            "port": {"per_node": rng.choice((1, 1, 2, 8)), "bytes_per_second": nic, "latency_seconds": 0},
            "pack": {"bytes_per_second": 10**9}}
        return request


def plan(etc_opt, request, folder):
    """Nothing where tensor-parallel groups do not fit into nodes."""
    file = folder / "request.json"
    file.write_text(json.dumps(request))
    done = subprocess.run([etc_opt, file, "--emit=json", "--quiet"], capture_output=True, text=True)
    if done.returncode and "do not fit the nodes" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def try_seed(etc_opt, seed, folder):
    """The bound of the time, its witness, the least time of the program and what it prices; nothing without a plan."""
    request = draw(random.Random(seed))
    case = Case(request, [])
    case.study()
    if case.is_lost or not (made := plan(etc_opt, request, folder)):
        return None
    world = World(case)
    devices = [pair["device"] for pair in made["sketch"]]
    posed = world.pose(devices)
    hops = len(posed["devices"]) ** 2
    if sum(hops * (len(needers) + 1) for _, _, needers in posed["atoms"]) > MOST_VARIABLES:
        return None
    least, prices = least_time(posed, transit=True)
    bound = made["time"]["bound_s"] if "time" in made else 0
    return bound, made.get("time", {}).get("witness", ""), least, prices, case.model.tied


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("etc_opt")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{options.count} cases from seed {options.seed} on", flush=True)
    ratios, wrong = {True: [], False: []}, 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.seed, options.seed + options.count):
            found = try_seed(options.etc_opt, seed, pathlib.Path(folder))
            if not found or found[2] == 0:
                continue
            bound, witness, least, prices, tied = found
            ratio = bound / least
            ratios[tied].append(ratio)
            wrong += ratio > 1 + TOLERANCE
            if not 0.99 <= ratio <= 1 + TOLERANCE:
                priced = ", ".join(f"{name} {number} {share:.0%}" for (name, number, _), share in prices.items())
                print(f"seed {seed}: {ratio:.4f} of the program ({witness}), which prices {priced}", flush=True)
    for tied, its in ratios.items():
        print(f"{'tied' if tied else 'not tied'}: {len(its)}, least {min(its, default=1):.4f}, "
              f"below 0.99: {sum(ratio < 0.99 for ratio in its)}, below 0.95: {sum(ratio < 0.95 for ratio in its)}")
    print(f"{wrong} above the program")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
