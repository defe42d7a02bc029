"""What modules have besides plain parameters moves with them, or is refused before anything moves."""

import unittest

import etc.torch
import ranks
import torch
import torch.distributed as dist
import torch_jobs as jobs
import torch_ranks
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    checkpoint_wrapper,
)
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
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


def with_rotary(mesh, value, device, *, is_sharded=False):
    """A buffer that is not persistent, on the mesh."""
    model = build(mesh, value, device)
    placements = [Replicate()] * (mesh.ndim - 1) + [
        Shard(0) if is_sharded else Replicate()
    ]
    whole = torch.full((4,), float(value), device=device)
    rotary = torch_ranks.distribute(whole, mesh, placements)
    model.register_buffer("rotary", rotary, persistent=False)
    return model


def a_buffer_on_a_mesh():
    before, after = with_rotary(halves(), 1, "cpu"), with_rotary(copies(), 2, "meta")
    a_buffer_on_a_mesh.check = lambda: after.rotary.device_mesh.ndim == 2
    return before, after


def a_sharded_buffer():
    before = with_rotary(halves(), 1, "cpu", is_sharded=True)
    return before, with_rotary(copies(), 2, "meta")


def a_buffer_of_another_shape_on_one_rank():
    before, after = build(None, 1), build(None, 2, "meta")
    if dist.get_rank() == 1:
        after[0].table = torch.zeros(3, device="meta")
    return before, after


class Told:
    """What follows the optimizer, with a state."""

    def __init__(self, state):
        self.state = state

    def state_dict(self):
        return self.state

    def load_state_dict(self, state):
        self.state = state


def a_state_that_one_rank_cannot_tell():
    state = (lambda: 0) if dist.get_rank() == 1 else 0
    before = build(None, 1), None, Told(state)
    return before, (build(None, 2, "meta"), None, Told(0))


class Scaled(torch.nn.Linear):
    """Keeps a number that no tensor has."""

    def __init__(self, scale):
        super().__init__(4, 4)
        self.scale = scale

    def get_extra_state(self):
        return {"scale": self.scale, "seen": torch.full((2,), self.scale)}

    def set_extra_state(self, state):
        self.scale = state["scale"] * float(state["seen"].mean() == state["scale"])


def scaled(scale, device="cpu", wrap=lambda block: block):
    with torch.device(device):
        return fully_shard(wrap(Scaled(scale)), mesh=halves())


def an_extra_state():
    before, after = scaled(5.0, wrap=checkpoint_wrapper), scaled(1.0, "meta")
    an_extra_state.check = lambda: after.scale == 5.0
    return before, after


def an_extra_state_of_its_own():
    return scaled(5.0 + dist.get_rank()), scaled(1.0, "meta")


def an_extra_state_left_behind():
    after = fully_shard(torch.nn.Linear(4, 4, device="meta"), mesh=halves())
    return scaled(5.0), after


def with_scalar(model, scalar=None):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if scalar is not None:
        optimizer.state[model[1].bias]["trust"] = scalar
    return model, optimizer


def a_scalar_on_a_mesh():
    trust = torch_ranks.distribute(torch.tensor(2.0), halves(), [Replicate()])
    before = with_scalar(build(halves(), 1), trust)
    return before, with_scalar(build(copies(), 2, "meta"))


CASES = {
    a_buffer_under_checkpointing: MOVES,
    a_checkpointed_block_unwrapped: MOVES,
    a_state_dict_of_some_tensors: MOVES,
    a_compiled_model_of_ddp: MOVES,
    ddp_of_a_compiled_model: MOVES,
    a_buffer_on_a_mesh: MOVES,
    a_sharded_buffer: r"rank 0: rotary: is sharded over a DeviceMesh, and not "
    r"persistent; make it persistent, or build it with memory",
    a_buffer_of_another_shape_on_one_rank: r"rank 1: 0\.table: is \[3\] of torch.float32 "
    r"and was \[2\] of torch.float32; this buffer is not persistent, so build it with "
    r"memory",
    a_state_that_one_rank_cannot_tell: r"rank 1: Told: its state can't be sent to other "
    r"ranks \(.*lambda.*\); carry it over yourself",
    a_scalar_on_a_mesh: r"rank 0: 1\.bias \(trust\): is a scalar on a DeviceMesh; let the "
    r"optimizer keep a plain tensor \(full_tensor\(\)\)",
    an_extra_state: MOVES,
    an_extra_state_of_its_own: r"_extra_state: differs between ranks 0 and 1; make it "
    r"equal",
    an_extra_state_left_behind: r"_extra_state: a module has it before and none after; "
    r"give both models a get_extra_state and a set_extra_state there",
}


