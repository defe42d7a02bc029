"""etc.torch moves a live job of DTensors: FSDP2, and tensor parallelism with it."""

import pickle
import unittest
from unittest import mock

import etc
import etc.torch
import ranks
import torch
import torch.distributed as dist
import torch_jobs as jobs
import torch_ranks
from etc.torch.move import device_of
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict
from torch.distributed.tensor import DTensor, Partial, Shard

STEPS = 3


def change(rank, store, before, after, device):
    """Losses of a job that changes its mesh half-way, what differs at the change, and
    what this rank's part of the move was."""
    jobs.join(rank, store, 4)
    old, new = jobs.make_mesh(*before), jobs.make_mesh(*after)
    is_old, is_new = (mesh.get_coordinate() is not None for mesh in (old, new))
    losses, prev, curr, copy = [], None, None, {}
    if is_old:
        prev = jobs.build(old), None
        prev = prev[0], jobs.make_optimizer(prev[0])
        losses += [jobs.train(*prev, step, old) for step in range(STEPS)]
        prev[1].param_groups[1]["lr"] = 0.01
        copy = jobs.gathered(*prev)
    if is_new:
        model = jobs.build(new, device)
        curr = model, jobs.make_optimizer(model, lr=1.0)
    report = etc.torch.move(prev, curr, timeout=60)
    shared = [copy]
    dist.broadcast_object_list(shared, src=0)
    different = jobs.unequal(shared[0], jobs.gathered(*curr)) if is_new else []
    if is_new:
        curr[1].param_groups[1]["lr"] = 0.05
        losses += [jobs.train(*curr, STEPS + i, new) for i in range(STEPS)]
    report = None if report is None else (report.peak_bytes, report.proved_bytes)
    return losses, different, report


def refused(rank, store, make):
    """The error of a layout of one tensor."""
    jobs.join(rank, store, 4)
    try:
        etc.torch.layout({"layers.0.weight": make()})
    except ValueError as error:
        return str(error)
    return "accepted"


def deferred(rank, store, before, after, leaves):
    """The same with deferred state: the first step of the new mesh computes meanwhile,
    and its optimizer waits by itself."""
    jobs.join(rank, store, 4)
    old, new = jobs.make_mesh(*before), jobs.make_mesh(*after)
    losses = []
    prev = jobs.build(old), None
    prev = prev[0], jobs.make_optimizer(prev[0])
    losses += [jobs.train(*prev, step, old) for step in range(STEPS)]
    copy = jobs.gathered(*prev)
    curr = None
    if new.get_coordinate() is not None:
        model = jobs.build(new, "meta")
        curr = model, jobs.make_optimizer(model, lr=1.0)
    change = etc.torch.begin(prev, curr, timeout=60, defer="optimizer")
    assert change._migration.outcome != "new"
    if curr is None:
        change.finish()
        return losses, []
    if leaves:  # a checkpoint waits, too
        with_reason = ""
        try:
            etc.torch.layout(*curr)
        except ValueError as error:
            with_reason = str(error)
        assert "call finish of the last change" in with_reason, with_reason
        curr[1].state_dict()
        found = jobs.gathered(*curr)
        assert change._migration.outcome == "new"
        return losses, jobs.unequal(copy, found)
    losses += [jobs.train(*curr, STEPS + i, new) for i in range(STEPS)]
    assert change._migration.outcome == "new"
    report = change.finish()  # has been
    return losses, [] if report.peak_bytes <= report.proved_bytes else ["peak"]


def begun(rank, store, **options):
    """(the job before, the job after, its mesh, its tail): SGD with momentum, which PyTorch
    lets start anew where it has no state."""
    jobs.join(rank, store, 4)
    old, new = jobs.make_mesh(*FSDP4), jobs.make_mesh(*FSDP2TP2)
    prev, curr = (momentum(jobs.build(*on)) for on in ((old, jobs.DEVICE), (new, "meta")))
    for step in range(2):
        jobs.train(*prev, step, old)
    options = {"timeout": 60, "mode": "safe", "defer": "optimizer", **options}
    return prev, curr, new, etc.torch.begin(prev, curr, **options)


