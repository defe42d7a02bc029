"""A plan's JSON carried out on arrays, apart from the planner and the runtime.

Every element has a value of its own, the same in tied copies: its row-major index in the global shape, and the number
of its name and type. Padding counts rows of axis 0 alone, so an index means the same element before and after.
"""

import functools
import itertools
import math
import zlib

import numpy

BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "fp64": 8, "i64": 8, "u8": 1}


class Wrong(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Wrong(message)


def volume(box):
    return math.prod([end - begin for begin, end in box])


@functools.lru_cache(maxsize=1 << 14)
def indices(shape, box):
    """The row-major indices of a box's elements, in the form of the box."""
    result = numpy.zeros((1,) * len(shape), numpy.int64)
    for axis, (begin, end) in enumerate(box):
        stride = math.prod(shape[axis + 1:])
        form = [-1 if other == axis else 1 for other in range(len(shape))]
        result = result + stride * numpy.arange(begin, end).reshape(form)
    return result


class Tensor:
    def __init__(self, entry):
        self.name, self.type, self.shape = entry["name"], entry["type"], tuple(entry["shape"])
        self.size = BYTES[entry["dtype"]]
        self.label = f"{self.name} ({self.type})"
        # Bit for bit, a parameter is its master's cast: it has the master's number.
        kind = "state" if self.type in ("param", "master") else self.type
        self.number = zlib.crc32((entry.get("tied_to", self.name) + kind).encode()) << 28


def shard_indices(tensor, boxes):
    """The indices of a shard's elements, in the order of its memory."""
    parts = [indices(tensor.shape, box).ravel() for box in boxes]
    return parts[0] if len(parts) == 1 else numpy.concatenate(parts)


class Shard:
    """Boxes in a row, each an array of its own."""

    def __init__(self, tensor, boxes, full):
        self.tensor, self.boxes = tensor, boxes
        forms = [[end - begin for begin, end in box] for box in boxes]
        if full:
            self.data = [indices(tensor.shape, box) + tensor.number for box in boxes]
        else:
            self.data = [numpy.full(form, -1, numpy.int64) for form in forms]
        self.bytes = tensor.size * sum(map(volume, boxes))

    def part(self, box):
        for own, data in zip(self.boxes, self.data):
            if box == own:
                return data
            if all([a <= begin < end <= b for (begin, end), (a, b) in zip(box, own)]):
                return data[tuple(slice(begin - a, end - a) for (begin, end), (a, _) in zip(box, own))]
        raise Wrong(f"{self.tensor.label}: {box} is in none of {self.boxes}")

    def elements(self):
        """What the shard's memory holds, in order."""
        parts = [data.ravel() for data in self.data] or [numpy.zeros(0, numpy.int64)]
        return parts[0] if len(parts) == 1 else numpy.concatenate(parts)


class Device:
    def __init__(self, world, entry):
        self.world, self.number, self.rounds = world, entry["device"], entry["rounds"]
        self.prev = {tensor: Shard(world.tensors[tensor], boxes, True)
                     for tensor, boxes in map(world.shard, entry["prev"])}
        self.curr_boxes = dict(map(world.shard, entry["curr"]))
        # What it passes on without keeping it, as long as it has it.
        self.transit, self.transit_boxes = {}, dict(map(world.shard, entry.get("transit", [])))
        check(len(self.prev) == len(entry["prev"]) and len(self.curr_boxes) == len(entry["curr"]),
              f"device {self.number} has two shards of a tensor")
        self.curr = {}
        self.prev_bytes = sum(shard.bytes for shard in self.prev.values())
        self.curr_bytes = sum(world.tensors[tensor].size * volume(box)
                              for tensor, boxes in self.curr_boxes.items() for box in boxes)
        self.live = self.peak = self.live_safe = self.peak_safe = self.prev_bytes
        self.bound = self.kept_shards()
        self.largest_sent = self.largest_received = self.sent = self.received = 0

    def kept_shards(self):
        """The tensors whose shards stay where they are: every box of them is referred to."""
        referred = {}
        for op in itertools.chain.from_iterable(self.rounds):
            if op["op"] == "refer" and op.get("source", op["tensor"]) == op["tensor"]:
                referred.setdefault(op["tensor"], []).append(op["box"])
        return {tensor for tensor, boxes in referred.items()
                if tensor in self.prev and self.prev[tensor].boxes == self.curr_boxes.get(tensor)
                and sorted(boxes) == sorted(self.prev[tensor].boxes)}

    def allocate(self, ops):
        for op in ops:
            tensor, passes = op["tensor"], op.get("to") == "transit"
            held, boxes = (self.transit, self.transit_boxes) if passes else (self.curr, self.curr_boxes)
            if op["op"] in ("send", "release") or tensor in held:
                continue
            if tensor not in boxes:
                raise Wrong(f"device {self.number} writes {self.world.label(tensor)}, not its own")
            shard = held[tensor] = Shard(self.world.tensors[tensor], boxes[tensor], False)
            if passes or tensor not in self.bound:
                self.live += shard.bytes
                self.live_safe += shard.bytes
        self.peak, self.peak_safe = max(self.peak, self.live), max(self.peak_safe, self.live_safe)

    def read(self, op):
        # Words are made only where they are needed: this runs for every operation of a plan.
        source = op.get("source", op["tensor"])
        if op["op"] != "derive" and self.world.tensors[source].type != self.world.tensors[op["tensor"]].type:
            raise Wrong(f"device {self.number} fills {self.world.label(op['tensor'])} from {self.world.label(source)}")
        # What is cast, and what is passed on, has arrived in an earlier round.
        held = self.curr if op["op"] == "derive" or op.get("from") == "curr" else self.prev
        if op.get("from") == "transit":
            held = self.transit
        if source not in held:
            raise Wrong(f"device {self.number} reads {self.world.label(source)}, which it does not hold")
        data = held[source].part(op["box"]).copy()
        if data.min() < 0:
            raise Wrong(f"device {self.number} reads {self.world.label(source)} before it is there")
        return data

    def write(self, op, data):
        held = self.transit if op.get("to") == "transit" else self.curr
        place = held[op["tensor"]].part(op["box"])
        if place.max() >= 0:
            raise Wrong(f"device {self.number} writes {self.world.label(op['tensor'])} {op['box']} twice")
        place[...] = data

    def release(self, op):
        tensor = op["tensor"]
        if op.get("of") == "transit":
            check(tensor in self.transit, f"releases {self.world.label(tensor)}, which is not in transit")
            check((self.transit[tensor].elements() >= 0).all(), f"{self.world.label(tensor)} has not arrived")
            freed = self.transit.pop(tensor).bytes
            self.live, self.live_safe = self.live - freed, self.live_safe - freed
            return
        check(tensor in self.prev and tensor not in self.bound, f"releases {self.world.label(tensor)}, not to be freed")
        self.live -= self.prev.pop(tensor).bytes

    def count(self, sent, received):
        self.sent, self.received = self.sent + sent, self.received + received
        self.largest_sent = max(self.largest_sent, sent)
        self.largest_received = max(self.largest_received, received)


def is_same(sent, received):
    return (sent["tensor"] == received["tensor"] and sent["box"] == received["box"]
            and sent.get("source") == received.get("source"))


class World:
    def __init__(self, document):
        self.document = document
        self.tensors = [Tensor(entry) for entry in document["tensors"]]
        check(len({tensor.label for tensor in self.tensors}) == len(self.tensors), "a tensor stands twice in the table")
        self.node_of = [node for node, count in enumerate(document["world"]["nodes"]) for _ in range(count)]
        self.devices = {entry["device"]: Device(self, entry) for entry in boxes_as_tuples(document["devices"])}
        self.moved = self.kept = self.zeroed = self.derived = self.between_nodes = self.relayed = self.passed = 0

    def label(self, tensor):
        return self.tensors[tensor].label

    def shard(self, index):
        entry = self.document["shards"][index]
        return entry["tensor"], [tuple(map(tuple, box)) for box in entry["boxes"]]

    def bytes_of(self, op):
        return self.tensors[op["tensor"]].size * volume(op["box"])

    def run(self):
        for number in range(max(len(device.rounds) for device in self.devices.values())):
            self.run_round({device.number: device.rounds[number] for device in self.devices.values()
                            if number < len(device.rounds)})

    def run_round(self, rounds):
        messages = {}
        for number, ops in rounds.items():
            self.devices[number].allocate(ops)
        # Everything is read before anything is written.
        for number, ops in rounds.items():
            device = self.devices[number]
            local = [(op, self.local(device, op)) for op in ops if op["op"] in ("refer", "zero", "derive")]
            for op in ops:
                if op["op"] == "send":
                    messages.setdefault((number, op["peer"]), []).append((op, device.read(op)))
            for op, data in local:
                device.write(op, data)
        for number, ops in rounds.items():
            received = 0
            for op in ops:
                if op["op"] == "recv":
                    if not messages.get((op["peer"], number)):
                        raise Wrong(f"device {number} waits for {op['peer']} in vain")
                    sent, data = messages[op["peer"], number].pop(0)
                    if not is_same(sent, op):
                        raise Wrong(f"device {op['peer']} sends {sent}, device {number} expects {op}")
                    self.devices[number].write(op, data)
                    received += self.bytes_of(op)
                    self.passed += self.bytes_of(op) if op.get("to") == "transit" else 0
            sent = [(self.bytes_of(op), op["peer"]) for op in ops if op["op"] == "send"]
            self.devices[number].count(sum(size for size, _ in sent), received)
            self.moved += sum(size for size, _ in sent)
            self.relayed += sum(self.bytes_of(op) for op in ops if op.get("from"))
            self.between_nodes += sum(size for size, peer in sent if self.node_of[number] != self.node_of[peer])
        check(not any(messages.values()), "something is sent that nobody receives")
        for number, ops in rounds.items():
            for op in ops:
                if op["op"] == "release":
                    self.devices[number].release(op)

    def local(self, device, op):
        if op["op"] == "zero":
            self.zeroed += self.bytes_of(op)
            return 0
        if op["op"] == "derive":
            self.derived += self.bytes_of(op)
        else:
            self.kept += self.bytes_of(op)
        return device.read(op)

    def check_result(self, known_rows):
        """`known_rows` gives the rows of a vocabulary that the previous side has; more are zeroes."""
        for device in self.devices.values():
            for tensor in device.curr_boxes:
                check(tensor in device.curr, f"device {device.number} lacks {self.label(tensor)}")
                info, shard = self.tensors[tensor], device.curr[tensor]
                expected = shard_indices(info, shard.boxes)
                limit = known_rows.get(info.name)
                values = expected + info.number
                if limit is not None:
                    values[expected >= limit * info.shape[1]] = 0
                check((shard.elements() == values).all(), f"device {device.number}: {info.label} is wrong")
            check(not device.transit, f"device {device.number} keeps what it was to pass on")
            check(device.live == device.curr_bytes,
                  f"device {device.number} ends with {device.live} live bytes, its state has {device.curr_bytes}")

    def check_summary(self):
        summary, devices = self.document["summary"], self.devices.values()

        def ratio(peak):
            return max(-(-peak(device) * 10000 // max(device.prev_bytes, device.curr_bytes, 1))
                       for device in devices) / 10000

        def slabs(device):
            return device.largest_sent + device.largest_received

        expected = {
            "moved_bytes": self.moved, "kept_bytes": self.kept, "zeroed_bytes": self.zeroed,
            "derived_bytes": self.derived, "internode_bytes": self.between_nodes,
            "relayed_bytes": self.relayed, "transit_bytes": self.passed,
            "max_send_bytes": max(device.sent for device in devices),
            "max_recv_bytes": max(device.received for device in devices),
            "rounds": max(len(device.rounds) for device in devices),
            "peak_ratio": ratio(lambda device: device.peak + slabs(device)),
            "peak_ratio_safe": ratio(lambda device: device.peak_safe + slabs(device)),
        }
        for field, value in expected.items():
            check(summary[field] == value, f"summary.{field} is {summary[field]}, expected {value}")
        total = sum(device.curr_bytes for device in devices)
        check(self.moved - self.passed + self.kept + self.zeroed + self.derived == total,
              "moved, kept, zeroed and derived are not the current state")


def boxes_as_tuples(value):
    """JSON with boxes as tuples, which compare."""
    if isinstance(value, dict):
        return {key: tuple(map(tuple, entry)) if key == "box" else boxes_as_tuples(entry)
                for key, entry in value.items()}
    return [boxes_as_tuples(entry) for entry in value] if isinstance(value, list) else value
