"""One iteration: microbatches through the pipeline (1F1B), and their gradients."""

from __future__ import annotations

import collections
from typing import Dict, List, Tuple

import torch

from .config import Training
from .data import Corpus
from .groups import Place
from .model import Stage
from .tensors import State

Gradients = Dict[str, torch.Tensor]


class PairwiseSum:
    """Adds in the order of a balanced binary tree.

    Data-parallel ranks have neighbouring microbatches. So where their number and that
    of the microbatches are powers of two, what a rank sums is a subtree, and the sum
    is the same to the last bit under DP1 and DP2.
    """

    def __init__(self) -> None:
        self.count, self.partial = 0, []  # partial sums of 2^k terms, k falling

    def add(self, term: Gradients) -> None:
        self.count += 1
        self.partial.append(term)
        size = self.count
        while size % 2 == 0:
            self.merge()
            size //= 2

    def merge(self) -> None:
        right, left = self.partial.pop(), self.partial[-1]
        for name, tensor in right.items():
            left[name].add_(tensor)

    def total(self) -> Gradients:
        while len(self.partial) > 1:
            self.merge()
        return self.partial[0]


class Iteration:
    def __init__(self, stage: Stage, place: Place, training: Training, corpus: Corpus,
                 state: State, number: int):
        self.stage, self.place, self.training = stage, place, training
        self.corpus, self.seq = corpus, stage.model.seq
        self.shape = (training.samples, self.seq, stage.model.hidden)
        self.first = number * training.microbatches  # microbatch of the whole run
        self.count = training.microbatches // place.parallel.dp
        # Gradients are fp32, hence the leaves are, too; they live for an iteration. In
        # the order of names, whatever the order in which state came: `reduce` sends
        # them as one message, and where a sum begins depends on its place in that.
        self.weights = {name: state["param"][name].float().requires_grad_()
                        for name in sorted(state["param"])}
        self.losses = torch.zeros(training.microbatches, dtype=torch.float64,
                                  device=place.memory)
        self.sum, self.alive, self.sent = PairwiseSum(), collections.deque(), []

    def run(self) -> Tuple[Gradients, List[float]]:
        """Gradients of the global batch, and on the last stage every loss of it."""
        stages, stage = self.place.parallel.pp, self.place.role.pipeline
        ahead = min(stages - stage - 1, self.count)
        for number in range(ahead):
            self.forward(number)
        for number in range(ahead, self.count):
            self.forward(number)
            self.backward(number - ahead)
        for number in range(self.count - ahead, self.count):
            self.backward(number)
        gradients = self.sum.total()
        if self.place.data:
            self.reduce(gradients)
        for work in self.sent:
            work.wait()
        return gradients, self.losses.tolist()

    def forward(self, number: int) -> None:
        mine = self.place.role.data * self.count + number
        start = (self.first + mine) * self.training.samples
        x, targets = (tensor.to(self.place.memory) for tensor in
                      self.corpus.microbatch(start, self.training.samples, self.seq))
        if not self.place.first_stage:
            x = self.receive(-1, 2 * number).requires_grad_()
        y = self.stage(self.weights, x, targets)
        if self.place.last_stage:
            self.losses[mine] = y.detach()
            y = y / self.training.microbatches
        else:
            self.send(y.detach(), 1, 2 * number)
        self.alive.append((x, y))

    def backward(self, number: int) -> None:
        x, y = self.alive.popleft()
        last = self.place.last_stage
        torch.autograd.backward(y, None if last else self.receive(1, 2 * number + 1))
        self.sum.add({name: w.grad for name, w in self.weights.items()})
        for weight in self.weights.values():
            weight.grad = None
        if not self.place.first_stage:
            self.send(x.grad, -1, 2 * number + 1)

    def send(self, tensor: torch.Tensor, offset: int, tag: int) -> None:
        group = self.place.pipeline
        self.sent.append(group.send(tensor.contiguous(), group.rank + offset, tag))

    def receive(self, offset: int, tag: int) -> torch.Tensor:
        group = self.place.pipeline
        return group.recv(torch.empty(self.shape, device=self.place.memory),
                          group.rank + offset, tag)

    def reduce(self, gradients: Gradients) -> None:
        """Over the data-parallel ranks, as one message; zeros add nothing to losses."""
        flat = torch.cat([tensor.flatten() for tensor in gradients.values()])
        parts = self.place.data.all_reduce(flat).split(
            [tensor.numel() for tensor in gradients.values()])
        for tensor, part in zip(gradients.values(), parts):
            tensor.copy_(part.view_as(tensor))
        if self.place.last_stage:
            self.place.data.all_reduce(self.losses)
