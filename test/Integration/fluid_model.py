"""A second model of a migration's time, written from docs/simulator.md alone, beside that of etc-run --dry-run.

It reads a plan as JSON and runs every device as a process of its own that packs, posts, copies, waits, unpacks and
answers; what shares a port is filled up in steps, all flows alike, until a port is full. It has no code, data structure
or file format in common with runtime/view/simulate, and is slow.

    fluid_model.py path/to/etc-opt path/to/etc-run                                       20 random cases
    ETC_PROPERTY_COUNT=500 fluid_model.py path/to/etc-opt path/to/etc-run                the long run
    ETC_PROPERTY_SEED=1234 ETC_PROPERTY_COUNT=1 fluid_model.py path/to/etc-opt path/to/etc-run   one case again

A case is right if the two agree within a millionth. A wrong one prints its seed and its request.
"""

import collections
import heapq
import itertools
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ELEMENT_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}
OWN_PIECE = 256 * 1024  # smaller pieces share a message through the slab
AGREEMENT = 1e-6


# ----------------------------------------------------------------------------------------------------------------------
# The network: flows through two ports each
# ----------------------------------------------------------------------------------------------------------------------


class Flow:
    def __init__(self, ports, left, whenDone):
        self.ports, self.left, self.whenDone, self.rate = ports, left, whenDone, 0.0


def fill(flows, room):
    """Raises all rates alike; a flow stops at its first full port."""
    rates, open_ = dict.fromkeys(flows, 0.0), set(flows)
    room = dict(room)
    while open_:
        users = collections.Counter(port for flow in open_ for port in flow.ports)
        step = min(room[port] / count for port, count in users.items())
        for flow in open_:
            rates[flow] += step
        for port, count in users.items():
            room[port] -= step * count
        full = {port for port in users if room[port] <= 1e-9 * step * users[port] + 1e-6}
        open_ = {flow for flow in open_ if not full.intersection(flow.ports)}
    return rates


def share(flows, capacity, back, acknowledgement):
    """Sets rates so that what acknowledges arriving bytes has its room too."""
    rates = fill(flows, capacity)
    if acknowledgement:
        room = dict(capacity)
        for flow in flows:
            for port in flow.ports:
                if port in back:
                    room[back[port]] -= acknowledgement * rates[flow]
        rates = fill(flows, room)
    for flow in flows:
        flow.rate = rates[flow]


# ----------------------------------------------------------------------------------------------------------------------
# The plan: what a device does in a round
# ----------------------------------------------------------------------------------------------------------------------


def volume(box):
    return math.prod(end - begin for begin, end in box)


def is_inside(box, other):
    return all(b0 <= a0 and a1 <= b1 for (a0, a1), (b0, b1) in zip(box, other))


def is_dense(part, box):
    """Whether a part is one run of bytes in the row-major memory of its box."""
    rest = list(zip(part, box))
    while rest and rest[0][0][1] - rest[0][0][0] == 1:
        rest.pop(0)  # a single index
    return all(tuple(a) == tuple(b) for a, b in rest[1:])


class Step:
    def __init__(self):
        self.packed = self.copied = self.unpacked = 0
        self.sends = collections.Counter()  # bytes by the device that gets them


class Plan:
    def __init__(self, data):
        self.tensors, self.shards = data["tensors"], data["shards"]
        self.nodes = data["world"]["nodes"]
        self.pause = data["pause"]["rounds"] if "pause" in data else None
        self.steps, self.rounds = {}, 0
        for device in data["devices"]:
            steps = [self.step(device, operations) for operations in device["rounds"]]
            self.steps[device["device"]] = steps
            self.rounds = max(self.rounds, len(steps))

    def boxes(self, device, side, tensor):
        for shard in device.get(side, ()):
            if self.shards[shard]["tensor"] == tensor:
                return self.shards[shard]["boxes"]
        return None

    def is_staged(self, device, side, tensor, box, size):
        if size < OWN_PIECE:
            return True
        around = next(b for b in self.boxes(device, side, tensor) if is_inside(box, b))
        return not is_dense(box, around)

    def stays_where_it_is(self, device, operation, referred):
        """Whether the current tensor takes over the previous one's memory."""
        tensor, box = operation["tensor"], operation["box"]
        prev, curr = self.boxes(device, "prev", tensor), self.boxes(device, "curr", tensor)
        if prev is None or prev != curr or box not in curr:
            return False
        return len(curr) == 1 or all(b in referred[tensor] for b in curr)

    def step(self, device, operations):
        step, referred = Step(), collections.defaultdict(list)
        for later in device["rounds"]:
            for operation in later:
                if operation["op"] == "refer":
                    referred[operation["tensor"]].append(operation["box"])
        for operation in operations:
            kind, tensor = operation["op"], operation["tensor"]
            if kind == "release":
                continue
            box = operation["box"]
            size = volume(box) * ELEMENT_BYTES[self.tensors[tensor]["dtype"]]
            if kind == "send":
                source = operation.get("source", tensor)
                step.packed += size if self.is_staged(device, operation.get("from", "prev"), source, box, size) else 0
                step.sends[operation["peer"]] += size
            elif kind == "recv":
                step.unpacked += size if self.is_staged(device, operation.get("to", "curr"), tensor, box, size) else 0
            elif kind != "refer" or not self.stays_where_it_is(device, operation, referred):
                step.copied += size
        return step


