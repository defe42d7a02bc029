"""Random models, configurations and failures over all dimensions at once: planned, replayed and executed.

Every case is a request of Inputs/random_requests.py. etc-opt plans and proves it; every rank's shards are compared with
Megatron's rules (Inputs/megatron.py), the plan's JSON is carried out on arrays (Inputs/replay.py), its bytes, in all
and between nodes, and its certified bounds are compared with exact assignments by SciPy, etc-verify-plan judges some
plans again as text, some are planned again from an inventory of the previous state, and etc-run executes the plan file
and checks it bit for bit.

    random_layouts.py etc-opt etc-run                            1000 cases, in one or two minutes on two cores
    random_layouts.py etc-opt etc-run --count=100000             the long run, in about two hours
    random_layouts.py etc-opt etc-run --seed=1234 --count=1      one case again
    random_layouts.py etc-opt etc-run --lanes                    requests whose tensor-parallel ranks do the same,
                                                                 planned for one of them
    random_layouts.py etc-opt etc-run --sections                 requests of which some stages do the same

A request that can't be met is drawn again and counted, if it is refused in words that are known here; that state is
lost is checked. A failing case prints its seed and its request.
"""

import argparse
import collections
import json
import multiprocessing
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import traceback

sys.path.append(str(pathlib.Path(__file__).parent / "Inputs"))
import random_requests
from layout_case import Case
from replay import World, Wrong, check, shard_indices

VERIFY = "--pass-pipeline=builtin.module(etc.migration(etc-verify-plan))"
SECONDS = 120
# Why a request may be refused, and what for.
REFUSALS = {
    "lost": r"error: state is lost: no living device holds \d+ bytes of '",
    "place": r"error: tensor-parallel groups of \d+ do not fit the nodes: .*; use --place=any",
    "budget": r"error: memory budget: \S+ is infeasible; the least found is \S+x",
    "paper": r"the paper's (method|policy)",
}


