"""From any layout to any layout: random inventories to random inventories, planned, replayed and executed.

Every case is a request of Inputs/random_holders.py: uneven and empty shards, several cuts of one tensor, boxes that no
grid has, replicas, failed devices, roles with devices and without. etc-opt plans and proves it; every role holds what
the request says, the plan's JSON is carried out on arrays (Inputs/replay.py), its bytes, in all and between nodes, and
its certified bounds are compared with exact assignments by SciPy, etc-verify-plan judges some plans again as text, and
etc-run executes the plan file and checks it bit for bit.

    random_inventories.py etc-opt etc-run                            300 cases
    random_inventories.py etc-opt etc-run --seed=1234 --count=1      one case again
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import traceback

import numpy
from scipy.optimize import linear_sum_assignment

sys.path.append(str(pathlib.Path(__file__).parent / "Inputs"))
import random_holders
from replay import BYTES, World, Wrong, check, indices, shard_indices

VERIFY = "--pass-pipeline=builtin.module(etc.migration(etc-verify-plan))"
SECONDS = 120


def run(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Wrong(f"{pathlib.Path(command[0]).name} takes more than {SECONDS} seconds") from None


class Case:
    def __init__(self, rng):
        self.request, self.tensors, self.layouts, self.devices = random_holders.draw_request(rng)
        self.dead = set(self.request["failed"])
        self.count = sum(self.request["cluster"]["nodes"])
        self.study()

    def bitmap(self, layout):
        """What each role holds, as rows over the elements of all tensors."""
        offsets, total = {}, 0
        for label, shape in self.tensors.items():
            offsets[label], total = total, total + int(numpy.prod(shape))
        rows = numpy.zeros((len(layout), total), bool)
        for row, role in zip(rows, layout):
            for label, boxes in role.items():
                for box in boxes:
                    row[offsets[label] + indices(self.tensors[label], tuple(box)).ravel()] = True
        return rows

    def study(self):
        """Whether state is lost, and the least bytes that must move, in all and between nodes."""
        has, needs = self.bitmap(self.layouts["prev"]), self.bitmap(self.layouts["curr"])
        sizes = [BYTES[random_holders.DTYPES[kind]] for _, kind in self.tensors]
        weights = numpy.repeat(sizes, [int(numpy.prod(shape)) for shape in self.tensors.values()])
        held = numpy.zeros((self.count, has.shape[1]), bool)
        for device, row in zip(self.devices["prev"], has):
            held[device] = row if device not in self.dead else False
        self.is_lost = bool((needs.any(0) & ~held.any(0)).any())
        self.usable = [device for device in range(self.count) if device not in self.dead]
        node_of = numpy.repeat(range(len(self.request["cluster"]["nodes"])), self.request["cluster"]["nodes"])
        near = numpy.array([held[node_of == node].any(0) for node in range(node_of.max() + 1)])
        wanted = (needs * weights).astype(numpy.int64)
        self.needed = wanted.sum(1)
        self.own = (wanted @ held.T)[:, self.usable]
        self.near = (wanted @ near.T)[:, node_of[self.usable]]

    def least(self):
        """The bytes in all and between nodes of the best placement that the request allows; and the bounds."""
        if self.devices["curr"] is not None:
            rows = range(len(self.needed))
            columns = [self.usable.index(device) for device in self.devices["curr"]]
        else:
            rows, columns = linear_sum_assignment(self.near.astype(float) * 2**24 + self.own, maximize=True)
        total = int(self.needed.sum())
        return total - int(self.own[rows, columns].sum()), total - int(self.near[rows, columns].sum())

    def bound(self):
        total = int(self.needed.sum())
        return total - int(self.own[linear_sum_assignment(self.own, maximize=True)].sum())


def check_roles(case, world):
    """Devices hold before and after what the request says of their roles."""
    placement = world.document["placement"]
    check(placement["prev"] == case.devices["prev"], "previous roles are elsewhere")
    if case.devices["curr"] is not None:
        check(placement["curr"] == case.devices["curr"], "current roles are not where the request fixes them")
    for side in ("prev", "curr"):
        for device, role in zip(placement[side], case.layouts[side]):
            if device in case.dead:
                check(side == "prev", "a failed device takes a role")
                continue
            entry = world.devices.get(device)
            found = {} if entry is None else entry.curr_boxes if side == "curr" else \
                {number: shard.boxes for number, shard in entry.prev.items()}
            found = {(world.tensors[number].name, world.tensors[number].type): numpy.sort(
                shard_indices(world.tensors[number], boxes)).tolist() for number, boxes in found.items()}
            expected = {label: sorted(int(index) for box in boxes
                                      for index in indices(case.tensors[label], tuple(box)).ravel())
                        for label, boxes in role.items()}
            check(found == {label: held for label, held in expected.items() if held},
                  f"device {device}, {side}: holds {found}, the request says {expected}")


def check_bytes(case, world):
    summary = world.document["summary"]
    moved, between = case.least()
    check(world.moved == moved, f"{world.moved} bytes are sent, the best assignment sends {moved}")
    check(summary["bound"]["moved_bytes"] == case.bound(),
          f"the bound is {summary['bound']}, by an exact assignment {case.bound()}")
    check(summary["relayed_bytes"] or world.between_nodes == between,
          f"{world.between_nodes} bytes between nodes, the best assignment has {between}")
    check(summary["bound"]["internode_bytes"] <= world.between_nodes <= between, "the bound between nodes is not one")


def plan(etc_opt, case, folder):
    """The plan's JSON; nothing where state is lost, and the planner says so."""
    file, out = folder / "request.json", folder / "plan.etcplan"
    for _ in range(2):
        file.write_text(json.dumps(case.request))
        completed = run([etc_opt, file, "--emit=plan", "--quiet", "-o", out])
        budget = re.search(r"memory budget: \S+ is infeasible; the least found is (\S+x)", completed.stderr)
        if not budget:
            break
        case.request["memory_budget"] = budget.group(1)
    if case.is_lost:
        check(completed.returncode == 1 and re.search(r"state is lost: no living device holds \d+ bytes of '",
                                                      completed.stderr), f"state is lost, yet: {completed.stderr}")
        return None
    check(completed.returncode == 0, f"exit {completed.returncode}: {completed.stderr.strip()}")
    completed = run([etc_opt, out, "--emit=json", "--quiet"])
    check(completed.returncode == 0, f"a plan is written, and not read: {completed.stderr.strip()}")
    return json.loads(completed.stdout)


