"""What is trained, how it is divided, and for how long."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Role:
    """A place in the grid of a configuration, P0T1D0 in ETC's words."""

    pipeline: int
    tensor: int
    data: int

    def __str__(self) -> str:
        return f"P{self.pipeline}T{self.tensor}D{self.data}"


@dataclass(frozen=True)
class Parallel:
    """Sizes of pipeline, tensor and data parallelism, written PP4TP2DP3."""

    pp: int = 1
    tp: int = 1
    dp: int = 1

    @classmethod
    def parse(cls, text: str) -> Parallel:
        found = re.findall(r"(PP|TP|DP)([1-9]\d*)", text)
        sizes = {name.lower(): int(size) for name, size in found}
        if not found or len(sizes) < len(found) or "".join(map("".join, found)) != text:
            raise ValueError(f"'{text}' is no configuration; write it like PP4TP2DP3")
        return cls(**sizes)

    def __str__(self) -> str:
        sizes = dataclasses.asdict(self).items()
        return "".join(f"{k.upper()}{v}" for k, v in sizes if v > 1) or "PP1"

    @property
    def size(self) -> int:
        return self.pp * self.tp * self.dp

    def role(self, rank: int) -> Role:
        """Megatron's order of ranks: tensor varies fastest, then data."""
        rest, tensor = divmod(rank, self.tp)
        pipeline, data = divmod(rest, self.dp)
        return Role(pipeline, tensor, data)

    def rank(self, role: Role) -> int:
        return role.tensor + self.tp * (role.data + self.dp * role.pipeline)


@dataclass(frozen=True)
class Model:
    """A GPT over bytes, with learned positions and an output layer of its own."""

    layers: int = 4
    hidden: int = 64
    heads: int = 4
    seq: int = 64
    vocab: int = 256

    @property
    def ffn(self) -> int:
        return 4 * self.hidden

    def request(self) -> dict:
        """The model as etc-opt takes it. 256 rows of vocabulary need no padding."""
        return {"family": "gpt", "name": f"bytes-{self.layers}x{self.hidden}",
                **dataclasses.asdict(self), "ffn": self.ffn, "tied": False,
                "vocab_multiple": 1}

    def check(self, parallel: Parallel) -> None:
        for what, size, parts in (("layers", self.layers, parallel.pp),
                                  ("heads", self.heads, parallel.tp)):
            if size % parts:
                raise ValueError(f"{parallel}: {size} {what} do not divide by {parts}")


@dataclass(frozen=True)
class Training:
    """A run. A global batch is `microbatches` of `samples` sequences each."""

    iterations: int = 100
    microbatches: int = 4
    samples: int = 2
    lr: float = 1e-3
    warmup: int = 10
    seed: int = 1234
    timeout: float = 60.0  # seconds that a peer may keep silent

    def check(self, parallel: Parallel) -> None:
        if self.microbatches % parallel.dp:
            sizes = [n for n in range(1, self.microbatches + 1)
                     if self.microbatches % n == 0]
            nearest = min(sizes, key=lambda n: abs(n - parallel.dp))
            raise ValueError(f"{parallel}: {self.microbatches} microbatches do not "
                             f"divide by {parallel.dp}; DP{nearest} would do")

    def learning_rate(self, step: int) -> float:
        """Of step 0, 1, ...: it depends on nothing that a rank would have to carry."""
        return self.lr * min(1.0, (step + 1) / self.warmup)
