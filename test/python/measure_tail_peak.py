"""Peak memory of every rank while deferred state is under way, beside gradients and a
reserve for activations, counted and proved, at several sizes.

    PYTHONPATH=build/python python3 test/python/measure_tail_peak.py

Each rank makes its gradients (4 bytes a parameter) and a tensor as large as the reserve
when its parameters are there, as a trainer's first step does. "counted" is the sum of
all storages that Python can reach, at every allocation and release; "proved" is the
plan's peak of the deferred rounds, which includes the gradients, and the reserve;
"budget" is what the plan was asked to stay within. "before" is what the device held of
state before the change.
"""

from __future__ import annotations

import argparse
from typing import Any

import ranks

import etc
from migrating import prepare

RESERVE = 0.1  # of the largest tail peak


def model_of(hidden: int) -> dict:
    return {**ranks.MODEL, "layers": 8, "hidden": hidden, "vocab": 4096, "seq": 64}


def devices_of(plan: etc.Plan) -> list[dict]:
    return [d for d in plan.to_json()["devices"] if "tail_peak" in d]


def plan_of(hidden: int, prev: str, curr: str) -> tuple[etc.Plan, int, int]:
    """A plan within a budget that its peaks just fit, the budget and the reserve."""
    request: dict[str, Any] = {"model": model_of(hidden), "prev": prev, "curr": curr}
    request |= {"cluster": "2x4", "defer": "optimizer"}
    first = devices_of(etc.plan(**request))
    peak = max(d["tail_peak"] for d in first)
    reserve = int(peak * RESERVE)
    budget = peak + reserve
    plan = etc.plan(**request, memory_budget=budget, reserve=reserve)
    return plan, budget, reserve


def storages() -> int:
    """Bytes of the storages of all tensors that Python can reach."""
    import gc

    import torch
    from etc.tensors import storage_of

    found = {}
    for each in gc.get_objects():
        if isinstance(each, torch.Tensor):
            found[storage_of(each).data_ptr()] = storage_of(each).nbytes()
    return sum(found.values())


def body(rank: int, store, plan: etc.Plan, reserve: int) -> tuple[int, int, int]:
    """(device, the most that was counted in the tail, what was held before)."""
    import torch
    from etc.memory import Memory

    highest, is_tail = 0, False
    for name in ("allocate", "release"):
        inner = getattr(Memory, name)

        def counted(self, *arguments, inner=inner):
            nonlocal highest
            result = inner(self, *arguments)
            if is_tail:
                highest = max(highest, storages())
            return result

        setattr(Memory, name, counted)
    device = plan.participants[rank]
    state = ranks.make(plan.prev_tensors(device))
    before = storages()
    # Slow enough for the gradients to be there long before the rest is.
    migration = prepare(rank, store, plan, state, tail_rate=1e5)
    parameters = migration.run().get("param", {})
    gradients = [torch.zeros(p.numel()) for p in parameters.values()]
    activations = torch.zeros(reserve, dtype=torch.uint8)
    highest, is_tail = max(highest, storages()), True
    new = migration.finish()
    wrong = ranks.differences(new, ranks.make(plan.curr_tensors(device)))
    assert not wrong, wrong
    assert activations.numel() == reserve and len(gradients) == len(parameters)
    return device, highest, before


def measure(hidden: int, prev: str, curr: str) -> list[dict]:
    """What each device had and was to have, in bytes."""
    plan, budget, reserve = plan_of(hidden, prev, curr)
    stated = {d["device"]: d for d in devices_of(plan)}
    results = ranks.run(len(plan.participants), body, plan, reserve, timeout=600)
    return [
        {
            "device": device,
            "before": before,
            "counted": highest,
            "proved": stated[device]["tail_peak"] + reserve,
            "budget": budget,
        }
        for device, highest, before in ranks.must(results)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", default="64,128,256,512")
    parser.add_argument("--change", default="PP2TP2,PP4DP2")
    options = parser.parse_args()
    print("hidden  device   before  counted   proved   budget  MB")
    for hidden in map(int, options.hidden.split(",")):
        for row in measure(hidden, *options.change.split(",")):
            figures = (row[name] / 1e6 for name in
                       ("before", "counted", "proved", "budget"))
            print(f"{hidden:6} {row['device']:7}", *(f"{f:8.2f}" for f in figures))


if __name__ == "__main__":
    main()
