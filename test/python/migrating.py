"""The request that tests of migrations plan, and one rank's part in it."""

import etc
import ranks

HOST = "127.0.0.1"
REQUEST = {"model": ranks.MODEL, "prev": "PP2TP2", "curr": "PP4DP2", "cluster": "2x4"}


def prepare(rank, store, plan, state, **options):
    count = len(plan.participants)
    options = {"host": HOST, "timeout": 60, **options}
    return etc.prepare(plan, state, store=store, rank=rank, world_size=count, **options)


def migrate_slice(rank, store, plan):
    """The same of a rank that was handed its slice, and the whole plan to rank 2."""
    return migrate(rank, store, plan if rank == 2 else plan.slice(rank))


def migrate(rank, store, plan, mode="eager", **options):
    """One migration of this rank's state; (what is wrong, report)."""
    device = plan.participants[rank]
    state = ranks.make(plan.prev_tensors(device))
    migration = prepare(rank, store, plan, state, mode=mode, **options)
    new = migration.run()
    wrong = ranks.differences(new, ranks.make(plan.curr_tensors(device)))
    return wrong, migration.report
