"""Compares bounds and routes of random instances with SciPy's linear programming.

usage: lp_oracle.py PATH/etc-routing-cases [--count=150] [--seed=1] [--nvlink | --uneven]
       lp_oracle.py PATH/etc-routing-cases FILE.case...

The linear program gives what no routing can go below, with relays and splits as fine as can be: for each atom and each
device that needs it a flow from the holders, where flows of one atom share what they carry (network coding). It is
solved without transit and with it. Checked of every instance: the cut, or the tolls that take longer, are at most the
least with transit, which is at most the least without; so are tolls that are drawn; and no route is faster than its
least. Printed: how far cuts and routes are from it.

With --nvlink only instances count whose links are at least four times as fast as their NICs; 95% of their cuts have to
be within 1% and all within 5%, and of each that is not within 1% the cause is printed: the resources on which the
program's dual solution has a price. With --uneven, which asks for the same, instances have such links, nodes of unequal
sizes whose devices share NICs, and atoms that few devices hold or need.

Of files it prints a line each: the cut, the programs with transit and over paths, and the routes. Paths lead from a
holder, over a device of its node or none, through a NIC of each to a node that lacks the atom and needs it, and over
links there; what a node holds it receives over links only. Exits with 77, "skipped", where SciPy is not
installed.
"""

import argparse
import json
import pathlib
import subprocess
import sys

try:
    import numpy
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix
except ImportError:
    print("skipped: scipy is not installed")
    sys.exit(77)

# What rounding to bytes and the solver's tolerance can do, as a share.
TOLERANCE = 1e-5


class Program:
    """Minimise the time; rows are lists of (variable, factor)."""

    def __init__(self) -> None:
        self.variables = 1  # 0 is the time
        self.most, self.equal = [], []  # (row, right side)

    def add(self) -> int:
        self.variables += 1
        return self.variables - 1

    def matrix(self, rows: list) -> tuple:
        entries = [(i, variable, factor) for i, (row, _) in enumerate(rows) for variable, factor in row]
        row, column, factor = zip(*entries) if entries else ((), (), ())
        return csr_matrix((factor, (row, column)), (len(rows), self.variables)), [right for _, right in rows]

    def solve(self) -> tuple:
        """The least time, and the dual values of the rows in `most`."""
        cost = numpy.zeros(self.variables)
        cost[0] = 1
        upper, most = self.matrix(self.most)
        matrix, right = self.matrix(self.equal)
        result = linprog(cost, A_ub=upper, b_ub=most, A_eq=matrix, b_eq=right, method="highs")
        assert result.status == 0, result.message
        return result.fun, result.ineqlin.marginals


def resources_of(case: dict, one: int, other: int) -> tuple:
    """The resources that a byte from one device to another takes, with rates."""
    (node, nic, link, _), (its_node, its_nic, its_link, _) = case["devices"][one], case["devices"][other]
    if node == its_node:
        return ("link out", one, link), ("link in", other, its_link)
    return ("nic out", nic, case["nics"][nic]), ("nic in", its_nic, case["nics"][its_nic])


def find_edges(case: dict, holders: list, needers: list, transit: bool, paths: bool) -> list:
    """The hops that an atom may take."""
    relays = [i for i, device in enumerate(case["devices"]) if device[3]] if transit else holders + needers
    edges = [(a, b) for a in relays for b in relays if a != b and b not in holders]
    if not paths:
        return edges
    node_of = [node for node, *_ in case["devices"]]
    holding, needing = ({node_of[device] for device in side} for side in (holders, needers))
    lacking = needing - holding
    return [(a, b) for a, b in edges
            if node_of[a] in holding | needing and node_of[b] in (needing | holding if node_of[a] == node_of[b] else lacking)]


def least_time(case: dict, transit: bool, paths: bool = False) -> tuple:
    """And the share that each resource has in it, where that is more than 0.1%."""
    program, loads = Program(), {}
    scale = max((size for size, _, _ in case["atoms"]), default=1)
    for size, holders, needers in case["atoms"]:
        edges = find_edges(case, holders, needers, transit, paths)
        relays = {device for edge in edges for device in edge}
        carried = {edge: program.add() for edge in edges}
        for edge, variable in carried.items():
            for resource in resources_of(case, *edge):
                loads.setdefault(resource, []).append((variable, 1))
        for needer in needers:
            flow = {edge: program.add() for edge in edges}
            program.most += [([(flow[edge], 1), (carried[edge], -1)], 0) for edge in edges]
            for device in relays - set(holders):
                row = [(flow[edge], 1) for edge in edges if edge[1] == device]
                row += [(flow[edge], -1) for edge in edges if edge[0] == device]
                program.equal.append((row, size / scale if device == needer else 0))
    if not case["atoms"]:
        return 0.0, {}
    largest = max((rate for *_, rate in loads), default=1)
    first = len(program.most)
    for (*_, rate), row in loads.items():
        program.most.append((row + [(0, -rate / largest)], 0))
    time, duals = program.solve()
    shares = {resource: -dual * resource[2] / largest for resource, dual in zip(loads, duals[first:])}
    return time * scale / largest, {key: share for key, share in shares.items() if share > 0.001}


