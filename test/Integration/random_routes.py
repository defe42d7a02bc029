"""The objective `time` against `internode`: predictions are never longer, and the bound of the roles is never passed.

Every case is a random pair of configurations of a model of real size, on 2 to 16 nodes, at the rates of a shipped
cluster. It is planned with both objectives; etc-run predicts both plans. With `time` a plan takes at most ALLOWED times
as long, moves more bytes between nodes only if it takes less time or links are slow, and its busiest link or NIC is no
faster than its bound. It takes no longer than with narrower values of `place`.

    random_routes.py etc-opt etc-run                             12 cases
    random_routes.py etc-opt etc-run --count=500                 the long run, in a quarter of an hour
    random_routes.py etc-opt etc-run --seed=1234 --count=1       one case again
"""

import argparse
import contextlib
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator

MODELS = (("gpt3-2.7b", 8), ("gpt3-2.7b", 32), ("llama3-8b", 8), ("llama3-8b", 32), ("gpt3-13b", 8), ("mixtral-8x7b", 4))
CLUSTERS = ("h100", "h100", "paper-cluster-a", "paper-cluster-b")
# Their links are hardly faster than their NICs, so that bytes may as well come from other nodes.
SLOW_LINKS = ("paper-cluster-a",)
ALLOWED = 1.001
# Of times that differ by less, fewer bytes decide.
ABOUT_SAME = 1.0101
NARROWER = {"any": ("tp", "pack"), "tp": ("pack",), "pack": ()}


def draw_side(rng: random.Random, layers: int, sparse: bool, most: int) -> tuple[str, int]:
    """A configuration in shorthand, and its size."""
    while True:
        pp, tp, dp = rng.choice([d for d in (1, 2, 4, 8) if layers % d == 0]), rng.choice((1, 2, 4, 8)), rng.choice((1, 1, 2, 3, 4, 8))
        if pp * tp * dp <= most:
            break
    text = f"PP{pp}TP{tp}DP{dp}"
    if sparse:
        text += f"EP{rng.choice([d for d in (1, 2, 4, 8) if dp % d == 0])}ETP{tp}"
    return text + rng.choice(("", "", "", "+zero1")), pp * tp * dp


def draw(rng: random.Random) -> tuple[list[str], str]:
    """Options of a request, and the cluster that it is for."""
    model, layers = rng.choice(MODELS)
    per_node = rng.choice((4, 8))
    sides = [draw_side(rng, layers, model.startswith("mixtral"), 16 * per_node) for _ in range(2)]
    nodes = min(16, max(2, math.ceil(max(size for _, size in sides) / per_node) + rng.choice((0, 0, 1))))
    cluster = rng.choice(CLUSTERS)
    options = [f"--model={model}", f"--layers={layers}", f"--prev={sides[0][0]}", f"--curr={sides[1][0]}",
               f"--cluster={nodes}x{per_node}@{cluster}", f"--place={rng.choice(('any', 'tp', 'pack'))}"]
    return options, cluster


class Planner:
    def __init__(self, etc_opt: str, etc_run: str, directory: pathlib.Path):
        self.etc_opt, self.etc_run, self.directory = etc_opt, etc_run, directory

    def predict(self, request: list[str], cluster: str, objective: str) -> dict:
        plan = self.directory / "plan.etcplan"
        self.run(self.etc_opt, *request, f"--objective={objective}", "--emit=plan", "-o", str(plan), "--quiet")
        return json.loads(self.run(self.etc_run, str(plan), "--dry-run", "--json", f"--cluster={cluster}"))

    def predict_narrower(self, request: list[str], cluster: str) -> Iterator[tuple[str, dict]]:
        """The same with narrower values of `place`, the last option, where groups fit nodes."""
        *others, place = request
        for narrower in NARROWER[place.partition("=")[2]]:
            with contextlib.suppress(subprocess.CalledProcessError):
                yield narrower, self.predict([*others, f"--place={narrower}"], cluster, "time")

    @staticmethod
    def run(*command: str) -> str:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def compare(planner: Planner, request: list[str], cluster: str) -> tuple[float, float]:
    """How many times as fast, and the busiest resource over the bound; raises where `time` is worse."""
    by_bytes, by_time = (planner.predict(request, cluster, objective) for objective in ("internode", "time"))
    before, after = by_bytes["seconds"], by_time["seconds"]
    assert after <= ALLOWED * before, f"by time {after:.6f} s, by bytes {before:.6f} s"
    for place, other in planner.predict_narrower(request, cluster):
        assert after <= ABOUT_SAME * other["seconds"], f"{after:.6f} s, with {place} {other['seconds']:.6f} s"
    if cluster not in SLOW_LINKS and by_time["internode_bytes"] > by_bytes["internode_bytes"]:
        assert after < before, "more bytes between nodes, and as long"
    bound = by_time.get("bound_seconds") or 0
    if not bound:
        return 1, 1
    assert by_time["busiest_port_seconds"] >= bound * (1 - 1e-9), "the busiest port is below the bound"
    return before / after, by_time["busiest_port_seconds"] / bound


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etc_opt")
    parser.add_argument("etc_run")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--verbose", action="store_true", help="a line for each case")
    options = parser.parse_args()
    print(f"{options.count} requests from seed {options.seed} on", flush=True)
    gains, gaps, wrong = [], [], 0
    with tempfile.TemporaryDirectory() as directory:
        planner = Planner(options.etc_opt, options.etc_run, pathlib.Path(directory))
        for seed in range(options.seed, options.seed + options.count):
            request, cluster = draw(random.Random(seed))
            try:
                gain, gap = compare(planner, request, cluster)
                gains.append(gain)
                gaps.append(gap)
                if options.verbose:
                    print(f"seed {seed}: {' '.join(request)}: {gain:.2f} x as fast, {gap:.3f} x the bound", flush=True)
            except (AssertionError, subprocess.CalledProcessError) as error:
                print(f"seed {seed}: {' '.join(request)}: {getattr(error, 'stderr', '') or error}", flush=True)
                wrong += 1
    if gains:
        print(f"{min(gains):.2f} to {max(gains):.2f} x as fast, median {statistics.median(gains):.2f}; busiest port "
              f"over bound: median {statistics.median(gaps):.2f}, at most {max(gaps):.2f}")
    print(f"{len(gains)} good, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
