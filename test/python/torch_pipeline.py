"""The model of torch_jobs in pipeline stages, run by torch.distributed.pipelining."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

MICROBATCHES = 2
# Schedules of torch 2.6 add up the gradients of microbatches, later ones average.
AVERAGES = "scale_grads" in inspect.signature(ScheduleGPipe).parameters
SHARE = 1.0 if AVERAGES else 1.0 / MICROBATCHES


def keep_stage(model: Any, mesh: Any) -> None:
    """Leaves of the model what this rank's stage computes; names stay global."""
    stage, stages = mesh["pp"].get_local_rank(), mesh["pp"].size()
    count = len(model.blocks)
    first, last = (-(-count * at // stages) for at in (stage, stage + 1))
    for index in range(count):
        if not first <= index < last:
            del model.blocks[str(index)]
    if stage + 1 < stages:
        model.head = torch.nn.Identity()


def accumulate(model: Any, batch: Any, wanted: Any, mesh: Any) -> torch.Tensor:
    """Gradients of a batch on every stage, and its loss, which only the last one has:
    the others give zero."""
    group = mesh["pp"].get_group()
    at, count = group.rank(), group.size()
    stage = PipelineStage(model, at, count, batch.device, group=group)
    schedule = ScheduleGPipe(stage, MICROBATCHES, loss_fn=loss_of)
    losses: list[torch.Tensor] = []
    if at + 1 < count:
        schedule.step(*([batch] if at == 0 else []))
        return torch.zeros((), device=batch.device)
    schedule.step(target=wanted, losses=losses)
    return torch.stack(losses).mean() / SHARE


def loss_of(output: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.mse_loss(output, wanted) * SHARE
