"""Ways to break a plan in its IR. Each returns the lines of a broken plan, or None where it offers no place for it.

What a kind does breaks every plan that it applies to; the reason stands beside it. The order of messages within a round
is no such thing: in IR a round is a set, and the plan file has both ends in one order.
"""

import re

OP = re.compile(r"^ *etc\.(send|recv|refer|zero|derive|release) \[(.*?)\] \[(.*?)\](.*)$")
WRITES = ("recv", "refer", "zero", "derive")


class Op:
    """An operation: its line, program, round, and what it names."""

    def __init__(self, line, program, round_, match):
        self.line, self.program, self.round = line, program, round_
        self.kind, ids, types, self.rest = match.groups()
        self.ids, self.types = ids.split(", "), types.split(", ")


class Plan:
    def __init__(self, text):
        self.lines = text.splitlines()
        self.ops, self.programs, self.rounds = [], [], {}
        program = round_ = None
        for number, line in enumerate(self.lines):
            if "etc.program" in line:
                program = number
                self.programs.append(number)
            elif found := re.match(r" *etc\.round (\d+)", line):
                round_ = int(found.group(1))
                self.rounds.setdefault(program, {})[round_] = number
            elif found := OP.match(line):
                self.ops.append(Op(number, program, round_, found))

    def find(self, word):
        return [number for number, line in enumerate(self.lines) if word in line]

    def of(self, *kinds):
        return [op for op in self.ops if op.kind in kinds]

    def replaced(self, number, line):
        return self.lines[:number] + [line] + self.lines[number + 1:]

    def without(self, op):
        """The lines without an operation, and without its round if that has no other."""
        alone = sum((other.program, other.round) == (op.program, op.round) for other in self.ops) == 1
        first, last = (op.line - 1, op.line + 2) if alone else (op.line, op.line + 1)
        return self.lines[:first] + self.lines[last:]

    def moved(self, op, round_):
        """The lines with an operation at the head of another round of its program."""
        target = self.rounds[op.program][round_]
        line, lines = self.lines[op.line], list(self.lines)
        lines.insert(target + 1, line)
        old = op.line + (op.line > target)
        alone = sum((other.program, other.round) == (op.program, op.round) for other in self.ops) == 1
        del lines[old - 1 if alone else old:old + 2 if alone else old + 1]
        return lines


def choose(rng, candidates):
    candidates = list(candidates)
    return rng.choice(candidates) if candidates else None


def numbers(text):
    return [int(number) for number in text.split(",")] if text.strip() else []


def drop(plan, rng):
    """A byte is not written, or a receive has no send."""
    op = choose(rng, plan.of("send", *WRITES))
    return op and plan.without(op)


def duplicate(plan, rng):
    """A byte is written twice, or a send has no receive."""
    op = choose(rng, plan.of("send", *WRITES))
    return op and plan.lines[:op.line] + [plan.lines[op.line]] + plan.lines[op.line:]


def change_type(plan, rng):
    """The type that was named is not written, or not the one that the other end expects."""
    known = sorted({name for op in plan.ops for name in op.types})
    op = choose(rng, (op for op in plan.of("send", "recv", "refer") if set(known) - set(op.types)))
    if not op:
        return None
    new = rng.choice(sorted(set(known) - set(op.types)))
    old = rng.choice(op.types)
    types = ", ".join(new if name == old else name for name in op.types)
    return plan.replaced(op.line, re.sub(r"\] \[[^]]*\]", f"] [{types}]", plan.lines[op.line], count=1))


def change_layer(plan, rng):
    """The layer that was named is not written, or not the one that the other end expects."""
    layers = int(re.search(r" layers (\d+) ", plan.lines[plan.find("etc.migration")[0]]).group(1))
    op = choose(rng, (op for op in plan.of("send", *WRITES)
                      if layers > 1 and any(re.match(r"L\d+[^.\d]|L\d+$|L\d+\.[^.]", name) for name in op.ids)))
    if not op:
        return None
    name = next(name for name in op.ids if re.match(r"L\d+[^.\d]|L\d+$|L\d+\.[^.]", name))
    old = int(re.match(r"L(\d+)", name).group(1))
    new = rng.choice([layer for layer in range(layers) if layer != old])
    return plan.replaced(op.line, plan.lines[op.line].replace(name, re.sub(r"^L\d+", f"L{new}", name), 1))


def change_round(plan, rng):
    """The two ends are in different rounds."""
    op = choose(rng, (op for op in plan.of("send", "recv") if len(plan.rounds[op.program]) > 1))
    return op and plan.moved(op, rng.choice([r for r in plan.rounds[op.program] if r != op.round]))


def change_peer(plan, rng):
    """One end names another device than the other end."""
    def peers(op):
        return sorted(set(re.findall(r"%p\d+", plan.lines[op.program])))
    op = choose(rng, (op for op in plan.of("send", "recv") if len(peers(op)) > 1))
    if not op:
        return None
    old = re.search(r"%p\d+", op.rest).group()
    new = rng.choice([peer for peer in peers(op) if peer != old])
    return plan.replaced(op.line, re.sub(old + r"\b", new, plan.lines[op.line]))


def refer_to_zero(plan, rng):
    """Zeroes take the place of state that is there."""
    op = choose(rng, plan.of("refer"))
    line = op and plan.lines[op.line].replace("etc.refer", "etc.zero")
    return op and plan.replaced(op.line, line)


