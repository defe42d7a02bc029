"""What is passed by mistake: the message, one line on all ranks, says what to pass."""

import json
import os
import tempfile
import unittest

import etc.torch
import numpy
import ranks
import torch
import torch_jobs as jobs
from torch_states import MOVES, WORLD, check, job


def lists():
    before, after = job()
    return list(before), list(after)


def no_model():
    return "model", job()[1]


def an_option_of_numpy():
    def make(model):
        group = {"params": model.parameters(), "tag": numpy.arange(3)}
        return torch.optim.AdamW([group])

    return job(make)


def an_option_that_is_a_function():
    def make(model):
        return torch.optim.AdamW([{"params": model.parameters(), "f": lambda x: x}])

    return job(make)


def a_state_named_param():
    before, after = job()
    for state in before[1].state.values():
        state["param"] = state["exp_avg"].clone()
    return before, after


class Wrapping(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self._orig_mod = torch.nn.ModuleDict({"up": torch.nn.Linear(2, 2)})
        self.up = torch.nn.Linear(2, 2)


def two_tensors_of_one_name():
    return Wrapping(), Wrapping()


def a_state_dict_of_tied_weights():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    model[1].weight = model[0].weight
    return model.state_dict(), model.state_dict()


def no_optimizer_after():
    before, (model, _) = job()
    return before, model


def another_dtype():
    before, (model, _) = job()
    return before[0], model.bfloat16()


def a_layer_of_another_name():
    (model, _), (other, _) = job()
    other.tail = other.head
    del other.head
    return model, other


def a_parameter_that_the_new_optimizer_lacks():
    before, (model, _) = job()
    parameters = list(model.parameters())[:-1]
    return before, (model, torch.optim.AdamW(parameters))


def buffers_that_differ():
    """As running means do under DistributedDataParallel."""
    model = jobs.build(None)
    model.blocks["1"].scale.fill_(torch.distributed.get_rank())
    return model, job()[1][0]


CASES = {
    lists: MOVES,
    no_model: r"str: is in the place of the model; pass a module, or a state dict",
    an_option_of_numpy: MOVES,
    an_option_that_is_a_function: r"optimizer: f of group 0 can't be sent to other ranks",
    a_state_named_param: r"weight: the optimizer has a state of the name param, .*name$",
    two_tensors_of_one_name: r"up.weight \(param\): two tensors have this name, .*rename",
    a_state_dict_of_tied_weights: r"1.weight \(param\): has the memory of 0.weight .*tied",
    no_optimizer_after: r"\(exp_avg\): no optimizer takes it; pass the new model's",
    buffers_that_differ: r"blocks.1.scale .*: ranks 0 and 1 have replicas that differ, as a "
    r"buffer does .*; broadcast it from one rank, or pass verify=False",
    another_dtype: r"\(param\): is fp32 before and bf16 after; make it of one dtype",
    a_layer_of_another_name: r"head.weight \(param\): the new model does not have it, and "
    r"has tail.weight, which was not there before; .* \(so for 1 more\)$",
    a_parameter_that_the_new_optimizer_lacks: r"head.bias \(exp_avg\): the new optimizer "
    r"does not have this parameter; give it the same ones",
}


def moved_again(rank, store):
    """What a second move of what a first one has taken says."""
    jobs.join(rank, store, WORLD)
    before, after = job()
    etc.torch.move(before, after, timeout=60)
    _, other = job()
    try:
        etc.torch.move(before, other, timeout=60)
    except ValueError as error:
        return str(error)


def with_an_option(rank, store, options, on):
    """What is said on this rank where some have an option, and which gradients are gone."""
    jobs.join(rank, store, WORLD)
    before, after = job()
    given = options if rank in on else {}
    try:
        etc.torch.move(before, after, timeout=60, **given)
    except (ValueError, TypeError) as error:
        said = str(error)
    return said, [n for n, p in before[0].named_parameters() if p.grad is None]


CLUSTER = {
    "name": "a lab",
    "link": {"bytes_per_second": 450e9, "latency_seconds": 5e-6},
    "port": {"per_node": 8, "bytes_per_second": 50e9, "latency_seconds": 15e-6},
    "pack": {"bytes_per_second": 1300e9},
}


def with_a_file(rank, store, on, folder):
    """What is said where some ranks alone find the description of the cluster."""
    os.chdir(folder if rank in on else os.path.dirname(folder))
    return with_an_option(rank, store, {"cluster": f"1x{WORLD}@lab.json"}, range(WORLD))


class Mistakes(unittest.TestCase):
    def test_them(self):
        check(self, CASES)

    def test_a_model_that_has_moved(self):
        for said in ranks.must(ranks.run(WORLD, moved_again)):
            self.assertRegex(
                said, r"\(param\): its memory is gone, as after a move, .*now$"
            )

    def test_an_option_that_there_is_not(self):
        results = ranks.run(WORLD, with_an_option, {"waits": 30}, [1])
        for said, gone in ranks.must(results):
            self.assertRegex(said, "^rank 1: waits: is an option neither of")
            self.assertEqual(gone, [])

    def test_options_that_differ(self):
        """Ranks that wait for what others leave out would do so until they time out."""
        for options, said_of in (
            ({"verify": False}, "verify: is true on rank 1, false on rank 0"),
            (
                {"types": {"param.fp32"}},
                r'types: is not passed on rank 1, \["param.fp32"\]',
            ),
        ):
            results = ranks.run(WORLD, with_an_option, options, [0])
            for said, gone in ranks.must(results):
                self.assertRegex(said, f"^{said_of}.*; pass the same on all ranks$")
                self.assertEqual(gone, [])

    def test_a_file_that_the_first_rank_lacks(self):
        """It plans for all; the others do not wait for it."""
        with tempfile.TemporaryDirectory() as outside:
            folder = os.path.join(outside, "inside")
            os.mkdir(folder)
            with open(os.path.join(folder, "lab.json"), "w", encoding="utf-8") as file:
                json.dump(CLUSTER, file)
            results = ranks.must(ranks.run(WORLD, with_a_file, [1], folder, timeout=60))
        (said, gone), (other, kept) = results
        self.assertRegex(said, "lab.json")
        self.assertEqual(other, f"rank 0: {said}")
        self.assertEqual(gone + kept, [])

    def test_an_option_of_another_kind(self):
        results = ranks.run(WORLD, with_an_option, {"mode": "fast"}, [0, 1])
        for said, gone in ranks.must(results):
            self.assertRegex(said, "fast")
            self.assertEqual(gone, [])


if __name__ == "__main__":
    unittest.main()
