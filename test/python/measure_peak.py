"""Peak memory of every rank during a migration, counted three ways, beside the bound.

    PYTHONPATH=build/python python3 test/python/measure_peak.py

"etc" is what the runtime counts, "torch" the storages of all tensors that Python can
reach, counted at every allocation and release, and "resident" the growth of the
process over its size without the previous state, which the kernel knows. The last
has the granularity of pages and of the C library's allocator.
"""

import argparse
import gc
import os
import re

os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", "65536")  # freed memory goes back
import ranks  # noqa: E402
import torch  # noqa: E402

import etc  # noqa: E402
from etc.memory import Memory  # noqa: E402
from etc.tensors import storage_of  # noqa: E402


def resident(what):
    with open("/proc/self/status", encoding="ascii") as file:
        return int(re.search(rf"{what}:\s+(\d+) kB", file.read()).group(1)) * 1024


def live_storages():
    storages = {}
    for each in gc.get_objects():
        if isinstance(each, torch.Tensor):
            storages[storage_of(each).data_ptr()] = storage_of(each).nbytes()
    return sum(storages.values())


def fill(tensors):
    from etc.tensors import DTYPES

    return {
        kind: {n: torch.ones(s.shape, dtype=DTYPES[s.dtype]) for n, s in group.items()}
        for kind, group in tensors.items()
    }


def body(rank, store, plan):
    highest = 0
    for name in ("allocate", "release"):
        inner = getattr(Memory, name)

        def counted(self, *arguments, inner=inner):
            nonlocal highest
            result = inner(self, *arguments)
            highest = max(highest, live_storages())
            return result

        setattr(Memory, name, counted)
    empty = resident("VmRSS")
    state = fill(plan.prev_tensors(plan.participants[rank]))
    count = len(plan.participants)
    migration = etc.prepare(
        plan, state, store=store, rank=rank, world_size=count, host="127.0.0.1"
    )
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # the high water starts anew
    migration.run()
    return migration.report, highest, resident("VmHWM") - empty


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="gpt2")
    parser.add_argument("--prev", default="PP2TP2")
    parser.add_argument("--curr", default="PP4")
    parser.add_argument("--cluster", default="1x4")
    parser.add_argument("--memory-budget", default=None)
    options = vars(parser.parse_args())
    plan = etc.plan(**options)
    results = ranks.run(len(plan.participants), body, plan, timeout=600)
    print(f"{plan.prev} -> {plan.curr} of {plan.model}; MB")
    print("device     etc   torch  proved  max(prev, curr)  peak/max  resident")
    for report, torch_bytes, rss in ranks.must(results):
        print(
            f"{report.device:6} {report.peak_bytes / 1e6:7.1f} {torch_bytes / 1e6:7.1f}"
            f" {report.proved_bytes / 1e6:7.1f} {report.state_bytes / 1e6:16.1f}"
            f" {report.peak_bytes / report.state_bytes:9.4f} {rss / 1e6:9.1f}"
        )


if __name__ == "__main__":
    main()
