"""What a rank of a large FSDP job does before a change moves anything.

plan_mesh.py BEFORE AFTER LAYERS: prints JSON with the seconds of each step, for a llama of so
many layers. What the other ranks tell of their tensors is made here, as `etc.torch.layout`
makes it; the rest is what each rank of such a job calls. FSDP cuts every tensor along its
first axis.
"""

import functools
import gc
import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import etc
from etc.torch.inventory import Held, Row, make_inventory
from etc.torch.ranks import pack, unpack
from etc.torch.rows import pack_boxes

HIDDEN, INNER, VOCABULARY, GPUS_OF_NODE = 4096, 11008, 32000, 8
KINDS = ("param.fp32", "exp_avg.fp32", "exp_avg_sq.fp32")


def shapes(layers: int) -> dict[str, tuple[int, ...]]:
    square, norm = (HIDDEN, HIDDEN), (HIDDEN,)
    layer: dict[str, tuple[int, ...]]
    layer = {name: square for name in ("q_proj", "k_proj", "v_proj", "o_proj")}
    layer |= {name: (INNER, HIDDEN) for name in ("gate_proj", "up_proj")}
    layer |= {"down_proj": (HIDDEN, INNER), "input_norm": norm, "post_norm": norm}
    ends = {name: (VOCABULARY, HIDDEN) for name in ("embed_tokens", "lm_head")}
    inside = {
        f"layers.{i}.{name}": s for i in range(layers) for name, s in layer.items()
    }
    return inside | ends | {"norm": norm}


def told_by(rank: int, world: int, layers: int) -> tuple[bytes, Any]:
    """What is the same on all ranks, packed, and the rank's own boxes."""
    rows, boxes = [], []
    mesh = tuple(range(world))
    for kind in KINDS if rank < world else ():
        for name, shape in shapes(layers).items():
            rows.append(Row(kind, name, "fp32", shape, mesh, f"{[*mesh]} as ('S(0)',)"))
            share = -(-shape[0] // world)
            first, last = (min(shape[0], share * part) for part in (rank, rank + 1))
            rest = tuple((0, extent) for extent in shape[1:])
            boxes.append((((first, last), *rest),) if first < last else ())
    return pack(rows), pack_boxes(boxes)


def inventory_of(told: list[bytes], world: int) -> dict[str, Any]:
    rows_of = functools.cache(unpack)
    held = [Held(rows_of(rows), boxes) for rows, boxes in map(unpack, told)]
    return make_inventory(held, [r if r < world else None for r in range(len(told))])


def main() -> None:
    before, after, layers = map(int, sys.argv[1:])
    ranks = range(max(before, after))
    sides = [
        ([pack(told_by(rank, world, layers)) for rank in ranks], world)
        for world in (before, after)
    ]
    seconds: dict[str, float] = {}

    def timed(step: str, call: Callable[[], Any]) -> Any:
        begin = time.monotonic()
        result = call()
        seconds[step] = time.monotonic() - begin
        return result

    gc.disable()  # as etc.torch.move does
    prev, curr = timed("read", lambda: [inventory_of(*side) for side in sides])
    nodes = [GPUS_OF_NODE] * (len(ranks) // GPUS_OF_NODE)
    plan = timed(
        "plan",
        lambda: etc.plan(
            prev={"inventory": prev}, curr={"inventory": curr}, cluster=nodes
        ),
    )
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    moved = plan.summary.moved_bytes
    tensors = len(KINDS) * len(shapes(layers))
    found = {"seconds": seconds, "peak": peak, "moved": moved, "tensors": tensors}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
