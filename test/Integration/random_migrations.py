"""Random migrations, planned by etc-opt and executed here, apart from the planner.

Every case is a small GPT with random sizes, configurations, types, placement, failures and budget. The plan's JSON is
replayed on arrays: on one node it moves what an exact assignment by SciPy moves (on several, no less), every element of
every current shard ends as the value of its global index, and the plan's own figures (bytes, rounds, peak) are those of
the replay.

    random_migrations.py path/to/etc-opt                                               25 cases
    ETC_PROPERTY_COUNT=10000 random_migrations.py path/to/etc-opt                      the long run
    ETC_PROPERTY_SEED=1234 ETC_PROPERTY_COUNT=1 random_migrations.py path/to/etc-opt   one case again

A failing case prints its seed and its request.
"""

import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import types as pytypes

sys.path.append(str(pathlib.Path(__file__).parent / "Inputs"))
import exact_assignment
from replay import World, Wrong, check

TYPES = ("param", "master", "exp_avg", "exp_avg_sq")
EMBEDDING = "embedding.word_embeddings.weight"
HEAD = "output_layer.weight"


# ----------------------------------------------------------------------------------------------------------------------
# Requests
# ----------------------------------------------------------------------------------------------------------------------


def divisors(number):
    return [d for d in range(1, number + 1) if number % d == 0]


def shorthand(parallel):
    return "".join(f"{name}{size}" for name, size in zip(("PP", "TP", "DP"), parallel))


def random_parallel(rng, layers, heads):
    while True:
        parallel = (rng.choice(divisors(layers)), rng.choice(divisors(heads)), rng.choice((1, 1, 1, 2, 2, 3)))
        if math.prod(parallel) <= 24:
            return parallel


def random_case(rng):
    """A request, and the structures that it was made of."""
    layers, heads = rng.choice((1, 2, 3, 4, 6, 8, 12)), rng.choice((1, 2, 3, 4, 6, 8))
    model = pytypes.SimpleNamespace(layers=layers, heads=heads, hidden=heads * rng.choice((1, 2, 4)),
                                    vocab=rng.randint(1, 900), seq=rng.randint(1, 24))
    prev, curr = (random_parallel(rng, layers, heads) for _ in range(2))
    failed = draining = ()
    if prev[2] > 1 and rng.random() < 0.5:
        # One replica of some roles dies: the state has a living holder still.
        roles = [p * prev[1] * prev[2] + t for p in range(prev[0]) for t in range(prev[1])]
        failed = [role + prev[1] * rng.randrange(prev[2]) for role in rng.sample(roles, rng.randint(1, len(roles)))]
    if rng.random() < 0.3:
        draining = [rank for rank in range(math.prod(prev)) if rank not in failed and rng.random() < 0.3]
    # Room for the current ranks beside what failed and leaves, in nodes of different sizes.
    count = max(math.prod(prev), math.prod(curr) + len(failed) + len(draining)) + rng.choice((0, 0, 1, 5))
    nodes = []
    while sum(nodes) < count:
        nodes.append(min(count - sum(nodes), rng.choice((1, 2, 4, 8, count, count))))
    devices = list(range(count))
    if rng.random() < 0.5:
        rng.shuffle(devices)
    devices = devices[:math.prod(prev)]
    case = pytypes.SimpleNamespace(
        model=model, prev=prev, curr=curr, nodes=nodes, devices=devices,
        types=[name for name in TYPES if rng.random() < 0.6] or ["master"],
        dead_ranks=sorted(failed), unusable=set(failed) | set(draining))
    case.request = {
        "model": {"layers": layers, "hidden": model.hidden, "heads": heads, "vocab": model.vocab, "seq": model.seq},
        "prev": {"pp": prev[0], "tp": prev[1], "dp": prev[2], "devices": devices},
        "curr": shorthand(curr),
        "cluster": {"nodes": nodes},
        "failed": [devices[rank] for rank in failed],
        "draining": [devices[rank] for rank in draining],
        "types": case.types,
        # What the other places cost is not known here.
        "place": "any",
        "derive": "none",
    }
    if rng.random() < 0.4:
        case.request["memory_budget"] = f"1.{rng.randint(0, 50):02}x"
    return case


def plan(etc_opt, case, folder):
    """The plan as JSON. A budget that is refused names one that is met."""
    file = folder / "request.json"
    for _ in range(2):
        file.write_text(json.dumps(case.request))
        run = subprocess.run([etc_opt, file, "--emit=json", "--quiet"], capture_output=True, text=True)
        if run.returncode == 0:
            return json.loads(run.stdout)
        least = re.search(r"memory budget: \S+ is infeasible; the least found is (\S+x)", run.stderr)
        check(run.returncode == 1 and least, f"exit {run.returncode}: {run.stderr}")
        case.request["memory_budget"] = least.group(1)
    raise Wrong(f"the budget that was named is refused: {run.stderr}")


# ----------------------------------------------------------------------------------------------------------------------
# What every rank holds
# ----------------------------------------------------------------------------------------------------------------------


