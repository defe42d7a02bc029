"""What an optimizer keeps goes where it belongs, or the change is refused in one line on all ranks, before anything
moves."""

import unittest

import etc.torch
import ranks
import torch
import torch_jobs as jobs
from etc.torch import optimizers
from etc.torch.described import Described
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.optim import lr_scheduler as schedulers
from torch_states import MOVES, WORLD, adamw, check, gathered, job, meshes


class Sharpened(torch.optim.Optimizer):
    """As implementations of SAM are."""

    def __init__(self, model):
        super().__init__(model.parameters(), {"lr": 0.05})
        self.base = torch.optim.SGD(self.param_groups, lr=0.05, momentum=0.9)
        self.param_groups = self.base.param_groups

    def step(self, closure=None):
        return self.base.step(closure)


def states_before_the_first_step():
    """Adagrad makes them with the optimizer."""
    (model, _), (other, _) = job()
    return model, (other, torch.optim.Adagrad(other.parameters()))


def an_optimizer_in_another():
    return job(Sharpened)


def an_optimizer_in_another_after():
    return job(lambda model: torch.optim.SGD(model.parameters(), 0.05, 0.9), Sharpened)


def an_optimizer_that_shards_states():
    model = jobs.build(None)
    before = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.05)
    jobs.train(model, before, 0, None)
    other = jobs.build(meshes()[0], "meta")
    return (model, before), (other, adamw(other))


def an_optimizer_that_shards_states_as_its_message_says():
    (model, before), after = an_optimizer_that_shards_states()
    return (model, before.optim), after


def states_of_no_parameter():
    before, after = job()
    before[1].state["global"] = {"seen": torch.ones(3)}
    return before, after


def two(model):
    """Muon takes matrices alone, so trainers have an optimizer for the rest."""
    matrices = [p for p in model.parameters() if p.ndim == 2]
    rest = [p for p in model.parameters() if p.ndim != 2]
    return torch.optim.SGD(matrices, 0.05, 0.9), torch.optim.AdamW(rest, 0.05)


class Both:
    """To train with."""

    def __init__(self, optimizers):
        self.optimizers = optimizers

    def zero_grad(self):
        for each in self.optimizers:
            each.zero_grad()

    def step(self):
        for each in self.optimizers:
            each.step()


def start_two():
    old, new = meshes()
    model, other = jobs.build(old), jobs.build(new, "meta")
    before, after = two(model), two(other)
    for step in range(2):
        jobs.train(model, Both(before), step, old)
    return (model, before), (other, after)


def two_optimizers():
    (model, before), (other, after) = start_two()
    return (model, list(before)), (other, after)


def two_optimizers_one_by_one():
    (model, before), (other, after) = start_two()
    return (model, *before), (other, *after)


def two_optimizers_of_one_parameter():
    (model, (first, second)), after = start_two()
    second.add_param_group({"params": [first.param_groups[0]["params"][0]]})
    return (model, [first, second]), after


def two_optimizers_in_another_order():
    before, (other, after) = start_two()
    return before, (other, after[::-1])


def a_scheduler_in_the_optimizers_place():
    (model, before), (other, after) = job()
    first, second = (schedulers.StepLR(each, 1) for each in (before, after))
    return (model, first, before), (other, second, after)


def names_in_another_order():
    old, new = meshes()
    model, other = jobs.build(old), jobs.build(new, "meta")
    before = torch.optim.AdamW(model.named_parameters())
    after = torch.optim.AdamW(list(other.named_parameters())[::-1])
    jobs.train(model, before, 0, old)
    return (model, before), (other, after)


def implementations_of_its_own():
    return job(
        lambda m: torch.optim.AdamW(m.parameters(), fused=False, foreach=True),
        lambda m: torch.optim.AdamW(m.parameters(), fused=True),
    )


def a_new_optimizer_that_made_a_step(verify=True):
    old, new = meshes()
    before, after = [
        (m, torch.optim.SGD(m.parameters(), 0.05, 0.9))
        for m in map(jobs.build, (old, new))
    ]
    jobs.train(*after, 0, new)
    return before, after, {"verify": verify}


def a_new_optimizer_that_made_a_step_unverified():
    return a_new_optimizer_that_made_a_step(False)


def a_new_optimizer_with_the_same_states():
    before, _ = job()
    new = jobs.build(meshes()[1])
    after = new, adamw(new)
    jobs.train(*after, 0, meshes()[1])
    return before, after


def another_class(kind):
    def make_after(model):
        return kind(model.parameters(), lr=0.05)

    return job(adamw, make_after)


def another_optimizer():
    return another_class(torch.optim.RMSprop)


def another_optimizer_of_the_same_options():
    return another_class(torch.optim.NAdam)


