"""Random chains of requests: composed, A -> B -> C is A -> C with C's placement, byte for byte.

Each chain is planned as one (etc-opt A.json B.json), one by one (--coalesce=false), and as the request from its
beginning to its end, with the devices on which the chain one by one ends. The first and the last are the same file. It
moves no more than the plans one by one, unless one of these casts, or copies from a twin, what it has to move.

    random_chains.py path/to/etc-opt                                                                        200 chains
    ETC_PROPERTY_SEED=1234 ETC_PROPERTY_COUNT=1 random_chains.py path/to/etc-opt                   one case again

Chain i has seed ETC_PROPERTY_SEED + i. What goes wrong is printed with its seed.
"""

import collections
import concurrent.futures
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

NODES = ([8], [4, 4], [2, 4, 2], [4, 4, 4])


def draw_side(rng, devices):
    while True:
        side = {"pp": rng.choice((1, 1, 2, 2, 4)), "tp": rng.choice((1, 2, 2, 3, 4)), "dp": rng.choice((1, 1, 2, 2, 3, 4))}
        if math.prod(side.values()) <= devices:
            break
    if rng.random() < 0.3:
        side["distributed_optimizer"] = True
    return side


def draw_rates(rng):
    """So low that models as small as these take milliseconds, and routes are worth choosing."""
    return {"name": "random", "link": {"bytes_per_second": rng.choice((10, 40, 100)) * 10**6, "latency_seconds": 0},
            "port": {"per_node": rng.choice((1, 2, 4)), "bytes_per_second": rng.choice((1, 10, 25)) * 10**6,
                     "latency_seconds": 0},
            "pack": {"bytes_per_second": 10**9}}


def draw_chain(rng):
    """The requests of a chain, of two or three migrations."""
    nodes = rng.choice(NODES)
    count = sum(nodes)
    model = {"family": rng.choice(("gpt", "llama")), "layers": 4, "hidden": 24, "heads": 12, "ffn": 48, "seq": 8,
             "vocab": rng.randint(5, 60), "vocab_multiple": rng.choice((1, 2, 16)), "tied": rng.random() < 0.5}
    common = {"model": model, "cluster": {"nodes": nodes}, "place": rng.choice(("any", "any", "tp", "pack")),
              "objective": rng.choice(("time", "time", "internode", "total")), "derive": rng.choice(("param", "none"))}
    if rng.random() < 0.5:
        common["cluster"]["rates"] = draw_rates(rng)
    chain, failed = [], []
    prev = draw_side(rng, count)
    for _ in range(rng.choice((2, 2, 2, 3))):
        if rng.random() < 0.3:
            failed = sorted({*failed, rng.randrange(count)})
        draining = [d for d in range(count) if d not in failed and rng.random() < 0.1]
        usable = count - len(failed) - len(draining)
        chain.append({**common, "curr": draw_side(rng, usable), "failed": failed, "draining": draining})
        if rng.random() < 0.2:
            chain[-1]["memory_budget"] = "1.5x"
    chain[0]["prev"] = prev
    return chain


def traits_of(chain, steps):
    """Which of the cases that chains are about this is one of."""
    sides = [chain[0]["prev"], *(request["curr"] for request in chain)]
    cuts = [side.get("distributed_optimizer", False) for side in sides]
    multiples = [-chain[0]["model"]["vocab"] % (chain[0]["model"]["vocab_multiple"] * side["tp"]) for side in sides]
    held = [{d["device"] for d in steps[0]["devices"] if d["prev"]}, *({d["device"] for d in step["devices"] if d["curr"]}
                                                                       for step in steps)]
    yield "failed", bool(chain[0]["failed"])
    yield "padded", len(set(multiples)) > 1
    yield "zero1 between", any(cuts[1:-1]) and not cuts[0] and not cuts[-1]
    yield "back again", any(held[0] & held[-1] - middle for middle in held[1:-1])
    yield "three", len(chain) > 2
    yield "by time", chain[0]["objective"] == "time"
    yield "budget before", "memory_budget" not in chain[-1] and any("memory_budget" in request for request in chain)


class Refused(Exception):
    pass


def plan(etc_opt, files, output, *options):
    done = subprocess.run([etc_opt, *map(str, files), "--emit=plan", "--quiet", "-o", str(output), *options],
                          capture_output=True, text=True)
    if done.returncode == 1:
        raise Refused(done.stderr)
    if done.returncode:
        raise AssertionError(done.stderr)


def read(etc_opt, file):
    done = subprocess.run([etc_opt, str(file), "--emit=json", "--quiet"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def check(etc_opt, seed):
    """The traits of a chain; None where it can't be met, one by one or as one."""
    chain = draw_chain(random.Random(seed))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = [folder / f"{number}.json" for number in range(len(chain))]
        for file, request in zip(files, chain):
            file.write_text(json.dumps(request))
        try:
            plan(etc_opt, files, folder / "steps.etcplan", "--coalesce=false")
            plan(etc_opt, files, folder / "chain.etcplan")
        except Refused:
            return None
        steps = [read(etc_opt, folder / f"steps.{number}.etcplan") for number in range(1, len(chain) + 1)]
        whole = {**chain[-1], "prev": chain[0]["prev"]}
        whole["curr"] = {**whole["curr"], "devices": steps[-1]["placement"]["curr"]}
        (folder / "whole.json").write_text(json.dumps(whole))
        plan(etc_opt, [folder / "whole.json"], folder / "whole.etcplan")
        same = (folder / "chain.etcplan").read_bytes() == (folder / "whole.etcplan").read_bytes()
        assert same, f"seed {seed}: the chain is not its ends: {json.dumps(chain)}"
        summary = read(etc_opt, folder / "chain.etcplan")["summary"]
        moved = summary["moved_bytes"] - summary.get("transit_bytes", 0)
        one_by_one = sum(step["summary"]["moved_bytes"] for step in steps)
        makes_some = chain[0]["derive"] == "param" or chain[0]["model"]["tied"]
        assert makes_some or moved <= one_by_one, f"seed {seed}: moves {moved}, one by one {one_by_one}"
        return [*(trait for trait, has in traits_of(chain, steps) if has), *(["moves less"] if moved < one_by_one else [])]


def main():
    etc_opt = sys.argv[1]
    first = int(os.environ.get("ETC_PROPERTY_SEED", "1"))
    count = int(os.environ.get("ETC_PROPERTY_COUNT", "200"))
    found, planned, seeds = collections.Counter(), 0, iter(range(first, first + 4 * count))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        while planned < count and (some := [seed for _, seed in zip(range(count - planned), seeds)]):
            for traits in pool.map(lambda seed: check(etc_opt, seed), some):
                if traits is not None:
                    planned += 1
                    found.update(traits)
    print(f"{planned} chains, each the plan of its ends; "
          + ", ".join(f"{trait}: {found[trait]}" for trait in sorted(found)))


main()
