"""Random tables of tensors, and random ways to lay them out over roles.

A layout is {(name, type): boxes} for each role: every element has a holder, boxes of a role are disjoint, and a role
may hold nothing. Among them are those of torch: axis 0 in torch.chunk's uneven rows, several cuts of one tensor,
replicas.
"""

import itertools
import math

DTYPES = {"param": "bf16", "master": "fp32", "exp_avg": "fp32", "step": "fp64", "mask": "u8", "count": "i64"}
EXTENTS = (1, 2, 3, 5, 6, 7, 8, 11, 13)


def draw_tensors(rng):
    """{(name, type): shape}; types may differ in shape."""
    types = rng.sample(list(DTYPES), rng.randint(1, 3))
    tensors = {}
    for number in range(rng.randint(1, 4)):
        shape = tuple(rng.choice(EXTENTS) for _ in range(rng.randint(1, 3)))
        for kind in types:
            if rng.random() < 0.85:
                tensors[f"layers.{number}.w", kind] = shape[:-1] if len(shape) > 1 and rng.random() < 0.1 else shape
    return tensors or {("w", types[0]): (5, 3)}


def chunk(extent, parts):
    """torch.chunk: ceil(n / k) positions each, the last ones fewer or none."""
    size = -(-extent // parts)
    return [(min(extent, size * part), min(extent, size * (part + 1))) for part in range(parts)]


def cut_by_mesh(rng, shape, roles):
    """Each dimension of a mesh cuts an axis or makes replicas, the inner cut within the outer one."""
    mesh = rng.choice([form for form in itertools.product(range(1, roles + 1), repeat=2) if math.prod(form) == roles])
    axes = [rng.choice([None, *range(len(shape))]) for _ in mesh]
    held = []
    for coordinates in itertools.product(*map(range, mesh)):
        box = [(0, extent) for extent in shape]
        for axis, size, place in zip(axes, mesh, coordinates):
            if axis is not None:
                begin, end = box[axis]
                box[axis] = tuple(begin + bound for bound in chunk(end - begin, size)[place])
        held.append([box])
    return held


def split(rng, box, depth):
    """A box in parts."""
    wide = [axis for axis, (begin, end) in enumerate(box) if end - begin > 1]
    if not depth or not wide:
        return [box]
    axis = rng.choice(wide)
    begin, end = box[axis]
    middle = rng.randrange(begin + 1, end)
    halves = [[*box[:axis], part, *box[axis + 1:]] for part in ((begin, middle), (middle, end))]
    return [part for half in halves for part in split(rng, half, depth - 1)]


def deal_parts(rng, shape, roles):
    """Parts of the tensor, each with some roles."""
    held = [[] for _ in range(roles)]
    for box in split(rng, [(0, extent) for extent in shape], rng.randint(0, 3)):
        for role in rng.sample(range(roles), rng.choice([1, 1, 1, min(2, roles), roles])):
            held[role].append(box)
    return held


def draw_layout(rng, tensors, roles):
    layout = [{} for _ in range(roles)]
    for label, shape in tensors.items():
        held = rng.choice([cut_by_mesh, cut_by_mesh, deal_parts])(rng, shape, roles)
        for role, boxes in zip(layout, held):
            if boxes:
                role[label] = boxes
    return layout


def to_inventory(rng, tensors, layout, devices):
    """As a request has it: by device, by role with devices, or by role alone (`devices` is None)."""
    labels = list(tensors)
    rng.shuffle(labels)
    shards, entries = [], []
    for role in layout:
        has = []
        for label, boxes in role.items():
            shard = {"tensor": labels.index(label), "boxes": boxes}
            if shard not in shards:
                shards.append(shard)
            has.append(shards.index(shard))
        entries.append({"has": has})
    inventory = {"format": "etc-inventory", "version": 1,
                 "tensors": [{"name": name, "type": kind, "dtype": DTYPES[kind], "shape": tensors[name, kind]}
                             for name, kind in labels],
                 "shards": shards}
    if devices is None:
        return {**inventory, "roles": [{"role": number, **entry} for number, entry in enumerate(entries)]}
    placed = [{"device": device, **entry} for device, entry in zip(devices, entries)]
    if devices == sorted(devices) and rng.random() < 0.5:
        return {**inventory, "devices": placed}
    return {**inventory, "roles": placed}


def draw_request(rng):
    """A request, and the layouts of its sides by role."""
    tensors = draw_tensors(rng)
    nodes = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
    count = sum(nodes)
    devices = {"prev": sorted(rng.sample(range(count), rng.randint(1, count)))}
    fixed = sorted(rng.sample(range(count), rng.randint(1, count)))
    if rng.random() < 0.5:
        rng.shuffle(fixed)
    devices["curr"] = None if rng.random() < 0.7 else fixed
    layouts = {"prev": draw_layout(rng, tensors, len(devices["prev"])), "curr": draw_layout(rng, tensors, len(fixed))}
    request = {side: {"inventory": to_inventory(rng, tensors, layouts[side], devices[side])} for side in layouts}
    request.update(cluster={"nodes": nodes}, place="any", failed=[])
    if rng.random() < 0.3 and len(devices["prev"]) > 1:
        usable = [device for device in devices["prev"] if device not in (devices["curr"] or [])]
        if usable and count - 1 >= len(fixed):
            request["failed"] = [rng.choice(usable)]
    return request, tensors, layouts, devices
