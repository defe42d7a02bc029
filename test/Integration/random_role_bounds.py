"""The bound of time over all roles, against every placement that small random requests allow.

Cases are small requests of Inputs/random_requests.py, with random rates of links and NICs. What ranks hold and need
comes from Megatron's rules (Inputs/megatron.py), element by element. Every placement that the request allows is
bounded by cuts: into and out of sets of nodes, and into devices. Where all cuts of a placement are below the plan's
bound over all roles, a linear program with relays and transit (unit/Optimize/Routing/lp_oracle.py) decides whether the
placement could be faster than the bound. Printed: the seeds, and how far the bound is below the best placement's cuts.

    random_role_bounds.py etc-opt --count=1000                   the long run, in about ten minutes
    random_role_bounds.py etc-opt --seed=1234 --count=1          one case again
"""

import argparse
import itertools
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy

here = pathlib.Path(__file__).parent
sys.path += [str(here), str(here / "Inputs"), str(here.parent / "unit" / "Optimize" / "Routing")]
import megatron
import random_requests
from lp_oracle import least_time
from layout_case import SIZE, Case

MOST_MAPS = 6000
SLACK = 1 + 1e-9


def draw(rng):
    """A request whose placements can be listed, and the cluster's rates."""
    while True:
        request, _ = random_requests.draw_request(rng)
        devices, gone = sum(request["cluster"]["nodes"]), len(request["failed"]) + len(request["leaving"])
        ranks = math.prod(request["curr"][name] for name in ("pp", "tp", "cp", "dp"))
        if ("policy" in request or "devices" in request["curr"] or devices - gone < ranks or devices < 3
                or math.perm(devices - gone, ranks) > MOST_MAPS):
            continue
        request.pop("memory_budget", None)
        link, nic = rng.choice((10, 40, 100)) * 10**6, rng.choice((10, 25)) * 10**6
        request["cluster"]["rates"] = {
            "name": "random", "link": {"bytes_per_second": link, "latency_seconds": 0},
            "port": {"per_node": rng.choice((1, 2, 4, 8)), "bytes_per_second": nic, "latency_seconds": 0},
            "pack": {"bytes_per_second": 10**9}}
        return request


