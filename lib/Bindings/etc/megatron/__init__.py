"""Changes the configuration of running Megatron-Core trainers.

    change = etc.megatron.prepare(model, optimizer, scheduler, curr="PP1TP2DP2",
                                  cluster="1x4", build=etc.megatron.Build(provider))
    trainer = change.run(iteration, consumed_samples)   # between two steps
    model, optimizer = trainer.model, trainer.optimizer

`elastic` does so for Megatron's own training loop. Needs megatron-core. See docs/megatron.md.
"""

from etc.megatron.batch import check_batch
from etc.megatron.build import Build
from etc.megatron.change import Reconfiguration
from etc.megatron.describe import describe_live
from etc.megatron.elastic import Wanted, elastic
from etc.megatron.reconfigure import join, prepare, reconfigure
from etc.megatron.trainer import Trainer

__all__ = [
    "Build",
    "Reconfiguration",
    "Trainer",
    "Wanted",
    "check_batch",
    "describe_live",
    "elastic",
    "join",
    "prepare",
    "reconfigure",
]
