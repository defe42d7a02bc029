"""Schedulers and other objects go on with the new optimizer, or the change is refused in one line on all ranks, before
anything moves."""

import gc
import math
import unittest
import weakref
from collections import deque
from dataclasses import dataclass

import etc.torch
import ranks
import torch
import torch.distributed as dist
import torch_jobs as jobs
from etc.torch.move import move_and_tell
from torch.optim import lr_scheduler as schedulers
from torch_states import MOVES, WORLD, check, job, meshes


def with_scheduler(make_before, make_after):
    """make_...(an optimizer, or both) makes the objects behind an optimizer."""
    before, after = job(steps=1)
    old = make_before(before[1])
    return (*before, *old), (*after, *make_after(after[1], *old))


def the_same_scheduler():
    return with_scheduler(lambda o: [schedulers.StepLR(o, 1)], lambda _, old: [old])


def a_plateau_left_behind():
    kept.append(job())
    kept.append(schedulers.ReduceLROnPlateau(kept[-1][0][1]))
    return kept[-2]


kept = []


def one_of_two_schedulers():
    def make(optimizer):
        kept.append(schedulers.LinearLR(optimizer))
        return [schedulers.ExponentialLR(optimizer, 0.9)]

    return with_scheduler(make, lambda o, _: [schedulers.ExponentialLR(o, 0.9)])


def a_sequence_of_schedulers():
    def make(optimizer, *_):
        parts = schedulers.LinearLR(optimizer), schedulers.StepLR(optimizer, 2)
        return [schedulers.SequentialLR(optimizer, list(parts), [1])]

    return with_scheduler(make, make)


class Container:
    """Of schedulers, as trainers have one for their optimizers."""

    def __init__(self, kinds):
        self.kinds = kinds

    def state_dict(self):
        return {name: kind.state_dict() for name, kind in self.kinds.items()}

    def load_state_dict(self, state):
        for name, kind in self.kinds.items():
            kind.load_state_dict(state[name])


def a_container_of_schedulers():
    def make(optimizer, *_):
        return [Container({"exponential": schedulers.ExponentialLR(optimizer, 0.9)})]

    return with_scheduler(make, make)


def a_scheduler_without_its_optimizer():
    (model, optimizer), (other, new) = job(steps=1)
    old = schedulers.StepLR(optimizer, 1)
    return (model, None, old), (other, None, schedulers.StepLR(new, 1))


def a_plateau_that_nobody_refers_to():
    def make(optimizer, *_):
        gc.disable()
        dropped = schedulers.ReduceLROnPlateau(optimizer)
        dropped.itself = dropped
        return [schedulers.ReduceLROnPlateau(optimizer)]

    return with_scheduler(make, make)


def a_scheduler_left_behind():
    before, after = job(steps=1)
    kept.append(schedulers.StepLR(before[1], 1))
    return before, after


def a_deleted_scheduler():
    before, after = job(steps=1)
    schedulers.StepLR(before[1], 1)
    return before, after


def a_deleted_scheduler_and_its_mark():
    before, after = a_deleted_scheduler()
    del before[1].step
    return before, after


def a_plateau():
    def make(optimizer, *_):
        return [schedulers.ReduceLROnPlateau(optimizer)]

    return with_scheduler(make, make)


def with_scalers(*enabled):
    first, second = (torch.amp.GradScaler("cpu", enabled=is_on) for is_on in enabled)
    before, after = job()
    return (*before, first), (*after, second)


def a_scaler_enabled_after_alone():
    return with_scalers(False, True)


def a_scaler_enabled():
    return with_scalers(True, True)


class Kept:
    """An object with a state of any kind."""

    def __init__(self, state):
        self.state = state

    def state_dict(self):
        return {"kept": self.state}

    def load_state_dict(self, state):
        self.state = state["kept"]


@dataclass
class Losses:
    last: torch.Tensor


def with_a_state(make):
    before, after = job()
    return (*before, Kept(make())), (*after, Kept(None))


def a_state_that_is_no_number():
    return with_a_state(
        lambda: [math.nan, torch.tensor([math.nan, 1.0]), deque([math.nan])]
    )


def a_queue_of_tensors():
    return with_a_state(lambda: deque([torch.arange(3)], maxlen=4))


def an_object_of_tensors():
    return with_a_state(lambda: Losses(torch.ones(2)))


def an_object_of_tensors_that_differ():
    return with_a_state(lambda: Losses(torch.full((2,), float(dist.get_rank()))))


def a_queue_of_tensors_in_an_optimizer():
    before, after = job()
    for state in before[1].state.values():
        state["losses"] = deque([torch.ones(2)])
    return before, after


