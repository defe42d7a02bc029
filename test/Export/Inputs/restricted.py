"""Compares the JSON of some devices with that of all, by names and boxes, and prints how much shorter its tables are.

    restricted.py ALL.json SOME.json
"""

import json
import sys


def spelled(document):
    """Each device with names and boxes in place of the numbers of tables."""
    tensors, shards = document["tensors"], document["shards"]

    def name(tensor):
        return [tensors[tensor]["name"], tensors[tensor]["type"]]

    def shard(number):
        return [name(shards[number]["tensor"]), shards[number]["boxes"]]

    def op(entry):
        return {**entry, **{key: name(entry[key]) for key in ("tensor", "source") if key in entry}}

    return {
        device["device"]: {
            **{side: [shard(number) for number in device[side]] for side in ("prev", "curr")},
            "rounds": [[op(entry) for entry in ops] for ops in device["rounds"]],
        }
        for device in document["devices"]
    }


def main():
    whole, some = (json.loads(open(name, encoding="utf-8").read()) for name in sys.argv[1:])
    wanted, everything = spelled(some), spelled(whole)
    if wanted != {device: everything[device] for device in wanted}:
        sys.exit("the devices differ")
    sizes = ", ".join(f"{len(some[table])} of {len(whole[table])} {table}" for table in ("tensors", "shards"))
    print(f"{len(wanted)} of {len(everything)} devices, the same by name; {sizes}")
    if any(len(some[table]) >= len(whole[table]) for table in ("tensors", "shards")):
        sys.exit("the tables are as long")


main()
