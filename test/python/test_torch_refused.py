"""What a trainer's author can get wrong is refused before anything moves, or found by the
comparison after it, or does no harm: no job trains on with other parameters."""

import unittest

import etc.torch
import ranks
import torch
import torch.distributed as dist
import torch_jobs as jobs
from torch.distributed.device_mesh import DeviceMesh

WORLD = 4
FLAT, SQUARE = [0, 1, 2, 3], [[0, 1], [2, 3]]
MOVES = "moves every tensor"


def start(mesh):
    """A job that has trained a step."""
    model = jobs.build(mesh)
    optimizer = jobs.make_optimizer(model)
    jobs.train(model, optimizer, 0, mesh)
    return model, optimizer


def target(mesh, device="meta"):
    model = jobs.build(mesh, device)
    return model, jobs.make_optimizer(model)


def onto(ranks, *names):
    """A target on a mesh, from a job under FSDP."""
    mesh = jobs.make_mesh(FLAT, "fsdp")
    return start(mesh), target(jobs.make_mesh(ranks, *names)), {}


def a_permuted_mesh():
    return onto([0, 2, 1, 3], "fsdp")


def swapped_dimensions():
    return onto(SQUARE, "tp", "fsdp")


def a_transposed_mesh():
    return onto([[0, 2], [1, 3]], "fsdp", "tp")


def dimensions_that_one_rank_swaps():
    meshes = [jobs.make_mesh(SQUARE, *n) for n in (("fsdp", "tp"), ("tp", "fsdp"))]
    before = start(jobs.make_mesh(FLAT, "fsdp"))
    return before, target(meshes[dist.get_rank() == 3]), {}


def dimensions_of_hsdp_swapped():
    before = start(jobs.make_mesh(SQUARE, "replicate", "fsdp"))
    return before, target(jobs.make_mesh(SQUARE, "fsdp", "replicate")), {}


def groups_of_wrong_members():
    lines = [[0, 1], [2, 3]], [[0, 2], [1, 3]]
    groups = [[dist.new_group(line) for line in way] for way in lines]
    rows, columns = (
        next(g for g in made if g is not dist.GroupMember.NON_GROUP_MEMBER)
        for made in groups
    )
    names = ("fsdp", "tp")  # rows of ranks are "tp", as the list has it
    mesh = DeviceMesh.from_group(
        [rows, columns], "cpu", mesh=torch.tensor(SQUARE), mesh_dim_names=names
    )
    return start(jobs.make_mesh(FLAT, "fsdp")), target(mesh), {}


def another_cluster_on_one_rank():
    before, after, _ = onto(SQUARE, "fsdp", "tp")
    return before, after, {"cluster": "1x4" if dist.get_rank() == 3 else "2x2"}


def swap_parts(model):
    first, second = (model.blocks[str(i)].down.weight for i in (0, 1))
    parts = second._local_tensor, first._local_tensor
    first._local_tensor, second._local_tensor = parts


class Swap:
    """Swaps parts of a model on one rank when its state is loaded."""

    def __init__(self, model):
        self.model = model

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        if dist.get_rank() == 2:
            swap_parts(self.model)


def layers_that_swap_parts():
    """Behind the back of what fills them."""
    before = start(jobs.make_mesh(SQUARE, "fsdp", "tp"))
    after = target(jobs.make_mesh(FLAT, "fsdp"))
    return (*before, Swap(before[0])), (*after, Swap(after[0])), {}


def layers_swapped_in_a_replica():
    before = start(jobs.make_mesh(SQUARE, "replicate", "fsdp"))
    if dist.get_rank() == 2:
        swap_parts(before[0])
    return before, target(jobs.make_mesh(FLAT, "fsdp")), {}


def an_optimizer_of_another_order():
    before = start(jobs.make_mesh(FLAT, "fsdp"))
    model = jobs.build(jobs.make_mesh(SQUARE, "fsdp", "tp"), "meta")
    optimizer = jobs.make_optimizer(model)
    for group in optimizer.param_groups:
        group["params"].reverse()
    return before, (model, optimizer), {}


def an_optimizer_of_other_groups():
    before = start(jobs.make_mesh(FLAT, "fsdp"))
    model = jobs.build(jobs.make_mesh(SQUARE, "fsdp", "tp"), "meta")
    return before, (model, torch.optim.AdamW(model.parameters())), {}


