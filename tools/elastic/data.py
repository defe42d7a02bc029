"""Text as bytes. Which sample comes when depends on its number alone, not on who
reads it, so every configuration sees the same data in the same order."""

from __future__ import annotations

import glob

import torch

LICENCES = "/usr/share/common-licenses/*"


class Corpus:
    """The licence texts that every Debian system has, or the files of a pattern."""

    def __init__(self, pattern: str = LICENCES):
        text = b"".join(open(name, "rb").read() for name in sorted(glob.glob(pattern)))
        if not text:
            raise FileNotFoundError(f"no text at {pattern}; name files with --corpus")
        self.bytes = torch.frombuffer(bytearray(text), dtype=torch.uint8)

    def sample(self, number: int, length: int) -> torch.Tensor:
        """`length + 1` bytes from a place that strides through the whole text."""
        places = len(self.bytes) - length - 1
        start = number * 7919 * length % places
        return self.bytes[start:start + length + 1].long()

    def microbatch(self, first: int, count: int, length: int):
        """(tokens, targets) of samples first, first + 1, ...: [count, length] each."""
        rows = torch.stack([self.sample(first + i, length) for i in range(count)])
        return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()