def run(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Wrong(f"{pathlib.Path(command[0]).name} takes more than {SECONDS} seconds") from None


def refusal(completed):
    """The known reason of a refusal; anything else is wrong."""
    check(completed.returncode in (1, 2), f"exit {completed.returncode}: {completed.stderr.strip()}")
    check(completed.stderr.count("error:") == 1, f"not one message: {completed.stderr.strip()}")
    for reason, pattern in REFUSALS.items():
        if re.search(pattern, completed.stderr):
            return reason
    raise Wrong(f"exit {completed.returncode}: {completed.stderr.strip()}")


def as_json(etc_opt, file, *options):
    """A plan file as JSON."""
    completed = run([etc_opt, file, "--emit=json", "--quiet", *options])
    check(completed.returncode == 0, f"a plan is written, and not read: {completed.stderr.strip()}")
    return json.loads(completed.stdout)


def plan(etc_opt, case, folder):
    """The plan file as JSON, or the reason why there is none."""
    file, out, request = folder / "request.json", folder / "plan.etcplan", case.request
    for _ in range(3):
        file.write_text(json.dumps(request))
        completed = run([etc_opt, file, *case.options, *case.lanes, "--emit=plan", "--quiet", "-o", out])
        if completed.returncode == 0:
            return as_json(etc_opt, out), ""
        reason = refusal(completed)
        check((reason == "lost") <= case.is_lost, f"nothing is lost, yet: {completed.stderr.strip()}")
        if reason == "place":
            request["place"] = "any"
        elif reason == "budget":
            request["memory_budget"] = re.search(r"least found is (\S+x)", completed.stderr).group(1)
        else:
            return None, reason
    raise Wrong(f"what a refusal says does not help: {completed.stderr.strip()}")


# ----------------------------------------------------------------------------------------------------------------------
# One case
# ----------------------------------------------------------------------------------------------------------------------


def check_inventories(case, world):
    """Devices hold before and after what Megatron's rules say of their ranks."""
    for side in ("prev", "curr"):
        placement = world.document["placement"][side]
        check(len(set(placement)) == len(placement) == len(case.inventories[side]), f"{side} placement {placement}")
        taken = {device: held for device, held in zip(placement, case.inventories[side])
                 if side == "curr" or device not in case.dead}
        for number, device in world.devices.items():
            shards = {world.tensors[tensor]: boxes for tensor, boxes in device.curr_boxes.items()} if side == "curr" \
                else {shard.tensor: shard.boxes for shard in device.prev.values()}
            expected = taken.pop(number, {})
            found = {(tensor.name, tensor.type): (tensor, boxes) for tensor, boxes in shards.items()}
            if found.keys() != expected.keys():
                raise Wrong(f"device {number}, {side}: {sorted(found.keys() ^ expected.keys())}")
            for label, (tensor, boxes) in found.items():
                found_here = shard_indices(tensor, boxes)
                if len(found_here) != len(expected[label]) or (found_here != expected[label]).any():
                    raise Wrong(f"device {number}, {side}: {tensor.label} is {boxes}")
        check(not any(taken.values()), f"devices {sorted(taken)} take no part")
    check(world.document["placement"]["prev"] == case.request["prev"]["devices"], "previous ranks are elsewhere")
    check(not case.unusable & set(world.document["placement"]["curr"]), "a device that is gone takes a role")


def seconds_of(etc_run, plan_file):
    """What etc-run predicts of a plan, on nodes that it names."""
    completed = run([etc_run, plan_file, "--dry-run", "--json", "--cluster=h100"])
    check(completed.returncode == 0, f"{plan_file.name}: etc-run --dry-run: {completed.stderr.strip()}")
    return json.loads(completed.stdout)["seconds"]


def check_faster(etc_opt, etc_run, case, folder):
    """More bytes are moved only for less time: the least bytes, by the objective of bytes, take longer."""
    file, out = folder / "request.json", folder / "bytes.etcplan"
    completed = run([etc_opt, file, "--objective=internode", *case.lanes, "--emit=plan", "--quiet", "-o", out])
    check(completed.returncode == 0, f"by bytes: {completed.stderr.strip()}")
    by_bytes, by_time = seconds_of(etc_run, out), seconds_of(etc_run, folder / "plan.etcplan")
    check(by_time < by_bytes, f"more bytes than by their objective, and {by_time} s for {by_bytes}")
    world = World(as_json(etc_opt, out))
    world.run()
    check_bytes(case, world)


def check_bytes(case, world, faster=None):
    """With any place for a rank, a plan moves exactly what an assignment by both objectives moves, were there no
    relays; another only where relays then leave nine tenths of its bytes between nodes, or less. `faster` checks one
    of least time that moves more bytes."""
    summary, request = world.document["summary"], case.request
    bound = summary["bound"]
    check(bound["moved_bytes"] <= world.moved and bound["internode_bytes"] <= world.between_nodes,
          f"fewer bytes than the bound {bound}")
    placement, relayed = world.document["placement"]["curr"], summary["relayed_bytes"]
    between = sum(case.between[rank, device] for rank, device in enumerate(placement))
    if relayed:
        check(request.get("policy") != "paper" and world.between_nodes <= between,
              f"{world.between_nodes} bytes between nodes by relays, {between} without them")
    else:
        check(world.between_nodes == between, f"{world.between_nodes} bytes between nodes, its roles lack {between}")
    check(bound["moved_bytes"] == case.bound["moved_bytes"],
          f"the bound of moved_bytes is {bound['moved_bytes']}, by exact assignments {case.bound['moved_bytes']}")
    # What enters a node may serve all devices there that need it, at best what most devices need.
    least, left = 0, case.bound["internode_bytes"]
    for sharing, needed in case.sharing:
        least, left = least + min(left, needed) / sharing, left - min(left, needed)
    check(case.bound["internode_bytes"] // max(request["cluster"]["nodes"]) - len(case.sharing)
          <= bound["internode_bytes"] <= least, f"the bound between nodes is {bound['internode_bytes']}, not {least}")
    # The first objective decides, the second one among equals.
    order = 1 if case.options else -1
    found, least = (world.moved, between)[::order], (case.least, case.least_between)[::order]
    if request.get("policy") != "paper" and ("devices" in request["curr"] or request["place"] == "any"):
        shared = relayed and order == -1 and world.between_nodes <= 0.9 * case.least_between
        if faster and order == -1 and found != least and not shared:
            faster()
        else:
            check(found == least or shared,
                  f"{found} bytes are sent by the order of objectives, by an exact assignment {least}")
    check(found >= least, f"{found} bytes are sent by the order of objectives, no assignment sends less than {least}")
    if (budget := request.get("memory_budget")) is not None:
        check(summary["peak_ratio"] <= float(budget[:-1]) + 1e-4, f"peak {summary['peak_ratio']} above {budget}")


def execute(etc_run, plan_file):
    """The plan file, carried out by etc-run."""
    completed = run([etc_run, plan_file])
    check(completed.returncode == 0 and "verified: every element on every device, bit for bit" in completed.stdout,
          f"{plan_file.name}: etc-run: exit {completed.returncode}: {completed.stdout[-300:]} {completed.stderr.strip()}")


def judge_again(etc_opt, case, folder):
    """The plan as text, read back and judged by itself."""
    file, out = folder / "request.json", folder / "plan.mlir"
    completed = run([etc_opt, file, *case.options, *case.lanes, "--quiet", "-o", out])
    check(completed.returncode == 0, f"a plan is written, IR is not: {completed.stderr.strip()}")
    completed = run([etc_opt, out, VERIFY, "-o", os.devnull])
    check(completed.returncode == 0, f"as text the plan is refused: {completed.stderr.strip()}")


def inventory_of(document, side):
    """What the devices of a plan's JSON hold before, or its roles after."""
    devices = sorted((entry for entry in document["devices"] if entry.get(side)), key=lambda entry: entry["device"])
    entries = {entry["device"]: entry[side] for entry in devices}
    if side == "prev":
        holders = {"devices": [{"device": device, "has": has} for device, has in entries.items()]}
    else:
        holders = {"roles": [{"role": rank, "has": entries.get(device, [])}
                             for rank, device in enumerate(document["placement"]["curr"])]}
    return {"format": "etc-inventory", "version": 1,
            "tensors": [{key: tensor[key] for key in ("name", "type", "dtype", "shape", "prev_shape") if key in tensor}
                        for tensor in document["tensors"]],
            "shards": document["shards"], **holders}


def plan_inventories(etc_opt, etc_run, case, document, folder, side):
    """What a side holds, listed box by box, leads to as good a plan as the configuration that it comes from."""
    (folder / "inventory.json").write_text(json.dumps(inventory_of(document, side)))
    request_side = {key: value for key, value in case.request[side].items() if side == "prev" or key != "devices"}
    options = case.options or ["--objective=internode"]  # by time, bytes may be traded
    figures, relayed = [], False  # with relays, roles may share nodes otherwise
    for number, given in enumerate((request_side, {"inventory": str(folder / "inventory.json")})):
        request = {key: value for key, value in case.request.items() if key not in ("policy", "memory_budget")}
        request.setdefault("place", "any")  # the paper's policy has none
        file, out = folder / f"{number}.json", folder / f"{number}.etcplan"
        file.write_text(json.dumps({**request, side: given, "derive": "none"}))
        completed = run([etc_opt, file, *options, "--emit=plan", "-o", out, "--quiet"])
        check(completed.returncode == 0, f"{side} as an inventory: {completed.stderr.strip()}")
        summary = as_json(etc_opt, out, "--devices=0")["summary"]
        figures.append({key: summary["bound"][key] for key in ("moved_bytes", "internode_bytes")})
        if request["place"] == "any":
            figures[-1] = {**figures[-1], "moved": summary["moved_bytes"], "between": summary["internode_bytes"]}
        relayed = relayed or summary["relayed_bytes"] > 0
    if relayed:  # in one of them at least
        figures = [{"moved_bytes": figure["moved_bytes"]} for figure in figures]
    check(figures[0] == figures[1], f"{side} as a configuration: {figures[0]}, as its inventory: {figures[1]}")
    execute(etc_run, out)


def features_of(file):
    """`features`, the second field of the table of a plan file."""
    content = file.read_bytes()
    (root,) = struct.unpack_from("<I", content)
    (back,) = struct.unpack_from("<i", content, root)
    (offset,) = struct.unpack_from("<H", content, root - back + 6)
    return struct.unpack_from("<Q", content, root + offset)[0] if offset else 0


def try_seed(arguments):
    """(seed, refusals on the way, the request, what is wrong)."""
    seed, etc_opt, etc_run, parts = arguments
    rng, refused, request, options = random.Random(seed), collections.Counter(), None, []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            while True:
                if parts == "sections":
                    request, options = random_requests.draw_sections(rng)
                else:
                    request, options = random_requests.draw_request(rng, parts == "lanes")
                case = Case(request, options, ["--lanes-from=1"] if parts else [])
                case.study()
                document, reason = plan(etc_opt, case, folder)
                if document:
                    break
                refused[reason] += 1
            check(not case.is_lost, "state is lost, and yet there is a plan")
            if parts:
                features = features_of(folder / "plan.etcplan")
                refused["of one lane"] += features & 8 != 0
                refused["of sections"] += features & 64 != 0
            world = World(document)
            check_inventories(case, world)
            world.run()
            world.check_result(case.known_rows())
            world.check_summary()
            check_bytes(case, world, lambda: check_faster(etc_opt, etc_run, case, folder))
            execute(etc_run, folder / "plan.etcplan")
            if rng.random() < 0.1:
                judge_again(etc_opt, case, folder)
            if rng.random() < 0.1 and document["devices"]:
                plan_inventories(etc_opt, etc_run, case, document, folder, rng.choice(["prev", "curr"]))
        except Wrong as wrong:
            return seed, refused, (request, options), str(wrong)
        except Exception:  # a mistake of the test; the seeds after it are tried all the same
            return seed, refused, (request, options), traceback.format_exc()
    return seed, refused, (request, options), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etc_opt")
    parser.add_argument("etc_run")
    parser.add_argument("--count", type=int, default=int(os.environ.get("ETC_PROPERTY_COUNT", 1000)))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("ETC_PROPERTY_SEED", 0)))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--lanes", dest="parts", action="store_const", const="lanes",
                        help="requests that are planned for one tensor-parallel rank")
    parser.add_argument("--sections", dest="parts", action="store_const", const="sections",
                        help="requests that are planned for one of some stages that are alike")
    options = parser.parse_args()
    print(f"{options.count} migrations from seed {options.seed} on", flush=True)
    seeds = range(options.seed, options.seed + options.count)
    failures, refusals = 0, collections.Counter()
    with multiprocessing.Pool(options.jobs) as pool:
        work = ((seed, options.etc_opt, options.etc_run, options.parts) for seed in seeds)
        for number, (seed, refused, request, wrong) in enumerate(pool.imap_unordered(try_seed, work, 4), 1):
            refusals += refused
            if wrong:
                failures += 1
                print(f"seed {seed}: WRONG: {wrong}\n  request: {json.dumps(request[0])} {request[1]}", flush=True)
            if number % 1000 == 0:
                print(f"{number} tried, {failures} wrong", flush=True)
    of_lane, of_sections = refusals.pop("of one lane", 0), refusals.pop("of sections", 0)
    if options.parts:
        print(f"{of_lane} are plans of one lane, {of_sections} of sections")
    print("drawn again: " + (", ".join(f"{n} {reason}" for reason, n in sorted(refusals.items())) or "none"))
    print(f"{options.count - failures} of {options.count} migrations as they should be, from seed {options.seed} on")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
