"""Asks --which-nodes, and tries every set of nodes by itself: the answer must be the best there is.

    every_choice.py FOLDER -- etc-opt
"""

import itertools
import json
import subprocess
import sys

# Configurations, nodes, how many leave, and options.
CASES = (("PP4TP2", "PP2TP2", "4x2", 2, []), ("PP2TP2DP2", "PP2TP2", "4x2", 1, ["--place=any"]),
         ("PP4", "PP2", "3,2,2", 1, ["--place=any", "--objective=total"]), ("PP2TP2DP2", "PP4", "2,3,3,2", 2, []),
         ("PP4TP2", "PP2TP2", "5x2", 2, ["--place=tp", "--failed=8", "--draining=2"]))
MODEL = ["--layers=4", "--hidden=16", "--heads=4", "--vocab=300", "--seq=8", "--quiet"]


def run(command, file):
    subprocess.run([*command, "-o", file], check=True, capture_output=True)
    with open(file) as text:
        return json.load(text)


def nodes_of(cluster):
    sizes = [int(size) for size in cluster.split(",")] if "," in cluster else \
        [int(cluster.split("x")[1])] * int(cluster.split("x")[0])
    starts = [sum(sizes[:node]) for node in range(len(sizes))]
    return [list(range(start, start + size)) for start, size in zip(starts, sizes)]


def cost(answer, options):
    figures = answer["internode_bytes"], answer["moved_bytes"]
    return figures[::-1] if "--objective=total" in options else figures


def main():
    file, etc_opt = f"{sys.argv[1]}/answer.json", sys.argv[sys.argv.index("--") + 1:]
    for prev, curr, cluster, count, options in CASES:
        command = [*etc_opt, *MODEL, f"--prev={prev}", f"--curr={curr}", f"--cluster={cluster}", *options]
        answer = run([*command, f"--which-nodes={count}"], file)
        nodes = nodes_of(cluster)
        draining = next((option[11:].split(",") for option in options if option.startswith("--draining=")), [])
        failed = next((option[9:].split(",") for option in options if option.startswith("--failed=")), [])
        costs = []
        for choice in itertools.combinations(range(len(nodes)), count):
            gone = {str(device) for node in choice for device in nodes[node]} | set(draining)
            gone = sorted(gone - set(failed), key=int)
            rest = [option for option in command if not option.startswith("--draining=")]
            try:
                plan = run([*rest, f"--draining={','.join(gone)}", "--emit=json"], file)
            except subprocess.CalledProcessError:
                continue
            costs.append(cost(plan["summary"], options))
        best = cost(answer["best"][0], options)
        print(f"{prev} -> {curr} on {cluster}, {count} nodes: {'the best' if best == min(costs) else 'NOT THE BEST'} of "
              f"{len(costs)}, {'complete' if answer['search']['complete'] else 'not complete'}")


if __name__ == "__main__":
    main()