class Clipped(torch.optim.AdamW):
    """Adds something of its own, and nothing to the states."""


def an_optimizer_derived_from_the_one_before():
    return another_class(Clipped)


class Counted(torch.optim.SGD):
    """Counts steps in tensors of one element, as some optimizers do."""

    def step(self, closure=None):
        super().step(closure)
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                state["seen"] = state.get("seen", torch.zeros(1)) + 1


def counted(mesh, device):
    with torch.device(device):
        model = torch.nn.Sequential(torch.nn.Linear(1, 1))
    fully_shard(model, mesh=mesh)
    return model, Counted(model.parameters(), 0.1, 0.9)


def counts_of_a_parameter_of_one_element():
    old, new = meshes()
    before, after = counted(old, "cpu"), counted(new, "meta")
    before[0](torch.ones(1, 1)).sum().backward()
    before[1].step()
    return before, after


FRESH = (
    r"the new optimizer has this state, .* build a fresh one \(.*, after the change\)$"
)


class Shown:
    """As Accelerate's: it shows what an optimizer inside has."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    state = property(lambda self: self.optimizer.state)
    param_groups = property(lambda self: self.optimizer.param_groups)


def an_optimizer_that_shows_another(is_after=True):
    (model, before), (other, after) = job()
    first, second = (schedulers.StepLR(each, 1) for each in (before, after))
    return (model, Shown(before), first), (
        other,
        Shown(after) if is_after else after,
        second,
    )


def an_optimizer_that_showed_another():
    return an_optimizer_that_shows_another(False)


def states_that_are_lists():
    before, after = job()
    for parameter, state in before[1].state.items():
        state["history"] = [torch.zeros_like(parameter)]
    return before, after


CASES = {
    an_optimizer_in_another: r"Sharpened holds SGD, .* its attribute base in its place$",
    an_optimizer_in_another_after: r"Sharpened holds SGD, which has states of its own; ",
    an_optimizer_that_shards_states: r"ZeroRedundancyOptimizer holds AdamW, .* optim in",
    an_optimizer_that_shards_states_as_its_message_says: MOVES,
    states_before_the_first_step: FRESH,
    states_of_no_parameter: r"also of 'global', which is no parameter .*; take it out",
    names_in_another_order: MOVES,
    implementations_of_its_own: MOVES,
    a_new_optimizer_that_made_a_step: FRESH,
    a_new_optimizer_that_made_a_step_unverified: FRESH,
    a_new_optimizer_with_the_same_states: MOVES,
    another_optimizer: r"group 0 is of RMSprop, and was of AdamW, .* of the same class$",
    another_optimizer_of_the_same_options: r"group 0 is of NAdam, and was of AdamW",
    an_optimizer_derived_from_the_one_before: MOVES,
    counts_of_a_parameter_of_one_element: MOVES,
    an_optimizer_that_shows_another: MOVES,
    an_optimizer_that_showed_another: MOVES,
    states_that_are_lists: r"\(history\): the optimizer keeps a list of tensors; .* anew$",
    two_optimizers: MOVES,
    two_optimizers_one_by_one: r"AdamW: is a second optimizer; pass those of one model",
    two_optimizers_of_one_parameter: r"weight: is in two optimizers, .*leave it to one",
    two_optimizers_in_another_order: r"group 0 is of AdamW, and was of SGD",
    a_scheduler_in_the_optimizers_place: r"StepLR: is in the place of the optimizer; ",
}


def deferred(rank, store):
    """Whether two optimizers of a change that `begin` began have all states at the first step of either, and wait
    each."""
    jobs.join(rank, store, WORLD)
    before, after = start_two()
    whole = gathered(before)
    etc.torch.begin(before, after, timeout=60, defer="optimizer")
    try:
        etc.torch.layout(after[0], after[1][1])
    except ValueError as error:
        said = str(error)
    after[1][1].step()
    return said, jobs.unequal(whole, gathered(after))


class States(unittest.TestCase):
    def test_them(self):
        check(self, CASES)

    def test_two_optimizers_wait_for_their_states(self):
        for said, different in ranks.must(ranks.run(WORLD, deferred)):
            self.assertIn("call finish of the last change", said)
            self.assertEqual(different, [])

    def test_steps_are_where_fused_kernels_read_them(self):
        model = torch.nn.Linear(2, 2, device="meta")
        optimizer = torch.optim.AdamW(model.parameters())
        optimizer.param_groups[0]["fused"] = True
        steps = {"weight": {"step": torch.tensor(3.0)}}
        optimizers.finish(model, optimizer, Described(scalars=steps))
        self.assertEqual(optimizer.state[model.weight]["step"].device.type, "meta")


if __name__ == "__main__":
    unittest.main()