def parameters_that_are_whole():
    """FSDP2 leaves those of the root so after a forward pass alone."""
    before, after, _ = onto(SQUARE, "fsdp", "tp")
    again.whole = jobs.gathered(*before)
    with torch.no_grad():
        before[0](torch.ones(2, jobs.WIDTH))
    return before, after, {}


def a_skipped_step():
    before, after, _ = onto(SQUARE, "fsdp", "tp")
    if dist.get_rank() == 2:
        for state in before[1].state.values():
            state["step"] -= 1
    return before, after, {}


def a_replica_without_the_last_step():
    before = start(jobs.make_mesh(SQUARE, "replicate", "fsdp"))
    if dist.get_rank() == 2:
        with torch.no_grad():
            before[0].head.bias._local_tensor.add_(1e-6)
    return before, target(jobs.make_mesh(FLAT, "fsdp")), {}


def a_learning_rate_of_its_own():
    before, after, _ = onto(SQUARE, "fsdp", "tp")
    before[1].param_groups[0]["lr"] *= 1 + (dist.get_rank() == 1)
    return before, after, {}


def tied(mesh, device, ties):
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(3)
    with torch.device(device):
        model = torch.nn.Sequential(torch.nn.Embedding(10, 6), torch.nn.Linear(6, 10))
    if ties:
        model[1].weight = model[0].weight
    return fully_shard(model, mesh=mesh)


def tie(before, after):
    mesh = jobs.make_mesh(FLAT, "fsdp")
    new = jobs.make_mesh([0, 1], "fsdp")
    after = tied(new, "meta", after) if dist.get_rank() < 2 else None
    return tied(mesh, "cpu", before), after, {}


def a_tied_weight_untied():
    return tie(True, False)


def a_weight_tied():
    return tie(False, True)


def a_tied_weight():
    return tie(True, True)


def with_tables(model, device, *, is_kept):
    """Buffers that the state dict leaves out, or has, of dtypes that no plan has."""
    mask = torch.ones(4, 4, dtype=torch.bool, device=device).tril()
    model.register_buffer("mask", mask, persistent=is_kept)
    table = torch.arange(5, dtype=torch.int32, device=device)
    model.register_buffer("table", table, persistent=False)
    return model


def ranks_that_join_and_need_tables(is_kept=False):
    old, new = jobs.make_mesh([0, 1], "fsdp"), jobs.make_mesh(FLAT, "fsdp")
    before = None
    if dist.get_rank() < 2:
        before = with_tables(jobs.build(old), "cpu", is_kept=is_kept)
    return before, with_tables(jobs.build(new, "meta"), "meta", is_kept=is_kept), {}


def a_mask_in_the_state_dict():
    return ranks_that_join_and_need_tables(True)


def a_table_that_no_rank_had():
    before, after, _ = onto(SQUARE, "fsdp", "tp")
    with_tables(after[0], "meta", is_kept=False)
    return before, after, {}


def a_scheduler_left_behind():
    before, after, _ = onto(SQUARE, "fsdp", "tp")
    torch.optim.lr_scheduler.StepLR(before[1], 1)
    return before, after, {}


def again(new_rank, *, on_new_mesh=True, was=None):
    """The default group is made anew in an order of ranks; the model is of the old."""
    before = start(jobs.make_mesh(FLAT, "fsdp"))
    again.whole = jobs.gathered(*before)
    after = None
    if not on_new_mesh:
        after = target(jobs.make_mesh(SQUARE, "fsdp", "tp"))
    old, store = dist.get_rank(), dist.distributed_c10d._get_default_store()
    dist.barrier()
    dist.destroy_process_group()
    jobs.join(new_rank(old), dist.PrefixStore("again", store), WORLD)
    if on_new_mesh:
        after = target(jobs.make_mesh(SQUARE, "fsdp", "tp"))
    return before, after, {} if was is None else {"was": was(old)}


def reverse(rank):
    return WORLD - 1 - rank


def a_stale_mesh():
    return again(lambda rank: rank, on_new_mesh=False, was=lambda rank: rank)


def a_default_group_in_another_order():
    return again(reverse)


def a_rank_that_was_another():
    return again(reverse, was=lambda rank: rank ^ 1)


def two_ranks_that_were_one():
    return again(reverse, was=lambda rank: 0)


def a_default_group_in_another_order_that_says_so():
    return again(reverse, was=lambda rank: rank)


