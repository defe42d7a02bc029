"""The first plan, made under --policy=paper, moves what every given plan says that the policy would move."""

import json
import sys

summaries = [json.load(open(path, encoding="utf-8"))["summary"] for path in sys.argv[1:]]
names = ("moved_bytes", "internode_bytes", "max_recv_bytes")
for path, summary in zip(sys.argv[1:], summaries):
    for name in names:
        stated, moved = summary["paper_policy"][name], summaries[0][name]
        assert stated == moved, f"{path}: paper_policy.{name} is {stated}, the paper's plan has {moved}"
