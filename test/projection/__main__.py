"""Whether plans are the same as those that are kept: tools/dev/projection --help."""

import argparse
import functools
import itertools
import multiprocessing
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import cases
import compare
import plans

HERE = pathlib.Path(__file__).parent
EVERY = 15
ALWAYS = ["small/369"]  # another where trials of rounds search too little
HEADER = """# Plans and their projections: `tools/dev/projection` compares them and says what they are for.
# name request remedy projection moved internode port peak peak/max(prev,curr) rounds seconds
"""


def options():
    parser = argparse.ArgumentParser(prog="tools/dev/projection", description=(
        "Plans random requests and the paper's cases, and compares the plans with plans.txt, operation by operation, "
        "and plans.txt with baseline.txt: plans.txt may be renewed, but with plans that are no worse."))
    parser.add_argument("--sample", action="store_true", help="some of the cases, in seconds")
    parser.add_argument("--keep", action="store_true", help="write plans.txt")
    parser.add_argument("--show", metavar="NAME", help="print the projection of one plan")
    parser.add_argument("--build", metavar="DIR", default="build", help="where bin/etc-opt and bin/etc-run are")
    parser.add_argument("--etc-opt", metavar="FILE", type=pathlib.Path, help="another planner")
    parser.add_argument("--kept", metavar="DIR", type=pathlib.Path, default=HERE,
                        help="where plans.txt and baseline.txt are")
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count(), help="plans made at once")
    return parser.parse_args()


def tools_of(args):
    folder = pathlib.Path(args.build).resolve() / "bin"
    return (args.etc_opt.resolve() if args.etc_opt else folder / "etc-opt", folder / "etc-run")


def make(tools, remedies, name):
    """The plans of a case, in a process of its own; none where it is refused, which is said."""
    with tempfile.TemporaryDirectory() as folder:
        made = plans.make_case(tools, name, cases.steps_of(name), remedies, pathlib.Path(folder))
        try:
            return [plan for plan, _ in made], ""
        except plans.Refused as refused:
            return [], f"{name}: {refused}"


def keep(tools, pool, path):
    """Writes the plans of every case; of random ones the first so many that can be planned."""
    lines = []
    for family, (_, count) in cases.FAMILIES.items():
        names = (f"{family}/{seed}" for seed in itertools.count())
        made = pool.imap(functools.partial(make, tools, None), itertools.islice(names, 3 * count))
        wanted = itertools.islice((found for found, _ in made if found), count)
        lines += [plan.line() for found in wanted for plan in found]
    for found, refusal in pool.imap(functools.partial(make, tools, None), [name for name, _ in cases.paper_cases()]):
        if refusal:
            sys.exit(f"projection: {refusal}")
        lines += [plan.line() for plan in found]
    path.write_text(HEADER + "\n".join(lines) + "\n")
    print(f"projection: {len(lines)} plans written to {path}")


def case_names(kept):
    """The cases of kept plans: a chain has a plan a step."""
    return list(dict.fromkeys(re.sub(r"^(chain/\d+)\.\d+$", r"\1", name) for name in kept))


def replan(tools, pool, kept, names):
    """The plans of cases as they are made now, each with the place and the budget that it was kept with."""
    remedies = {name: plan.remedy for name, plan in kept.items()}
    made, refusals = {}, []
    for found, refusal in pool.imap(functools.partial(make, tools, remedies), names):
        made.update((plan.name, plan) for plan in found)
        refusals += [refusal] if refusal else []
    for refusal in refusals:
        print(f"refused: {refusal}")
    return made, len(refusals)


def show(tools, kept, name):
    case = case_names([name])[0]
    remedies = {name: plan.remedy for name, plan in kept.items()}
    with tempfile.TemporaryDirectory() as folder:
        for plan, text in plans.make_case(tools, case, cases.steps_of(case), remedies, pathlib.Path(folder)):
            if plan.name == name:
                sys.stdout.write(text)


def main():
    args = options()
    tools, path = tools_of(args), args.kept / "plans.txt"
    parse = plans.Plan.parse
    kept = compare.read(path, parse) if path.exists() else {}
    if args.show:
        return show(tools, kept, args.show)
    with multiprocessing.Pool(args.jobs) as pool:
        if args.keep:
            return keep(tools, pool, path)
        names = case_names(kept)
        if args.sample:
            names = sorted({*names[::EVERY], *ALWAYS}, key=names.index)
        made, refused = replan(tools, pool, kept, names)
    changed = compare.report_changes(kept, made)
    if changed:
        print("projection: tools/dev/projection --show NAME prints a plan's projection; a commit that is meant to "
              "change plans runs tools/dev/projection --keep")
    worse = compare.report_worse(compare.read(args.kept / "baseline.txt", parse), kept)
    return 1 if refused or changed or worse else 0


if __name__ == "__main__":
    sys.exit(main())