# ----------------------------------------------------------------------------------------------------------------------
# Time: devices as processes
# ----------------------------------------------------------------------------------------------------------------------


class Gate:
    """Opens when its count is reached."""

    def __init__(self, count):
        self.left, self.waiting = count, []


class World:
    def __init__(self, plan, cluster):
        self.plan, self.pack = plan, cluster["pack"]["bytes_per_second"]
        self.link, self.port = cluster["link"], cluster["port"]
        self.acknowledgement = self.port.get("acknowledgement_share", 0)
        self.now, self.queue, self.ties, self.flows = 0.0, [], itertools.count(), []
        self.capacity, self.back, self.place = {}, {}, {}
        first = 0
        for node, size in enumerate(plan.nodes):
            count = min(self.port["per_node"], size)
            for i in range(size):
                self.place[first + i] = (node, i * count // size)
            first += size
        self.posted, self.gates, self.pauseEnded = {}, {}, Gate(len(plan.steps))

    # Processes yield ("for", seconds) or a gate.
    def go(self, process):
        try:
            wanted = next(process)
        except StopIteration:
            return
        if isinstance(wanted, Gate):
            if wanted.left == 0:
                self.go(process)
            else:
                wanted.waiting.append(process)
        else:
            heapq.heappush(self.queue, (self.now + wanted[1], next(self.ties), process))

    def open(self, gate):
        gate.left -= 1
        if gate.left == 0:
            for process in gate.waiting:
                self.go(process)

    def ports_of(self, sender, receiver):
        (one, out), (other, into) = self.place[sender], self.place[receiver]
        if one == other:
            ports, rate = (("link out", sender), ("link in", receiver)), self.link
        else:
            ports, rate = (("out", one, out), ("in", other, into)), self.port
            self.back.update({("out", *k): ("in", *k) for k in ((one, out), (other, into))})
            self.back.update({("in", *k): ("out", *k) for k in ((one, out), (other, into))})
            for node, index in ((one, out), (other, into)):
                self.capacity[("out", node, index)] = self.capacity[("in", node, index)] = rate["bytes_per_second"]
        self.capacity.update(dict.fromkeys(ports, rate["bytes_per_second"]))
        return ports, rate["latency_seconds"]

    def message(self, key, size):
        round_, sender, receiver = key
        ports, latency = self.ports_of(sender, receiver)
        yield self.posted[key]
        yield ("for", latency)
        self.flows.append(Flow(ports, size, lambda: self.open(self.gates["arrived", round_, receiver])))
        share(self.flows, self.capacity, self.back, self.acknowledgement)

    def answer(self, key):
        round_, sender, receiver = key
        yield ("for", self.ports_of(sender, receiver)[1])
        self.open(self.gates["answered", round_, sender])

    def copy(self, round_, device):
        yield ("for", self.plan.steps[device][round_].copied / self.pack)
        self.open(self.gates["arrived", round_, device])

    def device(self, device, keys):
        for round_ in range(self.plan.rounds):
            if round_ == self.plan.pause:
                self.open(self.pauseEnded)
                yield self.pauseEnded
            step = self.plan.steps[device][round_] if round_ < len(self.plan.steps[device]) else Step()
            yield ("for", step.packed / self.pack)
            for key in keys[round_, device]:
                self.open(self.posted[key])
            if round_ < len(self.plan.steps[device]):
                self.go(self.copy(round_, device))
                yield self.gates["arrived", round_, device]
            yield ("for", step.unpacked / self.pack)
            for key in keys[round_, device]:
                if key[2] == device:
                    self.go(self.answer(key))
            yield self.gates["answered", round_, device]

    def run(self):
        keys, sizes = collections.defaultdict(list), {}
        for device, steps in self.plan.steps.items():
            for round_, step in enumerate(steps):
                for peer, size in step.sends.items():
                    key = (round_, device, peer)
                    sizes[key] = size
                    self.posted[key] = Gate(2)
                    keys[round_, device].append(key)
                    keys[round_, peer].append(key)
        for device in self.plan.steps:
            for round_ in range(self.plan.rounds):
                mine = keys[round_, device]
                self.gates["arrived", round_, device] = Gate(1 + sum(key[2] == device for key in mine))
                self.gates["answered", round_, device] = Gate(sum(key[1] == device for key in mine))
        for key, size in sizes.items():
            self.go(self.message(key, size))
        for device in self.plan.steps:
            self.go(self.device(device, keys))
        while self.queue or self.flows:
            self.advance()
        return self.now

    def advance(self):
        event = self.queue[0][0] if self.queue else math.inf
        end = min((self.now + flow.left / flow.rate for flow in self.flows), default=math.inf)
        then = min(event, end)
        for flow in self.flows:
            flow.left -= flow.rate * (then - self.now)
        self.now = then
        done = [flow for flow in self.flows if flow.left <= 1e-12 * flow.rate + 1e-3]
        if done:
            self.flows = [flow for flow in self.flows if flow not in done]
            share(self.flows, self.capacity, self.back, self.acknowledgement)
            for flow in done:
                flow.whenDone()
        while self.queue and self.queue[0][0] <= self.now:
            self.go(heapq.heappop(self.queue)[2])


def seconds(plan, cluster):
    """What a plan (its JSON, parsed) takes on a cluster (docs/cluster-format.md, parsed)."""
    return World(Plan(plan), cluster).run()


# ----------------------------------------------------------------------------------------------------------------------
# Random cases
# ----------------------------------------------------------------------------------------------------------------------

def described(rng):
    """A cluster of docs/cluster-format.md, with or without acknowledgements."""
    return {
        "name": "a random cluster",
        "link": {"bytes_per_second": 10 ** rng.uniform(9, 12), "latency_seconds": 10 ** rng.uniform(-6, -4)},
        "port": {
            "per_node": rng.choice((1, 2, 4, 8)),
            "bytes_per_second": 10 ** rng.uniform(8, 11),
            "latency_seconds": 10 ** rng.uniform(-6, -3),
            "acknowledgement_share": rng.choice((0, 0.03)),
        },
        "pack": {"bytes_per_second": 10 ** rng.uniform(10, 12.5)},
    }


def configuration(rng, devices):
    tp = rng.choice([t for t in (1, 2, 4, 8) if devices % t == 0])
    pp = rng.choice([p for p in (1, 2, 3, 4, 6, 12) if devices // tp % p == 0])
    return f"PP{pp}TP{tp}DP{devices // tp // pp}" + rng.choice(("", "", "+zero1"))


def request(rng):
    nodes, size = rng.choice(((1, 4), (1, 8), (2, 2), (2, 4), (2, 8), (3, 4), (4, 2)))
    devices = [count for count in range(1, nodes * size + 1) if nodes * size % count == 0]
    prev, curr = rng.choice(devices), rng.choice(devices[-2:])
    arguments = [
        f"--model={rng.choice(('gpt2', 'gpt2-medium', 'gpt3-paper', 'llama3-8b'))}",
        f"--prev={configuration(rng, prev)}",
        f"--curr={configuration(rng, curr)}",
        f"--cluster={nodes}x{size}",
        f"--objective={rng.choice(('time', 'time', 'internode'))}",
        f"--memory-budget={rng.choice(('1.05x', '1.2x', '2x'))}",
        *rng.choice(((), (), ("--defer=optimizer",))),
    ]
    return arguments


def predictions(optimizer, runner, arguments, cluster, directory):
    """Seconds by both models; nothing where the request has no plan."""
    json_, binary, description = (directory / name for name in ("plan.json", "plan.etcplan", "cluster.json"))
    description.write_text(json.dumps(cluster))
    for kind, path in (("json", json_), ("plan", binary)):
        made = subprocess.run([optimizer, *arguments, "--quiet", f"--emit={kind}", "-o", path], capture_output=True)
        if made.returncode:
            return None
    answer = subprocess.run(
        [runner, "--dry-run", "--transport=tcp", "--json", f"--cluster={description}", binary],
        check=True, capture_output=True, text=True,
    )
    theirs = json.loads(answer.stdout)["seconds"]
    return theirs, seconds(json.loads(json_.read_text()), cluster)


def main():
    optimizer, runner = sys.argv[1:]
    count = int(os.environ.get("ETC_PROPERTY_COUNT", "20"))
    first = int(os.environ.get("ETC_PROPERTY_SEED", random.randrange(10**9)))
    worst, right, wrong, seed = 0.0, 0, 0, first
    with tempfile.TemporaryDirectory() as directory:
        while right + wrong < count:
            rng = random.Random(seed)
            arguments, cluster = request(rng), described(rng)
            answers = predictions(optimizer, runner, arguments, cluster, pathlib.Path(directory))
            if answers:
                theirs, ours = answers
                off = abs(theirs - ours) / max(ours, 1e-9)
                worst = max(worst, off)
                right, wrong = right + (off <= AGREEMENT), wrong + (off > AGREEMENT)
                if off > AGREEMENT:
                    print(f"seed {seed}: {theirs} s, here {ours} s: {' '.join(arguments)} on {json.dumps(cluster)}")
            seed += 1
    print(f"seeds {first} to {seed - 1}: {right} agree, {wrong} do not, at most {worst:.1e} apart")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
