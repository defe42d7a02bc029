"""Random requests, planned and accepted by etc-verify-plan; random mutations of their plans, all refused.

Requests are random_migrations.py's, with any placement, objective, policy and derivation besides. Every plan is proved
by etc-opt before it is printed; here etc-verify-plan judges the printed IR once more, in a process of its own. A
mutation is of a kind that breaks the plan (Inputs/mutations.py), and etc-verify-plan has to say so.

    random_plans.py path/to/etc-opt                                                            24 requests, 16 mutations
    ETC_PROPERTY_COUNT=10000 ETC_MUTATION_COUNT=1000 random_plans.py path/to/etc-opt           the full run
    ETC_PROPERTY_SEED=1234 ETC_PROPERTY_COUNT=1 random_plans.py path/to/etc-opt                one case again

Request i has seed ETC_PROPERTY_SEED + i, and so has its mutation. What goes wrong is printed with its seed.
"""

import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parent / "Inputs"))
import mutations
from random_migrations import random_case

VERIFY = "--pass-pipeline=builtin.module(etc.migration(etc-verify-plan))"
# A mutation must not be refused because it is no IR at all.
SYNTAX = re.compile(r"expected '|custom op|expected attribute|expected integer|use of undeclared")


def random_request(rng):
    """A request, and options that it has no field for."""
    request, options = random_case(rng).request, []
    request["derive"] = rng.choice(("param", "none"))
    if rng.random() < 0.2:
        request["policy"] = "paper"
        del request["place"]
    else:
        request["place"] = rng.choice(("any", "tp", "pack"))
        if rng.random() < 0.3:
            options.append("--objective=total")
    return request, options


def remedy(request, message):
    """Does what a refusal says; None where it is no refusal that names a remedy."""
    if least := re.search(r"memory budget: \S+ is infeasible; the least found is (\S+x)", message):
        return {**request, "memory_budget": least.group(1)}
    if "use --place=any" in message:
        return {**request, "place": "any"}
    return None


def plan(etc_opt, request, options, folder):
    """The plan's IR, and what was wrong if there is none."""
    file, output = folder / "request.json", folder / "plan.mlir"
    for _ in range(3):
        file.write_text(json.dumps(request))
        run = subprocess.run([etc_opt, file, *options, "--quiet", "-o", output], capture_output=True, text=True)
        if run.returncode == 0:
            return output.read_text(), ""
        request = run.returncode == 1 and remedy(request, run.stderr)
        if not request:
            break
    return None, f"exit {run.returncode}: {run.stderr.strip()}"


def verify(etc_opt, text, folder):
    """Why a plan is refused; empty where it is not."""
    file = folder / "judged.mlir"
    file.write_text(text)
    run = subprocess.run([etc_opt, file, VERIFY, "-o", os.devnull], capture_output=True, text=True)
    return "" if run.returncode == 0 else run.stderr or f"exit {run.returncode}"


def mutate(text, rng):
    """A kind that the plan offers a place for, and the broken plan."""
    kinds = list(mutations.KINDS)
    rng.shuffle(kinds)
    for kind in kinds:
        lines = kind(mutations.Plan(text), rng)
        if lines:
            return kind.__name__, "\n".join(lines) + "\n"
    raise AssertionError("no kind of mutation applies")


def main():
    etc_opt = sys.argv[1]
    count, first = int(os.environ.get("ETC_PROPERTY_COUNT", 24)), int(os.environ.get("ETC_PROPERTY_SEED", 0))
    wanted = int(os.environ.get("ETC_MUTATION_COUNT", min(count, 16)))
    accepted, refused, tried = 0, collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for seed in range(first, first + count):
            rng = random.Random(seed)
            request, options = random_request(rng)
            text, wrong = plan(etc_opt, request, options, folder)
            wrong = wrong or verify(etc_opt, text, folder)
            if wrong:
                print(f"seed {seed}: NOT ACCEPTED: {wrong}\n  request: {json.dumps(request)} {options}", flush=True)
                continue
            accepted += 1
            if accepted % 1000 == 0:
                print(f"{accepted} plans accepted, up to seed {seed}", flush=True)
            if tried.total() == wanted:
                continue
            kind, broken = mutate(text, rng)
            tried[kind] += 1
            message = verify(etc_opt, broken, folder)
            refused[kind] += bool(message) and not SYNTAX.search(message)
            if refused[kind] < tried[kind] and (not message or SYNTAX.search(message)):
                print(f"seed {seed}: {kind} NOT REFUSED: {message.strip()}", flush=True)
    for kind in sorted(tried):
        print(f"  {kind}: {refused[kind]} of {tried[kind]} refused")
    print(f"{accepted} of {count} plans accepted, {refused.total()} of {tried.total()} mutations refused, "
          f"from seed {first} on")
    return 0 if accepted == count and refused == tried else 1


if __name__ == "__main__":
    sys.exit(main())
