"""Trains a small GPT, and changes its parallelism on the way.

  python3 tools/elastic --start=PP2 --control=next --out=run &
  echo PP4 > next          (or SIGUSR1 after writing it)

What happened is in run/*.jsonl, a file a device. A schedule is JSON:
  [{"at": 20, "to": "PP4"}, {"at": 60, "kill": [1]}]
"""

import argparse
import json
import sys
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

try:
    import etc  # noqa: F401
    import torch  # noqa: F401
except ImportError as missing:
    sys.exit(f"elastic: {missing}; it needs PyTorch and ETC's Python package, "
             "docs/elastic-training.md")

from elastic.config import Model, Training
from elastic.data import LICENCES
from elastic.hosts import Hosts
from elastic.launcher import Launcher




def parse(arguments=None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="elastic", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", default="PP1", help="first configuration")
    parser.add_argument("--devices", type=json.loads, help="of its ranks: [0, 1]")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--per-node", type=int, default=8, help="devices a node")
    parser.add_argument("--rate", help="of a node's line; makes the nodes hosts of "
                        "their own (network namespaces; needs root): 200mbit")
    parser.add_argument("--schedule", type=json.loads, default=[])
    parser.add_argument("--control", help="file that says the next configuration")
    parser.add_argument("--cuda", action="store_true",
                        help="a GPU for each device, and NCCL; Gloo on CPUs otherwise")
    parser.add_argument("--corpus", default=LICENCES, help="pattern of files")
    parser.add_argument("--out", required=True, help="folder for logs and plans")
    for kind in (Model, Training):
        for name, value in vars(kind()).items():
            parser.add_argument(f"--{name}", type=type(value), default=value,
                                help=f"({value})")
    options = parser.parse_args(arguments)
    for name, kind in (("model", Model), ("training", Training)):
        sizes = {key: getattr(options, key) for key in vars(kind())}
        setattr(options, name, kind(**sizes))
    return options


def main(arguments=None) -> None:
    options = parse(arguments)
    with Hosts(options.nodes, options.per_node, options.rate) as hosts:
        launcher = Launcher(options, hosts)
        try:
            launcher.run()
        except ValueError as error:
            sys.exit(f"elastic: {error}")
        finally:
            launcher.close()


if __name__ == "__main__":
    main()