def release_early(plan, rng):
    """A round reads what an earlier one released."""
    def key(name):
        return re.match(r"[^./]*", name).group(), name.rpartition("/")[2] if "/" in name else ""

    def is_read(release):
        return any((op.program, op.round) == (release.program, release.round) and op.kind in ("send", "refer")
                   and set(op.types) & set(release.types) and set(map(key, op.ids)) & set(map(key, release.ids))
                   for op in plan.ops)
    op = choose(rng, (op for op in plan.of("release") if min(plan.rounds[op.program]) < op.round and is_read(op)))
    return op and plan.moved(op, rng.choice([r for r in plan.rounds[op.program] if r < op.round]))


def derive_early(plan, rng):
    """What is derived is not complete yet."""
    def arrivals(derive):
        return [op.round for op in plan.of("recv") if op.program == derive.program and op.ids == derive.ids
                and "master" in op.types]
    op = choose(rng, (op for op in plan.of("derive") if arrivals(op)))
    return op and plan.moved(op, max(arrivals(op)))


def relay_early(plan, rng):
    """A relay sends in the first round, before anything has arrived."""
    relays = [op for op in plan.of("send") if " hop " in op.rest and 0 in plan.rounds[op.program]
              and op.round > 0]
    if not relays:
        return None
    return plan.moved(choose(rng, relays), 0)


def relay_not(plan, rng):
    """What was a relay reads previous state, which the device has not."""
    relays = [op for op in plan.of("send") if " hop " in op.rest]
    if not relays:
        return None
    op = choose(rng, relays)
    return plan.replaced(op.line, re.sub(r" hop \d+", "", plan.lines[op.line]))


def placement_of(plan):
    number = plan.find("etc.placement")[0]
    return number, numbers(re.search(r"\[(.*)\]", plan.lines[number]).group(1))


def role_of(plan, rank):
    sizes = [dict(re.findall(r"(PP|TP|DP)(\d+)", side)) for side in
             re.findall(r"\b(?:(?:PP|TP|DP)\d+)+\b", plan.lines[plan.find("etc.migration")[0]])]
    tp, dp = int(sizes[1].get("TP", 1)), int(sizes[1].get("DP", 1))
    return rank // (tp * dp), rank % tp


def swap_ranks(plan, rng):
    """Devices end with the state of another rank."""
    number, devices = placement_of(plan)
    pairs = [(a, b) for a in range(len(devices)) for b in range(a) if role_of(plan, a) != role_of(plan, b)]
    if not pairs:
        return None
    a, b = rng.choice(pairs)
    devices[a], devices[b] = devices[b], devices[a]
    return plan.replaced(number, f"    etc.placement {devices}")


def share_device(plan, rng):
    """Two ranks on one device."""
    number, devices = placement_of(plan)
    if len(devices) < 2:
        return None
    a, b = rng.sample(range(len(devices)), 2)
    devices[a] = devices[b]
    return plan.replaced(number, f"    etc.placement {devices}")


def fail_device(plan, rng):
    """A device that takes a rank is dead, or leaves."""
    number = plan.find("etc.migration")[0]
    device, word = rng.choice(placement_of(plan)[1]), rng.choice(("failed", "draining"))
    line = plan.lines[number]
    if found := re.search(rf" {word} \[(.*?)\]", line):
        devices = sorted([*numbers(found.group(1)), device])
        return plan.replaced(number, line.replace(found.group(), f" {word} {devices}"))
    before = " draining [" if word == "failed" and " draining [" in line else None
    at = line.index(before) if before else re.search(r" nodes \[.*?\]( failed \[.*?\])?", line).end()
    return plan.replaced(number, f"{line[:at]} {word} [{device}]{line[at:]}")


def bind_twice(plan, rng):
    """A device runs two programs."""
    if len(plan.programs) < 2:
        return None
    a, b = rng.sample(plan.programs, 2)
    mine, other = (re.search(r"%self = \[(.*?)\]", plan.lines[number]).group(1) for number in (a, b))
    devices = numbers(mine)
    devices[rng.randrange(len(devices))] = rng.choice(numbers(other))
    return plan.replaced(a, plan.lines[a].replace(f"%self = [{mine}]", f"%self = {sorted(devices)}"))


def change_certificate(plan, rng):
    """The duals do not add up to what they are said to prove."""
    number = rng.choice(plan.find("etc.certificate"))
    line = plan.lines[number]
    match = re.match(r"(.* kept )(\d+)( u \[)(.*?)(\] v \[)(.*?)(\] members \[)(.*?)(\].*)", line)
    parts = list(match.groups())
    places = [(1, 0)] + [(3, i) for i in range(len(numbers(parts[3])))]
    places += [(5, i) for i, members in enumerate(numbers(parts[7])) if members]
    part, index = rng.choice(places)
    values = numbers(parts[part])
    values[index] += rng.choice([1, 7] + [-1] * (values[index] > 0))
    parts[part] = ", ".join(map(str, values))
    return plan.replaced(number, "".join(parts))


def change_peak(plan, rng):
    """The memory that the plan states is not the one it takes."""
    number, word = rng.choice(plan.programs), rng.choice(("peak", "safe"))
    return plan.replaced(number, re.sub(rf" {word} (\d+)",
                                        lambda found: f" {word} {int(found.group(1)) + rng.choice((-1, 1))}",
                                        plan.lines[number], count=1))


KINDS = (drop, duplicate, change_type, change_layer, change_round, change_peer, refer_to_zero,
         release_early, derive_early, relay_early, relay_not, swap_ranks, share_device, fail_device, bind_twice, change_certificate,
         change_peak)
