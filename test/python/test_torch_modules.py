"""What modules have besides plain parameters moves with them, or is refused before anything moves."""

import unittest

import etc.torch
import ranks
import torch
import torch_jobs as jobs
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    checkpoint_wrapper,
)
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

WORLD = 2
MOVES = "moves every tensor"


def halves():
    return jobs.make_mesh([0, 1], "fsdp")


def copies():
    return jobs.make_mesh([[0], [1]], "replicate", "fsdp")


class Block(torch.nn.Module):
    """Buffers with the number `value`, of both kinds."""

    def __init__(self, value):
        super().__init__()
        self.up = torch.nn.Linear(4, 6)
        self.register_buffer("bias", torch.full((3,), float(value)))
        table = torch.full((2,), float(value))
        self.register_buffer("table", table, persistent=False)

    def forward(self, x):
        return self.up(x)


def build(mesh, value, device="cpu", wrap=lambda block: block):
    torch.manual_seed(value)
    with torch.device(device):
        model = torch.nn.Sequential(wrap(Block(value)), torch.nn.Linear(6, 2))
    if mesh is not None:
        fully_shard(model[0], mesh=mesh)
        fully_shard(model, mesh=mesh)
    return model


def a_buffer_under_checkpointing():
    before = build(halves(), 1, wrap=checkpoint_wrapper)
    return before, build(copies(), 2, wrap=checkpoint_wrapper)


def a_checkpointed_block_unwrapped():
    return build(halves(), 1, wrap=checkpoint_wrapper), build(copies(), 2, "meta")


class Adapter(torch.nn.Sequential):
    """Leaves all but one tensor out of its state dict."""

    def state_dict(self, *args, **options):
        state = super().state_dict(*args, **options)
        return {name: value for name, value in state.items() if name == "0.up.weight"}


def a_state_dict_of_some_tensors():
    return [Adapter(*build(mesh, value)) for mesh, value in ((None, 1), (None, 2))]


def a_compiled_model_of_ddp():
    before = torch.compile(DistributedDataParallel(build(None, 1)), backend="eager")
    return before, build(halves(), 2, "meta")


def ddp_of_a_compiled_model():
    after = torch.compile(build(None, 2), backend="eager")
    return build(halves(), 1), DistributedDataParallel(after)


CASES = {
    a_buffer_under_checkpointing: MOVES,
    a_checkpointed_block_unwrapped: MOVES,
    a_state_dict_of_some_tensors: MOVES,
    a_compiled_model_of_ddp: MOVES,
    ddp_of_a_compiled_model: MOVES,
}


def gathered(model):
    """Whole copies by plain names, without buffers that a new model has of its own."""
    found = jobs.gathered(model)
    for wrapper in ("_orig_mod.", "_checkpoint_wrapped_module.", "module."):
        found = {name.replace(wrapper, ""): value for name, value in found.items()}
    return {name: value for name, value in found.items() if "table" not in name}


def outcome(case):
    """What becomes of a case on this rank."""
    before, after = case()
    whole = gathered(before)
    try:
        etc.torch.move(before, after, timeout=60)
    except ValueError as error:
        kept = not jobs.unequal(whole, gathered(before))
        return f"{error}" if kept else f"changed its state: {error}"
    different = jobs.unequal(whole, gathered(after))
    return f"differs: {different}" if different else MOVES


def outcomes(rank, store, cases):
    jobs.join(rank, store, WORLD)
    return [outcome(case) for case in cases]


class Modules(unittest.TestCase):
    def test_what_they_have(self):
        results = ranks.must(ranks.run(WORLD, outcomes, list(CASES)))
        for rank, found in enumerate(results):
            for case, message in zip(CASES, found):
                with self.subTest(case=case.__name__, rank=rank):
                    self.assertRegex(message, f"^{CASES[case]}$")


if __name__ == "__main__":
    unittest.main()