def gathered(model, *_):
    """Whole copies by plain names, without buffers that a new model has of its own."""
    found = jobs.gathered(model)
    for wrapper in ("_orig_mod.", "_checkpoint_wrapped_module.", "module."):
        found = {name.replace(wrapper, ""): value for name, value in found.items()}
    return {name: value for name, value in found.items() if "table" not in name}


def outcome(case):
    """What becomes of a case on this rank."""
    before, after = case()
    sides = [side if isinstance(side, tuple) else (side,) for side in (before, after)]
    whole = gathered(*sides[0])
    try:
        etc.torch.move(before, after, timeout=60)
    except ValueError as error:
        kept = not jobs.unequal(whole, gathered(*sides[0]))
        return f"{error}" if kept else f"changed its state: {error}"
    different = jobs.unequal(whole, gathered(*sides[1]))
    if not getattr(case, "check", lambda: True)():
        different.append("what the case checks")
    return f"differs: {different}" if different else MOVES


def outcomes(rank, store, cases):
    jobs.join(rank, store, WORLD)
    return [outcome(case) for case in cases]


def used_again(rank, store, is_deferred):
    """What the uses of a model say whose state has moved; of one that gets it back, too."""
    jobs.join(rank, store, WORLD)
    before, after = build(halves(), 1), build(copies(), 2, "meta")
    if is_deferred:
        tail = etc.torch.begin(before, after, timeout=60)
    else:
        etc.torch.move(before, after, timeout=60)
    batch = torch.ones(2, 4)
    uses = [lambda: before(batch), lambda: before[0](batch), before.state_dict]
    said = [attempt(use) for use in uses]
    if is_deferred:
        tail.finish()
    before.to_empty(device="cpu").load_state_dict(build(halves(), 1).state_dict())
    return said, [attempt(use) for use in uses], attempt(lambda: after(batch))


def without_memory(rank, store):
    """A model on the meta device, on one rank, as the one before."""
    jobs.join(rank, store, WORLD)
    before, after = build(None, 1, "meta" if rank == 1 else "cpu"), build(None, 2)
    try:
        etc.torch.move(before, after, timeout=60)
    except ValueError as error:
        return str(error)
    return "moved"


def attempt(use):
    try:
        use()
    except RuntimeError as error:
        return str(error)
    return "done"


class Modules(unittest.TestCase):
    def test_what_they_have(self):
        results = ranks.must(ranks.run(WORLD, outcomes, list(CASES)))
        for rank, found in enumerate(results):
            for case, message in zip(CASES, found):
                with self.subTest(case=case.__name__, rank=rank):
                    self.assertRegex(message, f"^{CASES[case]}$")

    def test_a_model_whose_state_has_moved(self):
        moved = "its parameters have moved to another model by etc.torch; use that one"
        kinds = ("Sequential", "Block", "Sequential")
        refused = [f"FSDP{kind}: {moved}" for kind in kinds]
        for is_deferred in (False, True):
            for found in ranks.must(ranks.run(WORLD, used_again, is_deferred)):
                self.assertEqual(found, (refused, ["done"] * 3, "done"))

    def test_a_model_without_memory(self):
        for said in ranks.must(ranks.run(WORLD, without_memory)):
            self.assertRegex(
                said,
                r"^rank 1: 0\.up\.weight \(param\): has no memory to be moved from, as it "
                r"is on the meta device; pass the model that trains$",
            )


if __name__ == "__main__":
    unittest.main()