def momentum(model):
    return model, torch.optim.SGD(model.parameters(), 0.05, 0.9, weight_decay=0.0)


def states(optimizer):
    return [jobs.whole(s["momentum_buffer"]) for s in optimizer.state.values()]


def with_buffers_that_a_pass_writes_to(rank, store):
    """As running means are. They are right, and later, after the first step."""
    prev, curr, new, tail = begun(rank, store)
    whole = jobs.gathered(prev[0])

    def write(module, _):
        module.scale.add_(0.5)

    for block in curr[0].blocks.values():
        block.register_forward_pre_hook(write)
    jobs.train(*curr, 2, new)
    assert tail._migration.outcome == "new"
    now = jobs.gathered(curr[0])
    return [float(now[name] - whole[name]) for name in now if "scale" in name]


def attempt(call, *args):
    try:
        call(*args)
    except (ValueError, etc.MigrationError) as error:
        return f"{type(error).__name__}: {error}"
    return "done"


def with_a_write(rank, store, is_replica):
    """To a parameter in the tail: on all ranks, or to one of its replicas."""
    jobs.join(rank, store, 4)
    old, new = jobs.make_mesh(*FSDP4), jobs.make_mesh(*HSDP2X2)
    prev, curr = (momentum(jobs.build(*on)) for on in ((old, jobs.DEVICE), (new, "meta")))
    jobs.train(*prev, 0, old)
    tail = etc.torch.begin(prev, curr, timeout=60, defer="optimizer")
    if not is_replica or rank == 0:
        curr[0].head.bias.data.to_local().add_(1.0)
    return attempt(curr[1].step), attempt(tail.finish)


def without_its_state(rank, store):
    """What a trainer can still do where the tail has failed; then it loads a checkpoint."""
    prev, curr, new, tail = begun(rank, store, tail_rate=1000.0)
    saved = momentum(jobs.build(new))
    jobs.train(*saved, 0, new)
    dist.barrier()  # others may still be about to learn that the pause is over
    if rank == 3:
        tail._migration.abort()
    said = [attempt(jobs.train, *curr, 2, new) for _ in range(2)]
    said += [attempt(tail.finish), attempt(curr[1].state_dict)]
    said.append(attempt(etc.torch.layout, *curr))
    curr[0].load_state_dict(saved[0].state_dict())
    curr[1].load_state_dict(saved[1].state_dict())
    loaded = jobs.unequal(jobs.gathered(*saved), jobs.gathered(*curr))
    return said, loaded, attempt(jobs.train, *curr, 2, new)


def with_a_checkpoint(rank, store):
    """What differs from it where it is loaded while state is under way."""
    prev, curr, new, tail = begun(rank, store, tail_rate=1000.0)
    wrapped = attempt(etc.torch.layout, torch.nn.Sequential(curr[0]), curr[1])
    assert "call finish of the last change" in wrapped, wrapped
    saved = momentum(jobs.build(new))
    jobs.train(*saved, 0, new)
    curr[1].load_state_dict(saved[1].state_dict())
    curr[0].load_state_dict(saved[0].state_dict())
    tail.finish()
    return jobs.unequal(jobs.gathered(*saved), jobs.gathered(*curr))


def saved_by_pytorch(rank, store):
    """Whether PyTorch's own state dict of an optimizer has what was before."""
    prev, curr, new, tail = begun(rank, store)
    before = states(prev[1])
    get_optimizer_state_dict(*curr)
    return list(map(torch.equal, before, states(curr[1])))


def with_hooks_of_others(rank, store):
    """That come later; FSDP2 registers some in the first forward pass."""
    prev, curr, new, tail = begun(rank, store)
    called = []
    curr[1].register_step_pre_hook(lambda *_: called.append("step"))
    curr[0].register_state_dict_pre_hook(lambda *_: called.append("saved"))
    curr[0](torch.ones(4, jobs.WIDTH)).sum().backward()
    curr[0].state_dict()
    assert tail._migration.outcome == "new"
    curr[1].step()
    return called[0], called[-1], pickle.loads(pickle.dumps(tail._hooks[0])).call


FSDP4 = ([0, 1, 2, 3], "fsdp")
FSDP2TP2 = ([[0, 1], [2, 3]], "fsdp", "tp")
HSDP2X2 = ([[0, 1], [2, 3]], "replicate", "fsdp")


