"""Changes of small jobs, and what becomes of them."""

from __future__ import annotations

from collections import deque

import etc.torch
import ranks
import torch
import torch_jobs as jobs

WORLD = 2
MOVES = "^moves every tensor$"


def meshes():
    """Of a job before and after."""
    old = jobs.make_mesh([0, 1], "fsdp")
    return old, jobs.make_mesh([[0], [1]], "replicate", "fsdp")


def adamw(model):
    return torch.optim.AdamW(model.parameters(), lr=0.05)


def job(make_before=adamw, make_after=None, steps=2):
    """(a job that has trained, a new one on the meta device)."""
    old, new = meshes()
    model, other = jobs.build(old), jobs.build(new, "meta")
    before, after = make_before(model), (make_after or make_before)(other)
    for step in range(steps):
        jobs.train(model, before, step, old)
    return (model, before), (other, after)


def outcomes(rank, store, cases):
    """What becomes of each on this rank."""
    jobs.join(rank, store, WORLD)
    return [outcome(case) for case in cases]


def outcome(case):
    before, after, *options = case()
    model, *_ = sides(before)
    parts = jobs.local_parts(model)
    whole = gathered(before)
    own = options_of(after)
    try:
        etc.torch.move(before, after, timeout=60, **(options[0] if options else {}))
    except (ValueError, TypeError, etc.MigrationError, etc.PlanError) as error:
        changed = jobs.unequal(parts, jobs.local_parts(model))
        return f"changed {changed}: {error}" if changed else str(error)
    different = jobs.unequal(whole, gathered(after))
    different += [] if own == options_of(after) else ["options of its own"]
    return f"differs: {different}" if different else "moves every tensor"


def sides(side):
    """(the model, None if it is none; its optimizers)."""
    model, optimizer, *_ = (
        (*side, None) if isinstance(side, (list, tuple)) else (side, None)
    )
    optimizers = optimizer if isinstance(optimizer, (list, tuple)) else [optimizer]
    return (model if isinstance(model, torch.nn.Module) else None), optimizers


def options_of(side):
    """Those that stay an optimizer's own."""
    names = "foreach", "fused", "param_names"
    _, optimizers = sides(side)
    return [
        [group.get(name) for name in names]
        for each in optimizers
        for group in getattr(each, "param_groups", [])
    ]


def gathered(side):
    """Every tensor of a model, and what this rank has of optimizers that are not sharded."""
    model, optimizers = sides(side)
    if model is None:
        return shared({})
    found = jobs.gathered(model)
    names = {id(p): name for name, p in model.named_parameters()}
    every = {}
    for each in optimizers:
        for parameter, states in getattr(each, "state", {}).items():
            for kind, value in states.items():
                if isinstance(value, (list, deque)):
                    continue
                is_sharded = kind == "seen" and hasattr(value, "device_mesh")
                kind += " of a mesh" if is_sharded else ""
                every[f"{names.get(id(parameter))} {kind}"] = jobs.whole(value)
    return found | shared(every)


def shared(found):
    """What any rank has: ZeRO's states are on one."""
    said = [None] * WORLD
    torch.distributed.all_gather_object(said, found)
    return {name: value for each in said for name, value in each.items()}


def check(test, cases):
    """Whether all ranks say what is expected: {case: pattern}."""
    results = ranks.run(WORLD, outcomes, list(cases), timeout=600)
    for found in ranks.must(results):
        for case, message in zip(cases, found):
            with test.subTest(case=case.__name__):
                test.assertRegex(message, cases[case])
                test.assertNotRegex(message, r"^(differs|changed)|\n")
