"""What a plan moves, in units of layers x slices, from its IR: every pair of roles costs its entry of the unit matrix.

    etc-opt ... | plan_units.py          prints: units in all, units of the device that lacks most
"""

import re
import sys

matrix, pairs, tp = [], [], [1, 1]
for line in sys.stdin:
    if "etc.migration" in line:
        for side, shorthand in enumerate(re.findall(r"\b(?:PP\d+|TP\d+|DP\d+)+\b", line)[:2]):
            found = re.search(r"TP(\d+)", shorthand)
            tp[side] = int(found.group(1)) if found else 1
    elif "etc.cost_matrix units" in line:
        matrix = [list(map(int, row.split(","))) for row in re.findall(r"\[([\d, ]+)\]", line)]
    elif "etc.pair" in line:
        roles = [list(map(int, role)) for role in re.findall(r"P(\d+)T(\d+) replicas", line)]
        count = len(re.search(r"replicas \[([^]]*)\]", line).group(1).split(","))
        pairs.append((roles, count))

moved = most = 0
for roles, count in pairs:
    row = matrix[roles[0][0] * tp[1] + roles[0][1]]
    # A device that held nothing lacks all of its role: no previous role has less than nothing of it.
    cost = row[roles[1][0] * tp[0] + roles[1][1]] if len(roles) > 1 else max(row)
    moved, most = moved + cost * count, max(most, cost)
print(f"{moved} units, busiest {most}")
