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
import zlib

import numpy

sys.path.append(str(pathlib.Path(__file__).parent / "Inputs"))
import exact_assignment

TYPES = ("param", "master", "exp_avg", "exp_avg_sq")
EMBEDDING = "embedding.word_embeddings.weight"
HEAD = "output_layer.weight"


class Wrong(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Wrong(message)


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
    failed = leaving = ()
    if prev[2] > 1 and rng.random() < 0.5:
        # One replica of some roles dies: the state has a living holder still.
        roles = [p * prev[1] * prev[2] + t for p in range(prev[0]) for t in range(prev[1])]
        failed = [role + prev[1] * rng.randrange(prev[2]) for role in rng.sample(roles, rng.randint(1, len(roles)))]
    if rng.random() < 0.3:
        leaving = [rank for rank in range(math.prod(prev)) if rank not in failed and rng.random() < 0.3]
    # Room for the current ranks beside what failed and leaves, in nodes of different sizes.
    count = max(math.prod(prev), math.prod(curr) + len(failed) + len(leaving)) + rng.choice((0, 0, 1, 5))
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
        dead_ranks=sorted(failed), unusable=set(failed) | set(leaving))
    case.request = {
        "model": {"layers": layers, "hidden": model.hidden, "heads": heads, "vocab": model.vocab, "seq": model.seq},
        "prev": {"pp": prev[0], "tp": prev[1], "dp": prev[2], "devices": devices},
        "curr": shorthand(curr),
        "cluster": {"nodes": nodes},
        "failed": [devices[rank] for rank in failed],
        "leaving": [devices[rank] for rank in leaving],
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


def values(tensor, box):
    """What a box of a tensor holds: a number for every global index, the same in a tied copy."""
    name = zlib.crc32((tensor.get("tied_to", tensor["name"]) + tensor["type"]).encode()) << 20
    index = numpy.zeros([end - begin for begin, end in box], numpy.int64)
    for axis, (begin, end) in enumerate(box):
        # No axis is longer than 2^14.
        index = (index << 14) + numpy.arange(begin, end).reshape([-1 if a == axis else 1 for a in range(len(box))])
    return name + index


# ----------------------------------------------------------------------------------------------------------------------
# The replay
# ----------------------------------------------------------------------------------------------------------------------


class Shard:
    def __init__(self, box, data, written):
        self.box, self.data = box, data
        self.written = numpy.full(data.shape, written)

    def part(self, array, box):
        check(all(a <= begin < end <= b for (begin, end), (a, b) in zip(box, self.box)), f"{box} is not in {self.box}")
        return array[tuple(slice(begin - a, end - a) for (begin, end), (a, _) in zip(box, self.box))]


class Device:
    """One device: previous and current shards by tensor, and what they take."""

    def __init__(self, world, entry):
        self.world, self.number, self.rounds = world, entry["device"], entry["rounds"]
        self.prev = {tensor: Shard(box, values(world.tensors[tensor], box), True)
                     for tensor, box in map(world.shard, entry["prev"])}
        self.curr_boxes = dict(map(world.shard, entry["curr"]))
        self.curr = {}
        self.prev_bytes = sum(world.bytes_of(tensor, shard.box) for tensor, shard in self.prev.items())
        self.curr_bytes = sum(world.bytes_of(tensor, box) for tensor, box in self.curr_boxes.items())
        self.live = self.peak = self.prev_bytes
        self.bound = set()
        self.largest_sent = self.largest_received = self.sent = self.received = 0

    def binds(self, op):
        tensor = op["tensor"]
        return (op["op"] == "refer" and op.get("source", tensor) == tensor and tensor in self.prev
                and self.prev[tensor].box == self.curr_boxes[tensor] == op["box"])

    def allocate(self, ops):
        for op in ops:
            tensor = op["tensor"]
            if op["op"] in ("send", "release") or tensor in self.curr:
                continue
            check(tensor in self.curr_boxes, f"device {self.number} writes {self.world.name(tensor)}, not its own")
            box = self.curr_boxes[tensor]
            if self.binds(op):
                self.bound.add(tensor)
            else:
                self.live += self.world.bytes_of(tensor, box)
            self.curr[tensor] = Shard(box, numpy.full([end - begin for begin, end in box], -1, numpy.int64), False)
        self.peak = max(self.peak, self.live)

    def read(self, op):
        check(op.get("from") != "curr", "a relay, which no policy plans yet")
        source = op.get("source", op["tensor"])
        check(source in self.prev, f"device {self.number} reads {self.world.name(source)}, which it does not hold")
        shard = self.prev[source]
        return shard.part(shard.data, op["box"]).copy()

    def write(self, op, data):
        shard = self.curr[op["tensor"]]
        written = shard.part(shard.written, op["box"])
        check(not written.any(), f"device {self.number} writes {self.world.name(op['tensor'])} {op['box']} twice")
        written[...] = True
        shard.part(shard.data, op["box"])[...] = data

    def release(self, op):
        tensor = op["tensor"]
        check(tensor in self.prev and tensor not in self.bound, f"releases {self.world.name(tensor)}, not to be freed")
        self.live -= self.world.bytes_of(tensor, self.prev.pop(tensor).box)

    def count(self, sent, received):
        self.sent += sent
        self.received += received
        self.largest_sent = max(self.largest_sent, sent)
        self.largest_received = max(self.largest_received, received)


class World:
    def __init__(self, case, document):
        self.case, self.document = case, document
        self.tensors, self.shards = document["tensors"], document["shards"]
        names = [(tensor["name"], tensor["type"]) for tensor in self.tensors]
        check(len(set(names)) == len(names), "a tensor stands twice in the table")
        self.devices = {entry["device"]: Device(self, entry) for entry in tuples(document["devices"])}
        self.moved = self.kept = self.zeroed = self.between_nodes = 0
        self.node_of = [node for node, count in enumerate(case.nodes) for _ in range(count)]

    def name(self, tensor):
        return f"{self.tensors[tensor]['name']} ({self.tensors[tensor]['type']})"

    def bytes_of(self, tensor, box):
        return exact_assignment.BYTES[self.tensors[tensor]["type"]] * math.prod(end - begin for begin, end in box)

    def shard(self, index):
        entry = self.shards[index]
        check(len(entry["boxes"]) == 1, "a shard of more than one box")
        return entry["tensor"], tuple(map(tuple, entry["boxes"][0]))

    def run(self):
        self.check_inventories()
        for round in range(max(len(device.rounds) for device in self.devices.values())):
            self.run_round({number: device.rounds[round] for number, device in self.devices.items()
                            if round < len(device.rounds)})
        self.check_result()

    def check_inventories(self):
        """Devices hold before and after what Megatron's rules say of their ranks."""
        for side, parallel, dead in (("prev", self.case.prev, self.case.dead_ranks), ("curr", self.case.curr, [])):
            placement = self.document["placement"][side]
            check(len(set(placement)) == len(placement) == math.prod(parallel), f"{side} placement {placement}")
            taken = {}
            for rank, (device, boxes) in enumerate(zip(placement, inventories(self.case, parallel))):
                if rank not in dead:
                    taken[device] = {(name, kind): box for name, box in boxes.items() for kind in self.case.types}
            for number, device in self.devices.items():
                boxes = device.curr_boxes if side == "curr" else {t: s.box for t, s in device.prev.items()}
                found = {(self.tensors[t]["name"], self.tensors[t]["type"]): box for t, box in boxes.items()}
                check(found == taken.pop(number, {}), f"device {number} holds something else on the {side} side")
            check(not taken, f"devices {sorted(taken)} take no part")
        check(self.document["placement"]["prev"] == self.case.devices, "previous ranks are elsewhere")
        forbidden = {self.case.devices[rank] for rank in self.case.unusable}
        check(not forbidden & set(self.document["placement"]["curr"]), "a device that is gone takes a role")

    def run_round(self, rounds):
        messages = {}
        for number, ops in rounds.items():
            self.devices[number].allocate(ops)
        # Everything is read before anything is written.
        for number, ops in rounds.items():
            device = self.devices[number]
            local = [(op, self.local(device, op)) for op in ops if op["op"] in ("refer", "zero")]
            for op in ops:
                if op["op"] == "send":
                    messages.setdefault((number, op["peer"]), []).append((op, device.read(op)))
            for op, data in local:
                device.write(op, data)
        received = {}
        for number, ops in rounds.items():
            for op in ops:
                if op["op"] == "recv":
                    check(messages.get((op["peer"], number)), f"device {number} waits for {op['peer']} in vain")
                    sent, data = messages[op["peer"], number].pop(0)
                    same = all(sent.get(key) == op.get(key) for key in ("tensor", "box", "source"))
                    check(same, f"device {op['peer']} sends {sent}, device {number} expects {op}")
                    self.devices[number].write(op, data)
                    received[number] = received.get(number, 0) + self.bytes_of(op["tensor"], op["box"])
        check(not any(messages.values()), "something is sent that nobody receives")
        for number, ops in rounds.items():
            sent = sum(self.bytes_of(op["tensor"], op["box"]) for op in ops if op["op"] == "send")
            self.between_nodes += sum(self.bytes_of(op["tensor"], op["box"]) for op in ops
                                      if op["op"] == "send" and self.node_of[number] != self.node_of[op["peer"]])
            self.moved += sent
            self.devices[number].count(sent, received.get(number, 0))
            for op in ops:
                if op["op"] == "release":
                    self.devices[number].release(op)

    def local(self, device, op):
        size = self.bytes_of(op["tensor"], op["box"])
        if op["op"] == "zero":
            self.zeroed += size
            return 0
        self.kept += size
        return device.read(op)

    def check_result(self):
        for number, device in self.devices.items():
            for tensor, box in device.curr_boxes.items():
                check(tensor in device.curr and device.curr[tensor].written.all(),
                      f"device {number} lacks some of {self.name(tensor)}")
                expected = values(self.tensors[tensor], box)
                if self.tensors[tensor]["name"] in (EMBEDDING, HEAD):
                    known = exact_assignment.padded(self.case.model.vocab, self.case.prev[1])
                    expected[max(0, known - box[0][0]):] = 0
                check((device.curr[tensor].data == expected).all(), f"device {number}: {self.name(tensor)} is wrong")
            check(device.live == device.curr_bytes,
                  f"device {number} ends with {device.live} live bytes, its current state has {device.curr_bytes}")

    def check_summary(self):
        summary, devices = self.document["summary"], self.devices.values()
        least = exact_assignment.least_moved_bytes(self.case.model, self.case.prev, self.case.curr, self.case.types,
                                                   self.case.unusable)

        def ratio(peak):
            return max(-(-peak(device) * 10000 // max(device.prev_bytes, device.curr_bytes))
                       for device in devices) / 10000

        def slabs(device):
            return device.largest_sent + device.largest_received

        def safe(device):
            shared = sum(self.bytes_of(tensor, device.curr_boxes[tensor]) for tensor in device.bound)
            return device.prev_bytes + device.curr_bytes - shared + slabs(device)

        expected = {
            "moved_bytes": self.moved, "kept_bytes": self.kept, "zeroed_bytes": self.zeroed, "derived_bytes": 0,
            "internode_bytes": self.between_nodes, "max_send_bytes": max(device.sent for device in devices),
            "max_recv_bytes": max(device.received for device in devices),
            "rounds": max(len(device.rounds) for device in devices),
            "peak_ratio": ratio(lambda device: device.peak + slabs(device)), "peak_ratio_safe": ratio(safe),
        }
        for field, value in expected.items():
            check(summary[field] == value, f"summary.{field} is {summary[field]}, expected {value}")
        # Bytes between nodes come first; where topology can't bind, an exact assignment moves no less.
        check(self.moved == least or (self.moved > least and len(self.case.nodes) > 1),
              f"{self.moved} bytes are sent, an exact assignment moves {least}")
        check(summary["bound"]["moved_bytes"] == least, f"the bound is {summary['bound']}, expected {least}")
        check(summary["bound"]["internode_bytes"] <= self.between_nodes, "fewer bytes between nodes than the bound")
        total = sum(device.curr_bytes for device in devices)
        check(self.moved + self.kept + self.zeroed == total, "moved, kept and zeroed are not the current state")
        budget = self.case.request.get("memory_budget")
        check(not budget or summary["peak_ratio"] <= float(budget[:-1]) + 1e-4,
              f"peak ratio {summary['peak_ratio']} above the budget {budget}")


def tuples(value):
    """JSON with boxes as tuples, which compare and hash."""
    if isinstance(value, dict):
        return {key: tuple(map(tuple, entry)) if key == "box" else tuples(entry) for key, entry in value.items()}
    return [tuples(entry) for entry in value] if isinstance(value, list) else value


def main():
    etc_opt = sys.argv[1]
    count, first = int(os.environ.get("ETC_PROPERTY_COUNT", 25)), int(os.environ.get("ETC_PROPERTY_SEED", 0))
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            case = random_case(random.Random(seed))
            print(f"seed {seed}: {shorthand(case.prev)} -> {shorthand(case.curr)}", flush=True)
            try:
                world = World(case, plan(etc_opt, case, pathlib.Path(folder)))
                world.run()
                world.check_summary()
            except Wrong as wrong:
                failures += 1
                print(f"seed {seed}: WRONG: {wrong}\n  request: {json.dumps(case.request)}", flush=True)
    print(f"{count - failures} of {count} migrations as they should be, from seed {first} on")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
