"""The fields of JSON files that a page does not name: PAGE FILE..."""

import json
import re
import sys


def fields(value):
    if isinstance(value, dict):
        yield from value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, (dict, list)):
            yield from fields(inner)


named = set(re.findall(r"`(?:\w+\.)?(\w+)`", open(sys.argv[1]).read()))
found = set().union(*(fields(json.load(open(name))) for name in sys.argv[2:]))
missing = sorted(found - named)
print(f"{len(found)} fields, not on the page: {', '.join(missing) or 'none'}")
