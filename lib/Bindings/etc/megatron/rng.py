"""Random number generators, which belong to roles and move with them.

A role is a stage and a tensor rank, with experts also an expert rank, and with
data_parallel_random_init also a replica: Megatron seeds by these. A role that did not
exist before must be seeded by the trainer, because the state of another role would
repeat its numbers.
"""

from __future__ import annotations

import pickle
import random
from typing import Any, Mapping, Optional

import torch

from etc.megatron.grid import dense
from etc.roles import Role

Roles = dict[int, Role]


def roles_of(placement: list[int], layout: Mapping[str, Any]) -> Roles:
    """{rank: role} of a configuration, with "ep" as well as "tp", "cp", "dp", "pp"."""
    roles: Roles = {}
    for rank in range(len(placement)):
        role: Role = {}
        rest = rank
        for name in dense(layout["order"]):
            role[name] = rest % layout[name]
            rest //= layout[name]
        # Experts have a separate grid, in which their tensor ranks vary fastest.
        role["ep"] = rank // layout.get("etp", layout["tp"]) % layout.get("ep", 1)
        roles[rank] = role
    return roles


def source_of(role: Role, prev: Roles, by_replica: bool) -> Optional[int]:
    """The previous rank whose generator states `role` takes over, or None.

    `by_replica`: replicas are seeded separately (Megatron's data_parallel_random_init).
    """
    names = ("pp", "tp", "ep", "dp") if by_replica else ("pp", "tp", "ep")
    same = [
        rank
        for rank, other in prev.items()
        if all(other[name] == role[name] for name in names)
    ]
    for rank in same:
        if all(prev[rank][name] == role[name] for name in ("dp", "cp")):
            return rank
    return min(same) if same else None


def label(role: Role, layout: Mapping[str, Any], by_replica: bool) -> str:
    """ "P0T1", with experts "P0T1E0", with a seed for each replica "P0T1D2"."""
    expert = f"E{role['ep']}" if layout.get("ep", 1) > 1 else ""
    replica = f"D{role['dp']}" if by_replica else ""
    return f"P{role['pp']}T{role['tp']}{expert}{replica}"


def unseeded_roles(
    prev: Roles, curr: Roles, layout: Mapping[str, Any], by_replica: bool
) -> list[str]:
    """The labels of the roles of `curr`, a configuration of `layout`, that had no
    generators before."""
    new = [r for r in curr.values() if source_of(r, prev, by_replica) is None]
    return sorted({label(role, layout, by_replica) for role in new})


def tracker() -> Any:
    """Megatron-Core's."""
    from megatron.core.tensor_parallel.random import get_cuda_rng_tracker

    return get_cuda_rng_tracker()


def check_tracker() -> None:
    """Raises ValueError if states are not tensors."""
    for name, state in tracker().get_states().items():
        if not isinstance(state, torch.Tensor):
            raise ValueError(
                f"RNG tracker: {name} is a {type(state).__name__}, which other "
                f"processes can't take over; train without use_cudagraphable_rng"
            )


def capture() -> bytes:
    """The states of this process's generators: Python, NumPy, PyTorch, the tracker."""
    states: dict[str, Any] = {
        "python": random.getstate(),
        "torch": torch.get_rng_state(),
        "tracker": {name: s.cpu() for name, s in tracker().get_states().items()},
    }
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state()
    try:
        import numpy
    except ImportError:
        pass
    else:
        states["numpy"] = numpy.random.get_state()
    return pickle.dumps(states)


def restore(data: bytes) -> None:
    """Restores the generator states of a role."""
    states = pickle.loads(data)
    random.setstate(states["python"])
    torch.set_rng_state(states["torch"])
    if "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"])
    if "numpy" in states:
        import numpy

        numpy.random.set_state(states["numpy"])
    tracker().reset()
    tracker().set_states(states["tracker"])


def forget() -> None:
    """Empties the tracker, so that drawing in a role that is not seeded fails."""
    tracker().reset()


def scratch() -> None:
    """Seeds the tracker for building modules, whose initial values are overwritten."""
    from megatron.core.tensor_parallel import model_parallel_cuda_manual_seed

    if torch.cuda.is_available():
        model_parallel_cuda_manual_seed(1)