def inventory(case, parallel, p, t):
    """{tensor: box} of stage p, tensor rank t: Megatron's rules under the tensors' real names."""
    model, (pp, tp, _) = case.model, parallel
    h, f = model.hidden, 4 * model.hidden
    vocab = exact_assignment.padded(model.vocab, tp)
    of_layer = [("input_layernorm.weight", (h,), None), ("input_layernorm.bias", (h,), None),
                ("self_attention.linear_qkv.weight", (3 * h, h), 0), ("self_attention.linear_qkv.bias", (3 * h,), 0),
                ("self_attention.linear_proj.weight", (h, h), 1), ("self_attention.linear_proj.bias", (h,), None),
                ("pre_mlp_layernorm.weight", (h,), None), ("pre_mlp_layernorm.bias", (h,), None),
                ("mlp.linear_fc1.weight", (f, h), 0), ("mlp.linear_fc1.bias", (f,), 0),
                ("mlp.linear_fc2.weight", (h, f), 1), ("mlp.linear_fc2.bias", (h,), None)]
    held = []
    if p == 0:
        held += [(EMBEDDING, (vocab, h), 0), ("embedding.position_embeddings.weight", (model.seq, h), None)]
    for layer in range(p * model.layers // pp, (p + 1) * model.layers // pp):
        held += [(f"decoder.layers.{layer}.{name}", shape, axis) for name, shape, axis in of_layer]
    if p == pp - 1:
        held += [("decoder.final_layernorm.weight", (h,), None), ("decoder.final_layernorm.bias", (h,), None)]
        if pp > 1:
            held.append((HEAD, (vocab, h), 0))

    def box(shape, axis):
        return tuple((size * t // tp, size * (t + 1) // tp) if axis == i else (0, size)
                     for i, size in enumerate(shape))

    return {name: box(shape, axis) for name, shape, axis in held}


def inventories(case, parallel):
    pp, tp, dp = parallel
    return [inventory(case, parallel, p, t) for p in range(pp) for _ in range(dp) for t in range(tp)]


# ----------------------------------------------------------------------------------------------------------------------
# The plan
# ----------------------------------------------------------------------------------------------------------------------


class Migration(World):
    """The replay of a plan, held against its request."""

    def __init__(self, case, document):
        super().__init__(document)
        self.case = case

    def check_inventories(self):
        """Devices hold before and after what Megatron's rules say of their ranks."""
        for side, parallel, dead in (("prev", self.case.prev, self.case.dead_ranks), ("curr", self.case.curr, [])):
            placement = self.document["placement"][side]
            check(len(set(placement)) == len(placement) == math.prod(parallel), f"{side} placement {placement}")
            taken = {}
            for rank, (device, boxes) in enumerate(zip(placement, inventories(self.case, parallel))):
                if rank not in dead:
                    taken[device] = {(name, kind): [box] for name, box in boxes.items() for kind in self.case.types}
            for number, device in self.devices.items():
                held = device.curr_boxes if side == "curr" else {t: s.boxes for t, s in device.prev.items()}
                found = {(self.tensors[t].name, self.tensors[t].type): boxes for t, boxes in held.items()}
                check(found == taken.pop(number, {}), f"device {number} holds something else on the {side} side")
            check(not taken, f"devices {sorted(taken)} take no part")
        check(self.document["placement"]["prev"] == self.case.devices, "previous ranks are elsewhere")
        forbidden = {self.case.devices[rank] for rank in self.case.unusable}
        check(not forbidden & set(self.document["placement"]["curr"]), "a device that is gone takes a role")

    def check_bytes(self):
        summary = self.document["summary"]
        least = exact_assignment.least_moved_bytes(self.case.model, self.case.prev, self.case.curr, self.case.types,
                                                   self.case.unusable)
        # Bytes between nodes come first; where topology can't bind, an exact assignment moves no less.
        check(self.moved == least or (self.moved > least and len(self.case.nodes) > 1),
              f"{self.moved} bytes are sent, an exact assignment moves {least}")
        check(summary["bound"]["moved_bytes"] == least, f"the bound is {summary['bound']}, expected {least}")
        check(summary["bound"]["internode_bytes"] <= self.between_nodes, "fewer bytes between nodes than the bound")
        budget = self.case.request.get("memory_budget")
        check(not budget or summary["peak_ratio"] <= float(budget[:-1]) + 1e-4,
              f"peak ratio {summary['peak_ratio']} above the budget {budget}")

    def judge(self):
        self.check_inventories()
        self.run()
        known = exact_assignment.padded(self.case.model.vocab, self.case.prev[1])
        self.check_result({EMBEDDING: known, HEAD: known})
        self.check_summary()
        self.check_bytes()


def main():
    etc_opt = sys.argv[1]
    count, first = int(os.environ.get("ETC_PROPERTY_COUNT", 25)), int(os.environ.get("ETC_PROPERTY_SEED", 0))
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            case = random_case(random.Random(seed))
            print(f"seed {seed}: {shorthand(case.prev)} -> {shorthand(case.curr)}", flush=True)
            try:
                Migration(case, plan(etc_opt, case, pathlib.Path(folder))).judge()
            except Wrong as wrong:
                failures += 1
                print(f"seed {seed}: WRONG: {wrong}\n  request: {json.dumps(case.request)}", flush=True)
    print(f"{count - failures} of {count} migrations as they should be, from seed {first} on")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