class Moves(unittest.TestCase):
    def check(self, before, after, device="meta"):
        results = ranks.must(ranks.run(4, change, before, after, device))
        expected = jobs.uninterrupted(2 * STEPS)
        for rank, (losses, different, report) in enumerate(results):
            self.assertEqual(different, [], f"rank {rank}")
            if len(losses) == 2 * STEPS:
                for loss, other in zip(losses, expected):
                    self.assertAlmostEqual(loss, other, places=5)
            if report is not None:
                self.assertLessEqual(*report)
        return results

    def test_fsdp_becomes_fsdp_with_tensor_parallelism(self):
        self.check(FSDP4, FSDP2TP2)

    def test_and_back_into_memory_that_is_there(self):
        self.check(FSDP2TP2, FSDP4, jobs.DEVICE)

    def test_ranks_leave(self):
        results = self.check(FSDP4, ([0, 1], "fsdp"))
        self.assertEqual([len(losses) for losses, _, _ in results], [6, 6, 3, 3])

    def test_ranks_join(self):
        results = self.check(([0, 1], "fsdp"), FSDP4)
        self.assertEqual([len(losses) for losses, _, _ in results], [6, 6, 3, 3])


class Deferred(unittest.TestCase):
    def test_the_first_step_waits_for_its_optimizers_state(self):
        expected = jobs.uninterrupted(2 * STEPS)
        for before, after in ((FSDP4, FSDP2TP2), (FSDP2TP2, ([0, 1], "fsdp"))):
            results = ranks.must(ranks.run(4, deferred, before, after, False))
            for losses, wrong in results:
                self.assertEqual(wrong, [])
                for loss, other in zip(losses, expected):
                    self.assertAlmostEqual(loss, other, places=5)
            self.assertEqual(max(len(losses) for losses, _ in results), 2 * STEPS)

    def test_a_state_dict_waits(self):
        results = ranks.must(ranks.run(4, deferred, FSDP4, FSDP2TP2, True))
        self.assertEqual([wrong for _, wrong in results], [[]] * 4)

    def test_a_forward_pass_may_write_to_buffers(self):
        for grown in ranks.must(ranks.run(4, with_buffers_that_a_pass_writes_to)):
            self.assertEqual(grown, [0.5] * 3)

    def test_parameters_may_not_be_written_to(self):
        """Not on one rank either: its replica then differs from others."""
        for is_replica, what in ((False, "is not what it was"), (True, "ranks 0 and 2")):
            for said in ranks.must(ranks.run(4, with_a_write, is_replica)):
                for message in said:
                    self.assertRegex(
                        message, f"^VerificationError: head.bias .*: {what}.*checkpoint$"
                    )

    def test_no_step_without_what_did_not_come(self):
        for said, loaded, then in ranks.must(ranks.run(4, without_its_state)):
            for message in said[:4]:
                self.assertRegex(message, "^PeerError: device 3: the migration was")
            self.assertRegex(said[4], "call finish of the last change")
            self.assertEqual((loaded, then), ([], "done"))

    def test_what_is_loaded_stays(self):
        for different in ranks.must(ranks.run(4, with_a_checkpoint)):
            self.assertEqual(different, [])

    def test_a_state_dict_of_pytorchs(self):
        for same in ranks.must(ranks.run(4, saved_by_pytorch)):
            self.assertEqual(same, [True] * len(same))

    def test_hooks_of_others(self):
        results = ranks.must(ranks.run(4, with_hooks_of_others))
        self.assertEqual(results, [("saved", "step", None)] * 4)

    def test_tensors_that_are_to_be_on_a_gpu(self):
        """Where a process joins, and all that it has is on the meta device."""
        mesh = mock.Mock(device_type="cuda")
        with mock.patch("torch.cuda.current_device", lambda: 3):
            found = device_of([mock.Mock(local=None, mesh=mesh)])
        self.assertEqual(found, torch.device("cuda", 3))


def a_sum():
    mesh = jobs.make_mesh([0, 1, 2, 3], "tp")
    return DTensor.from_local(torch.ones(2, 3), mesh, [Partial()])