CASES = {
    a_state_that_is_no_number: MOVES,
    a_queue_of_tensors: MOVES,
    an_object_of_tensors: MOVES,
    an_object_of_tensors_that_differ: r"Kept: its state differs between ranks 0 and 1; ",
    a_queue_of_tensors_in_an_optimizer: r"\(losses\): the optimizer keeps a deque of tensors",
    a_scaler_enabled_after_alone: r"GradScaler has a state after and none before, .* alike",
    a_scaler_enabled: MOVES,
    the_same_scheduler: r"StepLR: is one of another optimizer than the new one, ",
    a_plateau_left_behind: r"a ReduceLROnPlateau sets its learning rate, .* both sides",
    one_of_two_schedulers: r"a LinearLR sets its learning rate, .* both sides, .*"
    r"or del one that is done$",
    a_scheduler_left_behind: r"a StepLR sets its learning rate, .* done, and its mark",
    a_deleted_scheduler: r"a scheduler sets its learning .* mark: del optimizer\.step$",
    a_deleted_scheduler_and_its_mark: MOVES,
    a_sequence_of_schedulers: MOVES,
    a_plateau: MOVES,
    a_container_of_schedulers: MOVES,
    a_scheduler_without_its_optimizer: MOVES,
    a_plateau_that_nobody_refers_to: MOVES,
}


def a_layout_of_some_steps_ago(rank, store):
    """What differs after it moves a job that has trained on."""
    jobs.join(rank, store, WORLD)
    (model, optimizer), after = job(steps=1)
    before = etc.torch.layout(model, optimizer)
    later = etc.torch.layout(*after, like=before)
    etc.torch.plan(before, later)
    for step in range(1, 4):
        jobs.train(model, optimizer, step, meshes()[0])
    optimizer.param_groups[0]["lr"] = 0.002
    whole = jobs.gathered(model, optimizer)
    etc.torch.move(before, later, timeout=60)
    return jobs.unequal(whole, jobs.gathered(*after))


def a_layout_of_before_the_first_step(rank, store, begin):
    jobs.join(rank, store, WORLD)
    (model, optimizer), after = job(steps=0)
    before = etc.torch.layout(model, optimizer)
    later = etc.torch.layout(*after, like=before)
    jobs.train(model, optimizer, 0, meshes()[0])
    try:
        (etc.torch.begin if begin else etc.torch.move)(before, later, timeout=60)
    except ValueError as error:
        return str(error)


class Failing:
    """On some ranks."""

    def __init__(self, on):
        self.fails = dist.get_rank() in on

    def state_dict(self):
        return {}

    def load_state_dict(self, _):
        if self.fails:
            raise RuntimeError("no state was expected")


def an_error_after_all_has_moved(rank, store, on):
    """What this rank holds then, as the error says."""
    jobs.join(rank, store, WORLD)
    before, after = job()
    try:
        etc.torch.move((*before, Failing(on)), (*after, Failing(on)), timeout=60)
    except (RuntimeError, ValueError) as error:
        return str(error), error.migration.outcome


def an_error_in_a_world(rank, store):
    """Where a process is told as soon as it has its state, others end with its groups."""
    jobs.join(rank, store, WORLD)
    before, after = job()
    told = []
    try:
        move_and_tell(
            (*before, Failing([1])),
            (*after, Failing([1])),
            lambda: told.append("new"),
            timeout=60,
        )
    except Exception as error:
        dist.destroy_process_group()
        return isinstance(error, RuntimeError), str(error), told


def what_an_error_keeps(rank, store):
    """Of what was passed, when it is over; PyTorch's own objects wait for gc anyway."""
    jobs.join(rank, store, WORLD)
    before, after = job()
    after = (*after, Failing([0, 1]))
    new = weakref.ref(after[-1])
    gc.disable()
    try:
        etc.torch.move((*before, Failing([0, 1])), after)
    except RuntimeError:
        del before, after
    return new() is not None


class Errors(unittest.TestCase):
    def test_they_keep_no_tensors(self):
        results = ranks.must(ranks.run(WORLD, what_an_error_keeps))
        self.assertEqual(results, [False] * WORLD)

    def test_others_of_a_world_end_with_its_groups(self):
        """A RuntimeError is what a World survives."""
        results = ranks.must(ranks.run(WORLD, an_error_in_a_world, timeout=60))
        (is_survived, said, told), own = results
        self.assertEqual(own, (True, "no state was expected", []))
        self.assertTrue(is_survived, said)
        self.assertEqual(told, ["new"])

    def test_they_say_what_a_rank_holds(self):
        results = ranks.run(WORLD, an_error_after_all_has_moved, range(WORLD))
        expected = [("no state was expected", "new")] * WORLD
        self.assertEqual(ranks.must(results), expected)

    def test_others_hear_of_them(self):
        """At once, and not when they time out."""
        results = ranks.run(WORLD, an_error_after_all_has_moved, [1], timeout=60)
        (said, outcome), own = ranks.must(results)
        self.assertEqual(own, ("no state was expected", "new"))
        self.assertEqual(outcome, "new")
        self.assertRegex(
            said, "^rank 1: RuntimeError while .*: no state was expected; "
        )


class Layouts(unittest.TestCase):
    def test_scalars_are_those_of_now(self):
        for different in ranks.must(ranks.run(WORLD, a_layout_of_some_steps_ago)):
            self.assertEqual(different, [])

    def test_tensors_are_those_of_then(self):
        for begin in (False, True):
            results = ranks.run(WORLD, a_layout_of_before_the_first_step, begin)
            for said in ranks.must(results):
                self.assertRegex(
                    said, r"\(exp_avg\): was not there when the layout was"
                )


class Carried(unittest.TestCase):
    def test_them(self):
        check(self, CASES)


if __name__ == "__main__":
    unittest.main()
