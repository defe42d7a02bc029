"""ETC moves the state of a running training job between hybrid-parallel layouts.

    plan = etc.plan(model="gpt2", prev="PP2", curr="PP4", cluster="1x4")
    state = etc.migrate(plan, state)    # on every participant, between two steps

Planning does not need PyTorch, and loading and executing plans do not need the
planner. See docs/python.md.
"""

from etc._run import version as _version
from etc.describe import Description, describe
from etc.errors import (
    Excluded,
    MigrationError,
    PeerError,
    PlanError,
    UnsatisfiableError,
    UsageError,
    VerificationError,
)
from etc.job import Job
from etc.job_store import JobStore
from etc.migration import Migration
from etc.planner import chain, plan
from etc.plans import Plan, Summary, TensorSpec
from etc.prepare import migrate, prepare
from etc.questions import explain, frontier, price, two_stage, which_nodes
from etc.recover import Recovered, recover
from etc.report import Report
from etc.torch_checkpoint import DistributedCheckpoint

__version__ = _version()

__all__ = [
    "Description",
    "DistributedCheckpoint",
    "Excluded",
    "Job",
    "JobStore",
    "Migration",
    "MigrationError",
    "PeerError",
    "Plan",
    "PlanError",
    "Recovered",
    "Report",
    "Summary",
    "TensorSpec",
    "UnsatisfiableError",
    "UsageError",
    "VerificationError",
    "chain",
    "describe",
    "explain",
    "frontier",
    "migrate",
    "plan",
    "prepare",
    "price",
    "recover",
    "two_stage",
    "which_nodes",
]
