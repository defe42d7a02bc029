"""What the launcher tells the workers: the next configuration, and who runs it."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import List, Optional

import torch.distributed as dist

from .config import Parallel


def put(store, key: str, value: str = "") -> None:
    store.set(key, value)
    store.add(f"{key}/there", 1)


def there(store, key: str) -> bool:
    """Whether it has been put; PyTorch 1.13's stores can't tell of keys as such."""
    return store.add(f"{key}/there", 0) > 0


def scope_of(store, epoch: int):
    """What belongs to one change, "plan/DEVICE" among it: the device's slice of the
    plan, as bytes."""
    return dist.PrefixStore(f"epoch{epoch}", store)


@dataclass(frozen=True)
class Change:
    """Configuration number `epoch`; 0 is the one that training starts with."""

    epoch: int
    parallel: str
    devices: List[int]  # of every rank
    prev: str  # the configuration before, itself where there is none
    prev_devices: List[int]
    after: int  # the epoch of that one
    participants: List[int]  # devices that give or take state
    moves: bool = False  # whether state does; before the first configuration none does
    by: str = "etc"  # what moves the state, see movers
    not_before: int = 0  # the iteration to begin with, if not a later one
    lost_at: Optional[int] = None  # after a failure: the iteration to go on with
    decided: float = 0.0  # when the launcher did, by this machine's monotonic clock
    slowed: int = 0  # the last iteration beside which processes got ready to join

    @staticmethod
    def key(epoch: int, what: str = "") -> str:
        return f"change/{epoch}/{what}"

    @property
    def configuration(self) -> Parallel:
        return Parallel.parse(self.parallel)

    def publish(self, store) -> None:
        put(store, self.key(self.epoch), json.dumps(dataclasses.asdict(self)))

    @classmethod
    def read(cls, store, epoch: int) -> Optional[Change]:
        if not there(store, cls.key(epoch)):
            return None
        return cls(**json.loads(store.get(cls.key(epoch))))
