"""Runs --canonicalize --cse --symbol-dce between the passes of every pipeline.

Wherever they run, and as often as they do, the plan must not change: it is
compared as IR, which etc-verify-plan has proved.
"""

import re
import subprocess
import sys

CLEANUPS = "canonicalize,cse,symbol-dce"
SMALL = "--layers=4 --hidden=16 --heads=8 --vocab=100 --quiet"
REQUESTS = {
    "tensor parallelism": "--model=gpt2 --seq=8 --prev=PP2TP2 --curr=PP4DP2 --cluster=2x4",
    "tied copies": "--model=gpt2 --seq=8 --prev=TP2 --curr=PP2TP4 --cluster=2x4",
    "ranges": "--model=gpt2 --seq=8 --prev=PP2DP4+zero1 --curr=TP2DP2+zero1 --cluster=2x4",
    "new ranges": "--model=llama3-8b --prev=PP2DP2 --curr=PP1DP3+zero1 --cluster=1x4",
    "experts": "--model=mixtral-8x7b --prev=PP2DP4EP2 --curr=TP2DP4EP4 --cluster=2x4",
    "chunks": "--model=llama3-8b --prev=PP2VPP2 --curr=PP3+stages=2:1:1 --cluster=1x4",
    "relays": "--model=llama3-8b --prev=PP1 --curr=DP8 --cluster=8x1",
    "rounds": "--model=llama3-8b --prev=PP4 --curr=PP2 --cluster=1x4 --memory-budget=1.2x",
    "failed": "--model=llama3-8b --prev=DP4 --curr=TP2 --cluster=2x2 --failed=1 --draining=2",
}
PAPER = ("tensor parallelism", "rounds")
PIPELINES = {"etc-plan": REQUESTS, "etc-paper-plan": PAPER, "etc-paper-plan{two-stage=true}": PAPER}


def etc_opt(*arguments: str, module: str = "") -> subprocess.CompletedProcess:
    """Runs etc-opt, which must end well."""
    done = subprocess.run(
        ["etc-opt", *arguments], input=module, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"etc-opt {' '.join(arguments)}: {done.stderr}")
    return done


def request_of(options: str) -> str:
    """The request stage, from the plan's IR: its tensors are all that stays."""
    module = etc_opt(*options.split(), *SMALL.split()).stdout
    parts = re.split(r"(?m)^(?=    etc\.|  \}$)", module)
    kept = [part for part in parts if not re.match(r"    etc\.(?!tensor)", part)]
    return "".join(kept).replace(" stage proved", "")


def passes_of(pipeline: str) -> list[str]:
    """The passes of a pipeline, each as one on the module."""
    text = etc_opt(
        f"--pass-pipeline=builtin.module({pipeline})",
        "--dump-pass-pipeline",
        "-",
        module="module {}",
    ).stderr
    names = re.findall(r"etc-[a-z-]+(?:\{[^}]*\})?", text)
    return [
        name if name == "etc-two-stage" else f"etc.migration({name})"
        for name in names
    ]


def run(passes: list[str], module: str) -> str:
    """What passes make of a module."""
    return etc_opt(
        f"--pass-pipeline=builtin.module({','.join(passes)})", "-", module=module
    ).stdout


def main() -> None:
    for pipeline, names in PIPELINES.items():
        passes = passes_of(pipeline)
        for name in names:
            request = request_of(REQUESTS[name])
            plan = run(passes, request)
            everywhere = [part for step in passes for part in (CLEANUPS, step)]
            lists = [[*everywhere, CLEANUPS]]
            lists += [
                [*passes[:i], CLEANUPS, *passes[i:]] for i in range(len(passes) + 1)
            ]
            for changed in lists:
                if run(changed, request) != plan:
                    sys.exit(f"{pipeline}, {name}: {changed} make another plan")
            print(f"{pipeline}, {name}: {len(lists)} pipelines, one plan")


main()
