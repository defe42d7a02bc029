"""Engines of DeepSpeed whose optimizer states are partitioned are rejected by name: stand-ins for their parameters, and
engines where DeepSpeed is installed.
"""

import importlib.util
import os
import unittest

import etc.torch
import ranks
import torch
import torch_jobs as jobs
from etc.torch.entries import ZERO, model_entries


def messages_of_engines(rank, store):
    """What becomes of the parameters of engines of each stage, by how they are passed."""
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank))
    jobs.join(rank, store, 2)
    import deepspeed

    deepspeed.init_distributed("gloo")
    found = {}
    for stage in (1, 2, 3):
        config = {
            "train_micro_batch_size_per_gpu": 4,
            "zero_optimization": {"stage": stage},
            "zero_allow_untested_optimizer": True,
        }
        model = torch.nn.Sequential(torch.nn.Linear(6, 10), torch.nn.Linear(10, 3))
        optimizer = torch.optim.AdamW(model.parameters())
        engine, _, _, _ = deepspeed.initialize(
            model=model, optimizer=optimizer, config=config
        )
        engine.backward(engine(torch.ones(4, 6)).square().mean())
        engine.step()
        for name, side in (("engine", engine), ("module", engine.module)):
            try:
                etc.torch.layout(side)
                found[stage, name] = "is read"
            except ValueError as error:
                found[stage, name] = str(error)
    return found


class Marks(unittest.TestCase):
    def test_partitioned_parameters_are_rejected(self):
        for mark in ZERO:
            with self.subTest(mark=mark):
                model = torch.nn.Linear(2, 3)
                self.assertEqual(len(list(model_entries(model))), 2)
                setattr(model.bias, mark, None)
                with self.assertRaisesRegex(ValueError, "bias: .*DeepSpeed's ZeRO"):
                    list(model_entries(model))


@unittest.skipUnless(importlib.util.find_spec("deepspeed"), "needs DeepSpeed")
class Engines(unittest.TestCase):
    def test_engines_are_rejected(self):
        os.environ["DS_ACCELERATOR"] = "cpu"
        for found in ranks.must(ranks.run(2, messages_of_engines, timeout=600)):
            self.assertEqual(len(found), 6)
            for case, message in found.items():
                self.assertRegex(message, "weight: .*DeepSpeed's ZeRO", case)


if __name__ == "__main__":
    unittest.main()