MESH = r"of its DeviceMesh lists ranks .*, its process group .*list ranks in ascending"
CASES = {
    a_permuted_mesh: MESH,
    swapped_dimensions: MOVES,
    a_transposed_mesh: MOVES,
    dimensions_that_one_rank_swaps: r"make it of one DeviceMesh on all ranks",
    dimensions_of_hsdp_swapped: MOVES,
    groups_of_wrong_members: MESH + r"|placements \(S\(0\)\) give; distribute it again",
    another_cluster_on_one_rank: r"^cluster: is .1x4. on rank 3, .2x2. on rank 0; pass",
    layers_that_swap_parts: r"blocks\.[01]\.down\.weight .*: is not what it was before "
    r"the change, and 1 more",
    layers_swapped_in_a_replica: r"blocks\.[01]\.down\.weight .*: ranks 0 and 2 have "
    r"replicas that differ",
    an_optimizer_of_another_order: MOVES,
    an_optimizer_of_other_groups: r"has 1 groups of parameters, the one before has 2",
    parameters_that_are_whole: MOVES,
    a_skipped_step: r"\(step\): is 0\.0 on rank 2, 1\.0 on another rank",
    a_replica_without_the_last_step: r"head\.bias .*: ranks 0 and 2 have replicas that",
    a_learning_rate_of_its_own: r"lr of group 0 is 0\.1 on rank 1, 0\.05 on rank 0",
    a_tied_weight_untied: r"1\.weight",
    a_weight_tied: r"1\.weight",
    a_tied_weight: MOVES,
    ranks_that_join_and_need_tables: MOVES,
    a_mask_in_the_state_dict: MOVES,
    a_table_that_no_rank_had: r"mask: is a buffer on the meta device that is not",
    a_scheduler_left_behind: r"a scheduler sets its learning rate, .* pass it on both",
    a_stale_mesh: r"a process group of its DeviceMesh is gone|this rank at",
    a_default_group_in_another_order: r"this rank at \[.\], and lists rank|is gone",
    a_rank_that_was_another: r"this rank at \[.\], and lists rank",
    two_ranks_that_were_one: r"this rank at|both say that they were rank 0",
    a_default_group_in_another_order_that_says_so: MOVES,
}


if torch.__version__ < (2, 9):  # refuses itself a "tp" that is not innermost
    del CASES[swapped_dimensions], CASES[dimensions_that_one_rank_swaps]


def has_gathered(case):
    """While its parameters could be."""
    return "again" in case.__code__.co_names


def outcome(case):
    """What becomes of a case on this rank."""
    before, after, options = case()
    sides = before[:2] if isinstance(before, tuple) else (before,)
    copy = jobs.local_parts(*sides)
    whole = again.whole if has_gathered(case) else jobs.gathered(*sides)
    shared = [whole]
    dist.broadcast_object_list(shared, src=0)
    whole = shared[0]
    try:
        etc.torch.move(before, after, timeout=60, **options)
    except (ValueError, etc.MigrationError, etc.PlanError, etc.UsageError) as error:
        is_after = isinstance(error, etc.VerificationError)
        kept = is_after or not jobs.unequal(copy, jobs.local_parts(*sides))
        return f"{error}" if kept else f"changed its state: {error}"
    if after is None:
        return MOVES
    sides = after[:2] if isinstance(after, tuple) else (after,)
    different = jobs.unequal(whole, jobs.gathered(*sides))
    return f"differs: {different}" if different else MOVES


def outcomes(rank, store, cases):
    jobs.join(rank, store, WORLD)
    return [outcome(case) for case in cases]


def is_alone(case):
    """PyTorch keeps meshes, and those of these cases would be found by others."""
    return has_gathered(case) or case in (
        groups_of_wrong_members,
        dimensions_that_one_rank_swaps,
    )


class Refused(unittest.TestCase):
    def check(self, cases):
        results = ranks.must(ranks.run(WORLD, outcomes, cases, timeout=600))
        for rank, found in enumerate(results):
            for case, message in zip(cases, found):
                with self.subTest(case=case.__name__, rank=rank):
                    self.assertRegex(message, CASES[case])
                    self.assertNotRegex(message, "^(differs|changed)")

    def test_mistakes(self):
        self.check([case for case in CASES if not is_alone(case)])

    def test_groups_and_ranks_of_another_job(self):
        for case in filter(is_alone, CASES):
            self.check([case])


if __name__ == "__main__":
    unittest.main()
