"""Parameters of an engine of DeepSpeed whose optimizer states are partitioned are rejected by name."""

import unittest

import torch
from etc.torch.entries import ZERO, model_entries


class Marks(unittest.TestCase):
    def test_partitioned_parameters_are_rejected(self):
        for mark in ZERO:
            with self.subTest(mark=mark):
                model = torch.nn.Linear(2, 3)
                self.assertEqual(len(list(model_entries(model))), 2)
                setattr(model.bias, mark, None)
                with self.assertRaisesRegex(ValueError, "bias: .*DeepSpeed's ZeRO"):
                    list(model_entries(model))


if __name__ == "__main__":
    unittest.main()
