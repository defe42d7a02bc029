"""The least bytes that a reconfiguration of a dense GPT must move, worked out apart from the planner.

Megatron's rules are written down here a second time; the assignment is SciPy's. Compares with the summary of a plan:

    exact_assignment.py plan.json --prev PP4TP2 --curr PP6TP4 --layers 36 --hidden 3072 --vocab 50257 --seq 2048
"""

import argparse
import json
import re
import sys

import numpy
from scipy.optimize import linear_sum_assignment

BYTES = {"param": 2, "master": 4, "exp_avg": 4, "exp_avg_sq": 4}


def degrees(text):
    found = dict(re.findall(r"(PP|TP|DP)(\d+)", text))
    return tuple(int(found.get(name, 1)) for name in ("PP", "TP", "DP"))


def padded(vocab, tp):
    return -(-vocab // (128 * tp)) * 128 * tp


def tensors(model):
    """(name, rows that tensor parallelism cuts or None, elements a row) of one layer."""
    h, f = model.hidden, 4 * model.hidden
    return [
        ("qkv.w", 3 * h, h), ("qkv.b", 3 * h, 1), ("proj.w", h, h), ("proj.b", None, h),
        ("fc1.w", f, h), ("fc1.b", f, 1), ("fc2.w", f, h), ("fc2.b", None, h),
        ("ln1.w", None, h), ("ln1.b", None, h), ("ln2.w", None, h), ("ln2.b", None, h),
    ]


def held(model, parallel, p, t):
    """{tensor: (begin, end, elements a row)} of stage p, tensor rank t."""
    pp, tp, _ = parallel
    result = {}

    def add(name, rows, width):
        if rows is None:
            result[name] = (0, 1, width)
        else:
            result[name] = (rows * t // tp, rows * (t + 1) // tp, width)

    per_stage = model.layers // pp
    for layer in range(p * per_stage, (p + 1) * per_stage):
        for name, rows, width in tensors(model):
            add(f"{layer}.{name}", rows, width)
    vocab = padded(model.vocab, tp)
    if p == 0:
        add("word_embeddings", vocab, model.hidden)
        add("position_embeddings", None, model.seq * model.hidden)
    if p == pp - 1:
        add("final.w", None, model.hidden)
        add("final.b", None, model.hidden)
        if pp > 1:
            add("output_layer", vocab, model.hidden)
    return result


TIED = ("word_embeddings", "output_layer")


def overlap(curr, prev):
    """Elements that a device has of a role; of tied tensors, whichever of them it holds."""
    elements = 0
    for name, (begin, end, width) in curr.items():
        held = [prev[other] for other in (TIED if name in TIED else (name,)) if other in prev]
        # A rank that has both has the same rows of them.
        if held:
            elements += max(0, min(end, held[0][1]) - max(begin, held[0][0])) * width
    return elements


def ranks(model, parallel):
    """What every rank holds, in Megatron's order."""
    pp, tp, dp = parallel
    return [held(model, parallel, p, t) for p in range(pp) for _ in range(dp) for t in range(tp)]


def least_moved_bytes(model, prev, curr, types=tuple(BYTES), unusable=()):
    """`model` has layers, hidden, vocab and seq; `unusable` lists the previous ranks that can take no current role."""
    holders = [held for rank, held in enumerate(ranks(model, prev)) if rank not in unusable]
    takers = ranks(model, curr)
    kept = numpy.array([[overlap(c, p) for p in holders] for c in takers])
    rows, columns = linear_sum_assignment(kept, maximize=True)
    # Rows of padding that are new have no source.
    known = padded(model.vocab, prev[1])
    needed = 0
    for rank in takers:
        for name, (begin, end, width) in rank.items():
            if name in TIED:
                end = max(begin, min(end, known))
            needed += (end - begin) * width
    return int(needed - kept[rows, columns].sum()) * sum(BYTES[name] for name in types)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan")
    parser.add_argument("--prev", type=degrees)
    parser.add_argument("--curr", type=degrees)
    for name in ("layers", "hidden", "vocab", "seq"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--types", default=",".join(BYTES))
    args = parser.parse_args()
    exact = least_moved_bytes(args, args.prev, args.curr, args.types.split(","))
    with open(args.plan) as file:
        moved = json.load(file)["summary"]["moved_bytes"]
    print(f"moved {moved}, exact assignment {exact}: {'equal' if moved == exact else 'DIFFERENT'}")
    return 0 if moved == exact else 1


if __name__ == "__main__":
    sys.exit(main())
