"""The Python of README.md and docs/python.md runs as it stands there."""

import os
import pathlib
import re
import tempfile
import unittest

import etc
import ranks

try:
    import torch.distributed as dist
except ImportError:
    dist = None

SOURCE = pathlib.Path(os.environ["ETC_SOURCE_DIR"])
SMALL = {"model": ranks.MODEL, "prev": "PP2TP2", "curr": "PP4", "cluster": "1x4"}


def blocks(page):
    """(those that plan, those that migrate), without those that another test runs."""
    text = (SOURCE / page).read_text(encoding="utf-8")
    pattern = r"^(<!-- not run: [^\n]*\n)?```python\n(.*?)^```"
    found = [
        block
        for elsewhere, block in re.findall(pattern, text, re.DOTALL | re.MULTILINE)
        if not elsewhere and "describe" not in block
    ]
    return (
        [block for block in found if "state" not in block],
        [block for block in found if "state" in block],
    )


def run_as_rank(rank, store, block, plan):
    dist.init_process_group("gloo", store=store, rank=rank, world_size=4)
    os.environ["ETC_HOST"] = "127.0.0.1"
    names = {"etc": etc, "plan": plan, "state": ranks.make(plan.prev_tensors(rank))}
    exec(block, names)
    dist.destroy_process_group()
    return ranks.differences(names["state"], ranks.make(plan.curr_tensors(rank)))


class Examples(unittest.TestCase):
    def test_planning(self):
        for page in ("README.md", "docs/python.md"):
            planning, _ = blocks(page)
            self.assertTrue(planning, page)
            before, names = os.getcwd(), {}
            with tempfile.TemporaryDirectory() as directory:
                os.chdir(directory)
                try:
                    for block in planning:  # a later one goes on from there
                        exec(block, names)
                finally:
                    os.chdir(before)

    def test_the_role_in_the_readme(self):
        (planning,), _ = blocks("README.md")
        names = {}
        exec(planning, names)
        stated = re.search(r"curr_role\((\d+)\)\)  # (.*)$", planning, re.MULTILINE)
        role = names["plan"].curr_role(int(stated.group(1)))
        self.assertEqual(str(role), stated.group(2))

    @unittest.skipIf(dist is None, "PyTorch is not installed")
    def test_describing(self):
        import torch
        from test_describe import Model

        text = (SOURCE / "docs/python.md").read_text(encoding="utf-8")
        (block,) = re.findall(r"```python\n(described = .*?)```", text, re.DOTALL)
        model = Model(range(4), tp=2)
        names = {
            "etc": etc,
            "model": model,
            "optimizer": torch.optim.Adam(model.parameters()),
            "whole": Model(range(4), device="meta"),
        }
        exec(block, names)
        self.assertEqual(
            set(names["plan"].prev_tensors(0)["param"]),
            set(names["described"].tensors["param"]),
        )

    @unittest.skipIf(dist is None, "PyTorch is not installed")
    def test_migrating(self):
        plan = etc.plan(**SMALL)
        for page in ("README.md", "docs/python.md"):
            _, migrating = blocks(page)
            self.assertEqual(len(migrating), 1, page)
            results = ranks.run(4, run_as_rank, migrating[0], plan)
            self.assertEqual(ranks.must(results), [[]] * 4, page)


if __name__ == "__main__":
    unittest.main()