class World:
    """Bytes by who has and who needs them, and the cluster."""

    def __init__(self, case):
        request = case.request
        self.nodes = request["cluster"]["nodes"]
        self.node_of = [node for node, count in enumerate(self.nodes) for _ in range(count)]
        port = request["cluster"]["rates"]["port"]
        self.link, self.rate = request["cluster"]["rates"]["link"]["bytes_per_second"], port["bytes_per_second"]
        self.nic_of = [(node, i * min(port["per_node"], count) // count)
                       for node, count in enumerate(self.nodes) for i in range(count)]
        self.usable = [device for device in range(len(self.node_of)) if device not in case.unusable]
        rank_of = {device: rank for rank, device in enumerate(request["prev"]["devices"]) if device not in case.dead}
        has, self.needs, self.weights = self.atoms(case)
        self.has = numpy.zeros((len(self.node_of), len(self.weights)), bool)
        for device, rank in rank_of.items():
            self.has[device] = has[rank]
        self.held_before = [rank_of.get(device, -1) for device in range(len(self.node_of))]

    @staticmethod
    def atoms(case):
        """Rows of ranks over kinds of bytes; tied copies are the same bytes as their twins."""
        tied = {"mtp." + megatron.WORDS} | ({"output_layer.weight"} if case.model.tied else set())
        held = [{label: indices for label, indices in its.items()}
                for side in ("prev", "curr") for its in case.inventories[side]]
        limit = {name: rows * case.model.hidden for name, rows in case.known_rows().items()}
        cast = (case.request["derive"] == "param" and "master" in case.request["types"]
                and not any(parallel.zero1 for parallel in case.parallel.values()))

        def content(label):
            return (megatron.WORDS, label[1]) if label[0] in tied else label

        sizes = {}
        for label, indices in itertools.chain.from_iterable(its.items() for its in held):
            sizes[content(label)] = max(sizes.get(content(label), 0), int(indices.max(initial=0)) + 1)
        offsets = dict(zip(sizes, itertools.accumulate([0, *sizes.values()])))
        weights = numpy.concatenate([
            numpy.full(size, 0 if cast and label[1] == "param" else SIZE[label[1]]) for label, size in sizes.items()])
        rows = numpy.zeros((len(held), len(weights)), bool)
        for row, its in zip(rows, held):
            for label, indices in its.items():
                known = indices[indices < limit[label[0]]] if label[0] in limit else indices
                row[offsets[content(label)] + known] = True
        before = len(case.inventories["prev"])
        keep = (weights > 0) & rows[before:].any(0)
        kinds, which = numpy.unique(rows[:, keep], axis=1, return_inverse=True)
        weights = numpy.bincount(which.ravel(), weights[keep], kinds.shape[1]).astype(numpy.int64)
        return kinds[:before], kinds[before:], weights

    def placements(self, place, tp):
        """One of each kind: devices of a node that held the same are alike, and so are ranks that need the same."""
        kinds = [row.tobytes() for row in self.needs]
        seen = set()
        groups = len(kinds) // tp
        rooms = sorted((sum(self.node_of[device] == node for device in self.usable) for node in range(len(self.nodes))),
                       reverse=True)
        parts = math.ceil(tp / rooms[0])
        fewest = groups * parts
        if parts == 1 and place != "any":  # where groups may be split, they need not fit
            fewest = next(n for n in range(1, len(rooms) + 1) if sum(room // tp for room in rooms[:n]) >= groups)
        for devices in itertools.permutations(self.usable, len(kinds)):
            on = [self.node_of[device] for device in devices]
            if place != "any" and any(len(set(on[i:i + tp])) > parts for i in range(0, len(on), tp)):
                continue
            if place == "pack" and len(set(on)) > fewest:
                continue
            key = tuple(sorted((node, self.held_before[device], kind) for node, device, kind in zip(on, devices, kinds)))
            if key not in seen:
                seen.add(key)
                yield devices

    def nics(self, devices):
        return len({self.nic_of[device] for device in devices}) * self.rate

    def cut(self, devices, enough):
        """The slowest cut of a placement, or one that is slow enough."""
        needs = numpy.zeros_like(self.has)
        for rank, device in enumerate(devices):
            needs[device] = self.needs[rank]
        part = [device for device in range(len(self.node_of)) if self.held_before[device] >= 0 or device in devices]
        by_node = {}
        for device in part:
            by_node.setdefault(self.node_of[device], []).append(device)
        sets = [list(some) for n in range(1, len(by_node)) for some in itertools.combinations(by_node, n)]
        slowest = 0.0
        for nodes in sets[:40]:
            inside = [device for node in nodes for device in by_node[node]]
            entering = needs[inside].any(0) & ~self.has[inside].any(0)
            outside = [device for device in part if device not in inside]
            least = self.weights[entering].sum() / min(self.nics(inside), self.nics(outside))
            slowest = max(slowest, least)
            if slowest >= enough:
                return slowest
        for device in devices:
            lacking = self.weights[needs[device] & ~self.has[device]].sum()
            rate = (len(by_node[self.node_of[device]]) > 1) * self.link + (len(by_node) > 1) * self.rate
            slowest = max(slowest, lacking / rate if rate else 0)
        return slowest

    def pose(self, devices):
        """A placement as an instance for the linear program."""
        nics = sorted(set(self.nic_of))
        part = [self.held_before[device] >= 0 or device in devices for device in range(len(self.node_of))]
        case = {"nics": [self.rate] * len(nics), "atoms": [],
                "devices": [(node, nics.index(nic), self.link, takes_part)
                            for node, nic, takes_part in zip(self.node_of, self.nic_of, part)]}
        for atom, size in enumerate(self.weights.tolist()):
            holders = [device for device in range(len(part)) if self.has[device, atom]]
            needers = [device for rank, device in enumerate(devices)
                       if self.needs[rank, atom] and device not in holders]
            if needers:
                case["atoms"].append((size, holders, needers))
        return case


def try_seed(etc_opt, seed, folder):
    """The bound over all roles and the least cut of a placement; nothing where there is no plan or bound."""
    request = draw(random.Random(seed))
    case = Case(request, [])
    case.study()
    if case.is_lost:
        return None
    file = folder / "request.json"
    file.write_text(json.dumps(request))
    done = subprocess.run([etc_opt, file, "--emit=json", "--quiet"], capture_output=True, text=True)
    if done.returncode and "do not fit the nodes" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr
    bound = json.loads(done.stdout)["time"]["roles_bound_s"]
    world = World(case)
    best = math.inf
    for devices in world.placements(request["place"], request["curr"]["tp"]):
        cut = world.cut(devices, max(bound, 1e-12) if best <= bound else best)
        if bound > cut * SLACK:
            least = least_time(world.pose(devices), transit=True)[0]
            assert bound <= least * (1 + 1e-6), f"the bound {bound} is above {least}, the least on {devices}"
            cut = least
        best = min(best, cut)
    return bound, best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("etc_opt")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{options.count} cases from seed {options.seed} on", flush=True)
    ratios, wrong, still = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.seed, options.seed + options.count):
            try:
                found = try_seed(options.etc_opt, seed, pathlib.Path(folder))
            except AssertionError as error:
                print(f"seed {seed}: {error}")
                wrong += 1
                continue
            if found and found[1] > 0:
                ratios.append(found[0] / found[1])
            still += bool(found) and found[1] == 0
    ratios.sort()
    marks = ", ".join(f"p{share:.0%} {ratios[int(share * (len(ratios) - 1))]:.3f}" for share in (0.05, 0.25, 0.5, 0.75))
    tight = sum(ratio >= 0.99 for ratio in ratios)
    print(f"bound / least cut: {marks}; {tight} of {len(ratios)} within 1%; {still} where nothing has to move")
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
