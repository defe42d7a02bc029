"""Runs every pass at every stage, and with what it reads missing or doubled.

Prints a line for each: what etc-opt says, or "runs". `stages.txt` has what is
expected.
"""

import re
import subprocess
import sys
from pathlib import Path

REQUEST = (Path(__file__).parent / "request.mlir").read_text()
RANGES = """etc.migration @ranges DP2 zero1 to DP2 zero1 nodes [2] layers 1 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [8, 4] split 0 flat
}
"""

# Begins where it ends, so it can follow itself in a chain.
BACK = REQUEST.replace("PP1TP2", "PP2")

# The passes that lead to each stage.
BEST = ["etc-build-workloads", "etc-build-cost-matrix", "etc-solve-assignment"]
PAPER = [BEST[0], "etc-build-paper-costs", *BEST[1:], "etc-solve-paper-assignment"]
PLACED = [*PAPER, "etc-defragment{policy=paper}"]
PROVED = [
    *PLACED,
    "etc-build-demands",
    "etc-route",
    "etc-schedule-chunks",
    "etc-lower-to-instructions",
    "etc-verify-plan",
]
STAGES = {
    "request": [],
    "workloads": BEST[:1],
    "paper_costs": PAPER[:2],
    "costs": PAPER[:3],
    "sketch": PAPER[:4],
    "paper_sketch": PAPER,
    "placement": PLACED,
    "defragmented": [*PLACED, "etc-two-stage"],
    "demands": PROVED[:-4],
    "coalesced": PROVED[:-4],
    "routed": PROVED[:-3],
    "rounds": PROVED[:-2],
    "instructions": PROVED[:-1],
    "proved": PROVED,
}
# Where each pass belongs, and the ops that it reads there.
PASSES = {
    "etc-build-workloads": ("request", ["tensor"]),
    "etc-build-paper-costs": ("workloads", []),
    "etc-build-cost-matrix": ("paper_costs", ["workload prev", "workload curr"]),
    "etc-solve-assignment": (
        "costs",
        ["workload prev", "workload curr", "cost_matrix bytes"],
    ),
    "etc-solve-paper-assignment": (
        "sketch",
        ["cost_matrix units", "cost_matrix merged"],
    ),
    "etc-defragment": (
        "paper_sketch",
        ["pair", "workload prev", "workload curr", "cost_matrix bytes"],
    ),
    "etc-two-stage": ("placement", ["placement"]),
    "etc-build-demands": (
        "placement",
        ["workload prev", "workload curr", "placement"],
    ),
    "etc-coalesce": ("demands", ["placement", "demands"]),
    "etc-route": ("coalesced", ["demands"]),
    "etc-schedule-chunks": (
        "routed",
        ["workload prev", "workload curr", "placement", "transfers"],
    ),
    "etc-lower-to-instructions": (
        "rounds",
        ["workload prev", "workload curr", "placement", "transfers", "schedule"],
    ),
    "etc-verify-plan": (
        "instructions",
        ["pair", "certificate device", "certificate node", "placement", "program"],
    ),
}
# What stands in such an op, one line each; that one is missing is for etc-verify-plan to find.
ENTRIES = {
    "etc-route": ["demand"],
    "etc-schedule-chunks": ["transfer"],
    "etc-lower-to-instructions": ["cut"],
}


ON_MODULES = ("etc-two-stage", "etc-coalesce")


def run(passes: list[str], module: str) -> tuple[str, str]:
    """What the passes make of a module, and the first error."""
    nested = [
        name if name in ON_MODULES else f"etc.migration({name})"
        for name in passes
    ]
    pipeline = f"--pass-pipeline=builtin.module({','.join(nested)})"
    done = subprocess.run(
        ["etc-opt", pipeline, "-"], input=module, capture_output=True, text=True
    )
    errors = re.findall(r"error: (.*)", done.stderr)
    if (done.returncode == 0) != (not errors):
        sys.exit(f"{passes}: exit {done.returncode}\n{done.stderr}")
    return done.stdout, errors[0] if errors else "runs"


def ops(module: str) -> list[str]:
    """The module cut before each op in the body of its migration."""
    return re.split(r"(?m)^(?=    etc\.|  \}$)", module)


def without(module: str, kind: str) -> str:
    """The module without the first op of a kind."""
    parts = ops(module)
    first = next(i for i, op in enumerate(parts) if op.startswith(f"    etc.{kind}"))
    return "".join(parts[:first] + parts[first + 1 :])


def doubled(module: str, kind: str) -> str:
    """The module with the first op of a kind twice."""
    parts = ops(module)
    first = next(i for i, op in enumerate(parts) if op.startswith(f"    etc.{kind}"))
    again = re.sub(r'@"[^"]*"', '@"again"', parts[first])
    return "".join([*parts[: first + 1], again, *parts[first + 1 :]])


def with_entry_doubled(module: str, kind: str) -> str:
    """The module with the first line of a kind twice."""
    return re.sub(rf"(?m)^( +etc\.{kind} .*\n)", r"\1\1", module, count=1)


def at_stages(request: str) -> dict[str, str]:
    """The module of a request at each stage. Coalescing leaves the ops of the demands."""
    modules = {stage: run(passes, request)[0] for stage, passes in STAGES.items()}
    modules["coalesced"] = modules["demands"].replace("stage demands", "stage coalesced")
    return modules


def chained(module: str) -> str:
    """A chain of the migration and itself, and what it becomes."""
    link = module.strip().removeprefix("module {\n").removesuffix("}")
    return link.replace("@job", "@first") + link.replace("@job", "@second") + BACK


def main() -> None:
    straight = at_stages(REQUEST)
    chains = {stage: chained(module) for stage, module in at_stages(BACK).items()}
    for name, (own, reads) in PASSES.items():
        modules = chains if name == "etc-coalesce" else straight
        print(name)
        for stage, module in modules.items():
            print(f"  at {stage}: {run([name], module)[1]}")
        print(f"  twice: {run([name, name], modules[own])[1]}")
        for kind in reads:
            for change in (without, doubled):
                module = change(modules[own], kind)
                print(f"  {change.__name__} {kind}: {run([name], module)[1]}")
        for kind in ENTRIES.get(name, []):
            error = run([name], with_entry_doubled(modules[own], kind))[1]
            print(f"  doubled {kind}: {error}")
    # Without etc-route, demands are what is scheduled.
    print("etc-schedule-chunks")
    for change in (without, doubled):
        error = run(["etc-schedule-chunks"], change(straight["demands"], "demands"))[1]
        print(f"  {change.__name__} demands: {error}")
    ranges = run(BEST[:2], RANGES)[0]
    error = run(["etc-solve-assignment"], doubled(ranges, "overlap"))[1]
    print(f"etc-solve-assignment\n  doubled overlap: {error}")


main()
