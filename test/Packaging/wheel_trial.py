"""What a wheel that was just installed has to do: plan, load, report and, where PyTorch is, migrate in eight processes.

PYTHONPATH=test/python python3 wheel_trial.py
"""

import importlib.util
import time

begin = time.monotonic()

import etc  # noqa: E402  (the import counts)
import migrating  # noqa: E402
import ranks  # noqa: E402

plan = etc.plan(model=ranks.MODEL, prev="PP2TP2", curr="PP4DP2", cluster="2x4")
assert plan.summary.moved_bytes == plan.summary.bound.moved_bytes
plan.save("m.etcplan")
assert etc.Plan.load("m.etcplan").fingerprint == plan.fingerprint
assert "<html" in plan.report()
done = "imported, planned, loaded and reported"

if importlib.util.find_spec("torch"):
    import torch

    for result in ranks.run(len(plan.participants), migrating.migrate, plan):
        if isinstance(result, Exception):
            raise result
        wrong, _ = result
        assert not wrong, wrong
    done = f"{done}, and migrated with PyTorch {torch.__version__},"
print(f"etc {etc.__version__}: {done} in {time.monotonic() - begin:.1f} s")
