"""The scripts in docs/examples print the losses of jobs that nothing interrupts."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import unittest

import torch

FOLDER = pathlib.Path(os.environ["ETC_SOURCE_DIR"]) / "docs/examples"
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=4"]


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(64, 250)
        self.down = torch.nn.Linear(250, 64)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


def four_layers():
    return torch.nn.Sequential(*(Layer() for _ in range(4)))


def two_layers():
    layers = [torch.nn.Linear(64, 250), torch.nn.ReLU(), torch.nn.Linear(250, 64)]
    return torch.nn.Sequential(*layers)


def uninterrupted(make, rate, gamma=1.0):
    """The losses of six steps in one process."""
    torch.manual_seed(0)
    model, losses = make(), []
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma)
    for _ in range(6):
        batch = torch.randn(32, 64, generator=torch.Generator().manual_seed(1))
        loss = (model(batch) - batch.flip(-1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


class Examples(unittest.TestCase):
    def check(self, script, launcher, expected):
        command = [sys.executable, "-W", "ignore", *launcher, str(FOLDER / script)]
        env = {**os.environ, "ETC_HOST": "127.0.0.1"}
        ran = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=600
        )
        self.assertEqual(ran.returncode, 0, ran.stderr)
        losses = re.findall(r"^step (\d): loss ([\d.]*)", ran.stdout, re.MULTILINE)
        self.assertEqual([int(step) for step, _ in losses], list(range(6)))
        for (step, loss), value in zip(losses, expected):
            self.assertAlmostEqual(float(loss), value, delta=0.0002, msg=step)
        self.assertLessEqual(len((FOLDER / script).read_text().splitlines()), 80)

    @unittest.skipIf(torch.__version__ < (2, 7), "PyTorch 2.6 rejects its uneven rows")
    def test_mesh_changes(self):
        self.check("torch/change_mesh.py", TORCHRUN, uninterrupted(four_layers, 0.001))

    def test_ranks_join(self):
        self.check("torch/join.py", TORCHRUN, uninterrupted(two_layers, 0.004, 0.7))

    def test_a_node_is_lost(self):
        self.check("torch/lost_node.py", [], uninterrupted(two_layers, 0.001))

    @unittest.skipUnless(importlib.util.find_spec("accelerate"), "needs accelerate")
    def test_ranks_join_with_accelerate(self):
        script = "frameworks/accelerate_fsdp.py"
        self.check(script, TORCHRUN, uninterrupted(two_layers, 0.004, 0.7))


if __name__ == "__main__":
    unittest.main()
