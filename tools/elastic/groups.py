"""The processes of one configuration, and the groups that they form.

torch.distributed's default group can't grow, so none is made. Every configuration has
groups of its own, built over a store that a launcher serves; they come up while those
of the configuration before are still in use.
"""

from __future__ import annotations

import datetime
from typing import List, Optional

import torch
import torch.distributed as dist

from .config import Parallel, Role


class Group:
    """Some processes that talk to one another; `peers` are ranks of the world."""

    def __init__(self, store, name: str, peers: List[int], rank: int, timeout: float,
                 memory: torch.device):
        self.peers, self.rank = peers, peers.index(rank)
        store = dist.PrefixStore(f"{name}{peers[0]}", store)
        limit = datetime.timedelta(seconds=timeout)
        if memory.type == "cuda":
            options = dist.ProcessGroupNCCL.Options()
            options._timeout = limit
            self.backend = dist.ProcessGroupNCCL(store, self.rank, len(peers), options)
        else:
            self.backend = dist.ProcessGroupGloo(store, self.rank, len(peers), limit)

    def all_reduce(self, tensor: torch.Tensor, op=dist.ReduceOp.SUM) -> torch.Tensor:
        """In place."""
        options = dist.AllreduceOptions()
        options.reduceOp = op
        self.backend.allreduce([tensor], options).wait()
        return tensor

    def send(self, tensor: torch.Tensor, to: int, tag: int):
        """`to` is a rank of the group; what comes back is to be waited for."""
        return self.backend.send([tensor], to, tag)

    def recv(self, tensor: torch.Tensor, source: int, tag: int) -> torch.Tensor:
        self.backend.recv([tensor], source, tag).wait()
        return tensor

    def barrier(self) -> None:
        self.backend.barrier().wait()


class Place:
    """Where this process stands in a configuration: its role and its groups.

    Rank r of the configuration runs on device devices[r]. Groups of one process are
    None. `memory` is where tensors are: with "cuda" groups use NCCL, else Gloo.
    """

    world: Optional[Group] = None
    tensor: Optional[Group] = None
    pipeline: Optional[Group] = None
    data: Optional[Group] = None

    def __init__(self, parallel: Parallel, devices: List[int], device: int, store,
                 timeout: float, memory: torch.device = torch.device("cpu")):
        self.parallel, self.devices, self.memory = parallel, devices, memory
        self.rank = devices.index(device)
        self.role = role = parallel.role(self.rank)

        def group(name: str, roles: List[Role]) -> Optional[Group]:
            peers = [parallel.rank(other) for other in roles]
            if len(peers) == 1:
                return None
            return Group(store, name, peers, self.rank, timeout, memory)

        p, t, d = role.pipeline, role.tensor, role.data
        self.world = group("world", [parallel.role(r) for r in range(parallel.size)])
        self.tensor = group("tensor", [Role(p, i, d) for i in range(parallel.tp)])
        self.pipeline = group("pipeline", [Role(i, t, d) for i in range(parallel.pp)])
        self.data = group("data", [Role(p, t, i) for i in range(parallel.dp)])

    @property
    def first_stage(self) -> bool:
        return self.role.pipeline == 0

    @property
    def last_stage(self) -> bool:
        return self.role.pipeline == self.parallel.pp - 1

    def close(self) -> None:
        """Drops the connections, so that peers who wait for this one learn of it."""
        self.world = self.tensor = self.pipeline = self.data = None