def judge_again(etc_opt, folder):
    """The plan as text, read back and judged by itself."""
    out = folder / "plan.mlir"
    completed = run([etc_opt, folder / "request.json", "--quiet", "-o", out])
    check(completed.returncode == 0, f"a plan is written, IR is not: {completed.stderr.strip()}")
    completed = run([etc_opt, out, VERIFY, "-o", os.devnull])
    check(completed.returncode == 0, f"as text the plan is refused: {completed.stderr.strip()}")


def try_case(case, rng, etc_opt, etc_run, folder):
    document = plan(etc_opt, case, folder)
    if not document or not document["devices"]:
        return
    world = World(document)
    check_roles(case, world)
    world.run()
    world.check_result({})
    world.check_summary()
    check_bytes(case, world)
    completed = run([etc_run, folder / "plan.etcplan"])
    check(completed.returncode == 0 and "verified: every element on every device, bit for bit" in completed.stdout,
          f"etc-run: exit {completed.returncode}: {completed.stdout[-300:]} {completed.stderr.strip()}")
    if rng.random() < 0.1:
        judge_again(etc_opt, folder)


def try_seed(arguments):
    """(seed, whether state was lost, the request, what is wrong)."""
    seed, etc_opt, etc_run = arguments
    rng = random.Random(seed)
    case = None
    with tempfile.TemporaryDirectory() as name:
        try:
            case = Case(rng)
            try_case(case, rng, etc_opt, etc_run, pathlib.Path(name))
        except Wrong as wrong:
            return seed, False, case and case.request, str(wrong)
        except Exception:  # a mistake of the test; the seeds after it are tried all the same
            return seed, False, case and case.request, traceback.format_exc()
    return seed, case.is_lost, None, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etc_opt")
    parser.add_argument("etc_run")
    parser.add_argument("--count", type=int, default=int(os.environ.get("ETC_PROPERTY_COUNT", 300)))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("ETC_PROPERTY_SEED", 0)))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    print(f"{options.count} migrations from seed {options.seed} on", flush=True)
    failures = lost = 0
    with multiprocessing.Pool(options.jobs) as pool:
        work = ((seed, options.etc_opt, options.etc_run) for seed in range(options.seed, options.seed + options.count))
        for seed, is_lost, request, wrong in pool.imap_unordered(try_seed, work, 4):
            lost += is_lost
            if wrong:
                failures += 1
                print(f"seed {seed}: WRONG: {wrong}\n  request: {json.dumps(request)}", flush=True)
    print(f"{lost} of them lose state, and are refused")
    print(f"{options.count - failures} of {options.count} migrations as they should be, from seed {options.seed} on")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
