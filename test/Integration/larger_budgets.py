"""A larger memory budget is never predicted to be more than ALLOWED times as slow as a smaller one.

Every case is planned with each of BUDGETS, and etc-run simulates the plans.

    larger_budgets.py etc-opt etc-run                   all cases
    larger_budgets.py etc-opt etc-run --every=5         each fifth
    larger_budgets.py etc-opt etc-run --only=DP24       those with this in their options
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

A, B, H100, GB200 = "paper-cluster-a", "paper-cluster-b", "h100", "gb200"
CASES = [  # model, prev, curr, nodes, cluster, further options
    ("llama3-8b", "DP1", "DP8", "8x1", H100),
    ("llama3-8b", "TP8", "TP8DP8", "8x8", H100),
    ("llama3-8b", "DP1", "DP8", "2x4", H100),
    ("llama3-8b", "DP1", "DP24", "3x8", H100),
    ("llama3-8b", "DP2", "DP16", "2x8", H100),
    ("llama3-8b", "TP2", "TP2DP16", "4x8", H100),
    ("llama3-8b", "TP4", "TP4DP4", "2x8", H100),
    ("llama3-8b", "PP8", "PP8DP2", "2x8", H100, "--place=any"),
    ("llama3-8b", "DP8+zero1", "DP16+zero1", "2x8", H100),
    ("llama3-70b", "PP4TP4", "PP4TP4DP2", "4x8", H100),
    ("gpt3-13b", "PP2TP2", "PP4TP4", "2x8", H100),
    ("mixtral-8x7b", "PP2TP2DP2EP2", "PP2TP2DP4EP4", "2x8", H100),
    ("gpt3-2.7b", "PP2TP4", "PP2TP4DP2", "2x8", B),
    ("gpt3-2.7b", "PP4TP4", "PP2TP4", "2x8", B),
    ("gpt3-paper", "PP4TP2", "PP4TP4", "4x4", A),
    ("gpt3-paper", "PP4TP4", "PP4TP2", "4x4", A),
    ("gpt3-paper", "PP4TP2", "PP6TP4", "6x4", A),
    ("gpt3-paper", "PP6TP4", "PP4TP2", "6x4", A),
    ("gpt3-paper", "PP4TP2DP3", "PP4TP8", "8x4", A),
    ("llama3-70b", "PP2TP4DP8", "PP2TP4DP16", "2x64", GB200),
    ("gpt3-paper", "PP3TP4", "PP2TP2DP3", "8x8", H100),
    ("llama3-70b", "PP2TP4DP3+zero1", "PP2TP2DP3", "6x4", H100, "--place=any"),
]
BUDGETS = ("1.02x", "1.05x", "1.1x", "1.25x", "1.5x", "2x")
ALLOWED = 1.02


def run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def milliseconds(etc_opt: str, etc_run: str, options: list[str], cluster: str) -> float:
    with tempfile.TemporaryDirectory() as directory:
        plan = str(pathlib.Path(directory) / "plan.etcplan")
        run(etc_opt, *options, "--emit=plan", "-o", plan, "--quiet")
        return 1e3 * json.loads(run(etc_run, plan, "--dry-run", "--json", f"--cluster={cluster}"))["seconds"]


def worst_step(times: list[float]) -> float:
    """How many times as slow a larger budget is as a smaller one, at most."""
    return max(later / earlier for i, earlier in enumerate(times) for later in times[i:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etc_opt")
    parser.add_argument("etc_run")
    parser.add_argument("--every", type=int, default=1, help="of the cases")
    parser.add_argument("--only", default="", help="cases whose options contain this")
    arguments = parser.parse_args()
    wrong = count = 0
    for model, prev, curr, nodes, cluster, *more in CASES[:: arguments.every]:
        options = [f"--model={model}", f"--prev={prev}", f"--curr={curr}", f"--cluster={nodes}@{cluster}", *more]
        if arguments.only not in " ".join(options):
            continue
        times = [milliseconds(arguments.etc_opt, arguments.etc_run, [*options, f"--memory-budget={b}"], cluster) for b in BUDGETS]
        step = worst_step(times)
        wrong += step > ALLOWED
        count += 1
        print(f"{' '.join(options)}: {', '.join(f'{t:.1f}' for t in times)} ms: at most {step:.3f} times as slow", flush=True)
    print(f"{count - wrong} good, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
