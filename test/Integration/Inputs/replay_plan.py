"""Replays the JSON of a plan on arrays: etc-opt ... --emit=json | replay_plan.py"""

import json
import sys

from replay import World

world = World(json.load(sys.stdin))
world.run()
world.check_result({})
world.check_summary()
print(f"replayed, {world.passed} bytes in transit")
