"""Prints the answer of --which-nodes, a line a choice."""

import json
import sys

answer = json.load(sys.stdin)
search = answer["search"]
print(f"{answer['format']} {answer['version']}: {answer['count']} nodes, place {answer['place']}, "
      f"{answer['objective']} first, rates {answer['rates_gb_per_s']}")
print(f"classes {search['classes']}, tried {search['tried']}, {'complete' if search['complete'] else 'not complete'}")
for name in ("none", "bound"):
    print(name, *answer[name].values())
for choice in answer["best"]:
    print("nodes", *choice.values())