def check(case: dict) -> tuple:
    """The ratios bound / least with transit, striped / least without, with transit / least."""
    (least, _), (with_transit, shares) = least_time(case, transit=False), least_time(case, transit=True)
    slack = 1 + TOLERANCE
    assert case["bound"] <= with_transit * slack, f"the cut {case['bound']} is above the least {with_transit}"
    assert case["tolls"] <= with_transit * slack, f"tolls that are drawn, {case['tolls']}, are above {with_transit}"
    assert with_transit <= least * slack, f"transit makes it slower: {with_transit} and {least}"
    assert least <= case["striped"] * slack, f"the route {case['striped']} is below the least {least}"
    assert with_transit <= case["transit"] * slack, f"the route {case['transit']} is below the least {with_transit}"
    return (case["bound"] / with_transit, case["striped"] / least, case["transit"] / with_transit), shares


def is_nvlink(case: dict) -> bool:
    return min(link for _, _, link, _ in case["devices"]) >= 4 * max(case["nics"])


def describe_gap(case: dict, ratio: float, shares: dict) -> str:
    priced = ", ".join(f"{name} {number} {share:.0%}" for (name, number, _), share in shares.items())
    return f"{case['name']}: the cut is {ratio:.3f} of the LP ({case['witness']}); the LP prices {priced}"


def describe(name: str, ratios: list) -> str:
    ratios = sorted(ratios)
    marks = [f"{label} {ratios[min(len(ratios) - 1, int(len(ratios) * at))]:.3f}"
             for label, at in (("p5", 0.05), ("median", 0.5), ("p75", 0.75), ("p95", 0.95))]
    close = sum(0.99 <= ratio <= 1.01 for ratio in ratios) / len(ratios)
    return f"{name}: {', '.join(marks)}, from {ratios[0]:.3f} to {ratios[-1]:.3f}; within 1%: {close:.0%}"


def compare_files(cases: str, files: list) -> int:
    done = subprocess.run([cases, *files], capture_output=True, text=True, check=True)
    for case in map(json.loads, done.stdout.splitlines()):
        least, paths = least_time(case, transit=True)[0], least_time(case, transit=True, paths=True)[0]
        assert case["bound"] <= least * (1 + TOLERANCE) and least <= case["transit"] * (1 + TOLERANCE), case["name"]
        print(f"{pathlib.Path(case['name']).stem}: cut {1e3 * case['bound']:.1f} ms, with relays {1e3 * least:.1f}, over paths "
              f"{1e3 * paths:.1f}, routes {1e3 * case['transit']:.1f}: {case['transit'] / least:.3f} and "
              f"{case['transit'] / paths:.3f} times these", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nvlink", action="store_true")
    parser.add_argument("--uneven", action="store_true")
    options = parser.parse_args()
    if options.files:
        return compare_files(options.cases, options.files)
    print(f"{options.count} instances from seed {options.seed} on", flush=True)
    which = ["uneven"] if options.uneven else []
    done = subprocess.run(
        [options.cases, str(options.count), str(options.seed), *which], capture_output=True, text=True, check=True
    )
    has_target = options.nvlink or options.uneven
    ratios, wrong = [], 0
    for line in done.stdout.splitlines():
        case = json.loads(line)
        if not case["atoms"] or (options.nvlink and not is_nvlink(case)):
            continue
        try:
            found, shares = check(case)
            ratios.append(found)
            if has_target and found[0] < 0.99:
                print(describe_gap(case, found[0], shares))
        except AssertionError as error:
            print(f"{case['name']}: {error}")
            wrong += 1
    for name, list_ in zip(("cut / LP", "route / LP, no transit", "route / LP, transit"), zip(*ratios)):
        print(describe(name, list(list_)))
    print(f"{len(ratios)} compared, {wrong} wrong")
    if not has_target:
        return 1 if wrong else 0
    within = [sum(cut >= least for cut, _, _ in ratios) / len(ratios) for least in (0.99, 0.95)]
    print(f"cuts within 1%: {within[0]:.1%}, within 5%: {within[1]:.1%}")
    return 1 if wrong or within[0] < 0.95 or within[1] < 1 else 0


if __name__ == "__main__":
    sys.exit(main())