def a_permuted_mesh():
    mesh = jobs.make_mesh([0, 2, 1, 3], "fsdp")
    return torch_ranks.distribute(torch.ones(8, 3), mesh, [Shard(0)])


def a_mesh_that_two_ranks_see_in_two_ways():
    ways = [
        jobs.make_mesh(way, "a", "b") for way in ([[0, 1], [2, 3]], [[0, 2], [1, 3]])
    ]
    mesh = ways[dist.get_rank() == 3]
    place = [Shard(0), Shard(1)]
    return torch_ranks.distribute(torch.ones(8, 4), mesh, place)


def a_mesh_whose_rank_list_was_changed():
    ranks = torch.arange(4, dtype=torch.int)  # the mesh refers to it
    mesh = jobs.make_mesh(ranks, "fsdp")
    tensor = torch_ranks.distribute(torch.ones(8, 3), mesh, [Shard(0)])
    ranks[:2] = torch.tensor([1, 0])
    return tensor


def a_shard_of_other_rows():
    mesh = jobs.make_mesh([0, 1, 2, 3], "fsdp")
    local = torch.ones(2 + (dist.get_rank() == 2), 3)
    shape = {"shape": torch.Size((8, 3)), "stride": (3, 1)}
    return DTensor.from_local(local, mesh, [Shard(0)], run_check=False, **shape)


def a_mesh_of_a_job_that_was():
    mesh = jobs.make_mesh([[0, 1], [2, 3]], "fsdp", "tp")
    tensor = torch.ones(8, 3)
    tensor = torch_ranks.distribute(tensor, mesh["fsdp"], [Shard(0)])
    rank, store = dist.get_rank(), dist.distributed_c10d._get_default_store()
    dist.barrier()
    dist.destroy_process_group()
    jobs.join(rank, dist.PrefixStore("again", store), 4)
    return tensor


class Refusals(unittest.TestCase):
    """One line each, on every rank."""

    def check(self, make, pattern):
        for message in ranks.must(ranks.run(4, refused, make)):
            self.assertRegex(message, "^rank [0-3]: layers.0.weight " + pattern + "$")

    def test_a_sum(self):
        self.check(
            a_sum,
            r"\(param\): is P(\(sum\))? on mesh dimension tp, a sum that no rank holds "
            r"yet; redistribute it to Replicate or Shard",
        )

    def test_a_permuted_mesh(self):
        self.check(
            a_permuted_mesh,
            r"\(param\): dimension 'fsdp' of its DeviceMesh lists ranks \[0, 2, 1, 3\], "
            r"its process group \[0, 1, 2, 3\], so that collectives take one rank's "
            r"shard for another's; list ranks in ascending order",
        )

    def test_a_mesh_whose_rank_list_was_changed(self):
        self.check(
            a_mesh_whose_rank_list_was_changed,
            r"\(param\): its DeviceMesh has this rank at \[0\], and lists rank 0 at "
            r"\[1\]: it is of a job with other ranks, or its list was changed; make the "
            r"mesh again, or pass was= if it is the one before",
        )

    def test_a_shard_of_other_rows(self):
        self.check(
            a_shard_of_other_rows,
            r"\(param\): this rank has \[3, 3\] of \[8, 3\], which is not what its "
            r"placements \(S\(0\)\) give; distribute it again",
        )

    def test_a_mesh_of_a_job_that_was(self):
        self.check(
            a_mesh_of_a_job_that_was,
            r"\(param\): a process group of its DeviceMesh is gone; make the mesh "
            r"again after init_process_group, or pass was= if it is the one before",
        )

    def test_a_mesh_that_two_ranks_see_in_two_ways(self):
        results = ranks.must(
            ranks.run(4, refused, a_mesh_that_two_ranks_see_in_two_ways)
        )
        for message in results:
            self.assertRegex(
                message,
                r"^layers.0.weight \(param.fp32\): is on \[\[0, 1\], \[2, 3\]\] as .* for "
                r"rank 0, on \[\[0, 2\], \[1, 3\]\] as .* for rank 3; make it of one "
                r"DeviceMesh on all ranks$",
            )


if __name__ == "__main__":
    unittest.main()
