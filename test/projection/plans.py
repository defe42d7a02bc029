"""A plan's projection: what of a plan must stay the same while the planner and the plan's format are rebuilt.

It is made from the plan's JSON device by device (docs/plan-format.md), not from the IR and not from the plan file:
where roles are placed, and for each device and round the set of operations with peer, tensor, state type and box.
"""

import collections
import dataclasses
import hashlib
import json
import math
import pathlib
import re
import subprocess

from cases import PREVIOUS

BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "fp64": 8, "i64": 8, "u8": 1}
MOST_DEVICES = 256
CLUSTER = pathlib.Path(__file__).parents[2] / "runtime/view/simulate/clusters/h100.json"


class Refused(Exception):
    """etc-opt says that a request can't be met."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """A line of what is kept. Bytes, but for `ratio`, the peak over max(prev, curr), and `seconds`, predicted."""

    name: str
    request: str
    remedy: str
    projection: str
    moved: int
    internode: int
    port: int
    peak: int
    ratio: float
    rounds: int
    seconds: float

    def line(self):
        return " ".join(str(value) for value in dataclasses.astuple(self))

    @classmethod
    def parse(cls, line):
        values = line.split()
        return cls(*(field.type(value) for field, value in zip(dataclasses.fields(cls), values, strict=True)))


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode == 1:
        raise Refused(done.stderr.strip())
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def remedied(step, remedy):
    """The options of a step, with what its refusal asked for."""
    return [*step.options, *([f"--{each}" for each in remedy.split(",")] if remedy != "-" else [])]


def write_plan(etc_opt, step, remedy, folder):
    """Writes plan.etcplan."""
    files = []
    if step.request is not None:
        (folder / "request.json").write_text(json.dumps(step.request))
        files = ["request.json"]
    run([etc_opt, *files, *remedied(step, remedy), "--quiet", "--emit=plan", "-o", "plan.etcplan"], folder)


def find_plan(etc_opt, step, folder):
    """Writes plan.etcplan and returns the remedy: a place or budget that a refusal named, or - where there is none."""
    remedies = []
    while True:
        remedy = ",".join(remedies) or "-"
        try:
            write_plan(etc_opt, step, remedy, folder)
            return remedy
        except Refused as refused:
            least = re.search(r"infeasible; the least found is (\S+x)", str(refused))
            further = f"memory-budget={least[1]}" if least else "place=any" if "use --place=any" in str(refused) else ""
            if not further or further in remedies:
                raise
            remedies.append(further)


def tensor_name(tensor):
    return f"{tensor['name']}/{tensor['type']}"


def operation(op, tensors):
    """An operation as a line."""
    box = "x".join(f"[{begin},{end})" for begin, end in op.get("box", []))
    words = [op["op"], str(op.get("peer", "-")), tensor_name(tensors[op["tensor"]]), box or "-"]
    if "source" in op:
        words.append("of " + tensor_name(tensors[op["source"]]))
    if "from" in op:
        words.append("from " + op["from"])
    return " ".join(words)


def projection(document):
    """The projection as text, a line an operation, in an order of its own."""
    tensors, lines = document["tensors"], []
    for side in ("prev", "curr"):
        lines.append(" ".join([side, *map(str, document["placement"][side])]))
    for device in document["devices"]:
        for number, ops in enumerate(device["rounds"]):
            lines += [f"{device['device']} {number} {line}" for line in sorted(operation(op, tensors) for op in ops)]
    return "\n".join(lines) + "\n"


def count_bytes(document):
    """Bytes moved, between nodes, and of the busiest direction of a device, from the operations alone."""
    tensors = document["tensors"]
    node = [number for number, count in enumerate(document["world"]["nodes"]) for _ in range(count)]
    moved = between = 0
    ports = collections.Counter()
    for device in document["devices"]:
        here = device["device"]
        for op in (op for ops in device["rounds"] for op in ops if "peer" in op):
            size = BYTES[tensors[op["tensor"]]["dtype"]] * math.prod(end - begin for begin, end in op["box"])
            ports[here, op["op"]] += size
            if op["op"] == "send":
                moved += size
                between += size if node[here] != node[op["peer"]] else 0
    return moved, between, max(ports.values(), default=0)


def read_json(etc_opt, dry, folder):
    """The plan as JSON: all devices, or some of them where there are many."""
    devices = [device["device"] for device in dry["devices"]]
    some = devices[::len(devices) // MOST_DEVICES + 1]
    options = [] if some == devices else ["--devices=" + ",".join(map(str, some))]
    document = json.loads(run([etc_opt, "plan.etcplan", "--quiet", "--emit=json", *options], folder))
    summary = document["summary"]
    said = (summary["moved_bytes"], summary["internode_bytes"],
            max(summary["max_send_bytes"], summary["max_recv_bytes"]))
    if not options and count_bytes(document) != said:
        raise RuntimeError(f"a summary says {said}, the operations come to {count_bytes(document)}")
    return document, said


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def make_plan(tools, name, step, remedy, folder):
    """Plans a step and returns its line and its projection. Without a remedy that is known, it is looked for."""
    etc_opt, etc_run = tools
    if remedy is None:
        remedy = find_plan(etc_opt, step, folder)
    else:
        write_plan(etc_opt, step, remedy, folder)
    dry = json.loads(run([etc_run, "--dry-run", "--json", f"--cluster={CLUSTER}", "plan.etcplan"], folder))
    document, (moved, between, port) = read_json(etc_opt, dry, folder)
    text = projection(document)
    peak = max(device["peak_bytes"] for device in dry["devices"])
    summary = document["summary"]
    request = digest(json.dumps([step.options, step.request], sort_keys=True))[:8]
    plan = Plan(name, request, remedy, digest(text), moved, between, port, peak, summary["peak_ratio"],
                summary["rounds"], float(f"{dry['seconds']:.6g}"))
    return plan, text


def make_case(tools, name, steps, remedies, folder):
    """Plans the steps of a case; yields the line and the projection of each."""
    for number, step in enumerate(steps):
        label = f"{name}.{number + 1}" if len(steps) > 1 else name
        yield make_plan(tools, label, step, remedies and remedies.get(label, "-"), folder)
        (folder / "plan.etcplan").replace(folder / PREVIOUS)
