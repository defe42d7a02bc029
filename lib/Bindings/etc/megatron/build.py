"""Builds a rank's model and optimizer on the new groups, around migrated tensors."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, Optional

import torch

from etc.megatron.grid import read_grid
from etc.megatron.modules import parameters_of
from etc.megatron.states import State, bind, bind_step, own, slots_of, tensors_of
from etc.roles import Role


@dataclass
class Build:
    """How to build a configuration's objects. The same on all processes."""

    model_provider: Callable[..., Any]
    """Megatron's: called with pre_process= and post_process=, with virtual stages
    also vp_stage=, returns a GPTModel of the sizes that parallel_state has then."""
    ddp_config: Any = None
    """A DistributedDataParallelConfig; that of the old model where None. It may
    switch the distributed optimizer on or off."""
    optimizer_config: Any = None
    """An OptimizerConfig; that of the old optimizer where None."""
    optimizer_options: Mapping[str, Any] = field(default_factory=dict)
    """For get_megatron_optimizer: config_overrides, use_gloo_process_groups."""
    process_group_options: Mapping[str, Any] = field(default_factory=dict)
    """For torch.distributed.init_process_group: timeout, device_id."""
    parallel_state_options: Mapping[str, Any] = field(default_factory=dict)
    """For initialize_model_parallel: create_gloo_process_groups, ..."""
    seed_rng: Optional[Callable[[Role], None]] = None
    """Seeds the generators of a role that did not exist before."""
    data_parallel_random_init: bool = False
    """As in Megatron: replicas are seeded apart."""


@dataclass
class Wrapping:
    """How a model is wrapped."""

    ddp_config: Any
    optimizer_config: Any
    float16_module: bool

    @classmethod
    def of(cls, chunk: Any, optimizer: Any) -> Wrapping:
        if not hasattr(chunk, "ddp_config"):
            raise ValueError(
                f"{type(chunk).__name__}: expected chunks that are wrapped in "
                f"Megatron-Core's DistributedDataParallel"
            )
        inner = type(chunk.module).__name__ == "Float16Module"
        config = copy.copy(optimizer.config)
        config.timers = None  # they belong to a process
        return cls(chunk.ddp_config, config, inner)

    def changed_by(self, build: Build) -> Wrapping:
        """That of the new model."""
        return dataclasses.replace(
            self,
            ddp_config=build.ddp_config or self.ddp_config,
            optimizer_config=build.optimizer_config or self.optimizer_config,
        )


class Shapes:
    """The tensors that the plan gives this rank, and those that are built."""

    def __init__(self, state: State) -> None:
        self.state = state

    def find(self, kind: str, name: str, like: torch.Tensor) -> torch.Tensor:
        """The migrated tensor for `like`. Raises ValueError if there is none."""
        tensor = self.state.get(kind, {}).get(name)
        if tensor is None or tensor.numel() != like.numel():
            got = "nothing" if tensor is None else str(list(tensor.shape))
            raise ValueError(
                f"{name} ({kind}): the new model has {list(like.shape)} here, the plan "
                f"{got}; model_provider has to build what curr says, and vocab_size "
                f"says where the padded vocabulary depends on TP"
            )
        return tensor

    def take(self, kind: str, name: str, like: torch.Tensor) -> torch.Tensor:
        """The migrated tensor that replaces `like`, in the shape of `like`."""
        return own(self.find(kind, name, like)).view(like.shape)


def build_chunks(build: Build, wrapping: Wrapping, state: State) -> list[Any]:
    """The chunks of this rank, wrapped, with the migrated parameters.

    Raises ValueError if the provider builds other tensors than the plan's.
    """
    chunks = _bare_chunks(build)
    device = next(iter(state["param"].values())).device
    shapes, seen = Shapes(state), set()
    for chunk in parameters_of(chunks, read_grid(_parallel_state())):
        for parameter in chunk:
            data = shapes.find("param", parameter.name, parameter.of(parameter.tensor))
            if data.dtype != parameter.tensor.dtype and not wrapping.float16_module:
                raise ValueError(
                    f"{parameter.name}: model_provider builds {parameter.tensor.dtype},"
                    f" the state is {data.dtype}"
                )
            if parameter.among is None:
                parameter.tensor.data = own(data).view(parameter.shape)
            else:
                parameter.of(parameter.tensor).copy_(data.view(parameter.shape))
            seen.add(parameter.name)
    check_all_used(state, seen)
    return [_wrap(c.to(device), k, wrapping) for k, c in enumerate(chunks)]


def check_all_used(state: State, seen: set[str]) -> None:
    """Raises ValueError if the plan has parameters that the new model lacks."""
    for name in state["param"]:
        if name not in seen:
            raise ValueError(f"{name}: is here by the plan, not in the new model")


def build_optimizer(
    build: Build,
    wrapping: Wrapping,
    chunks: list[Any],
    state: State,
    step: Optional[int],
) -> Any:
    """The optimizer over the chunks, with the migrated state."""
    from megatron.core.optimizer import get_megatron_optimizer

    optimizer = get_megatron_optimizer(
        wrapping.optimizer_config, chunks, **build.optimizer_options
    )
    load_optimizer(optimizer, chunks, state, step)
    return optimizer


def load_optimizer(
    optimizer: Any, chunks: list[Any], state: State, step: Optional[int]
) -> None:
    """Gives an optimizer that has made no step the migrated state.

    Raises ValueError if it keeps other tensors than the plan's.
    """
    slots = slots_of(optimizer)
    shapes = Shapes(state)
    for chunk in parameters_of(chunks, read_grid(_parallel_state())):
        for parameter in chunk:
            if parameter.tensor in slots:
                slot = slots[parameter.tensor]
                for kind in {*tensors_of(slot), *state} - {"param"}:
                    shapes.find(kind, parameter.name, parameter.of(slot.key))
                bind(slot, parameter, state, step)
    bind_step(optimizer, step)


def _parallel_state() -> Any:
    from megatron.core import parallel_state

    return parallel_state


def _bare_chunks(build: Build) -> list[Any]:
    state = _parallel_state()
    count = state.get_virtual_pipeline_model_parallel_world_size() or 1
    if count == 1:
        chunk = build.model_provider(
            pre_process=state.is_pipeline_first_stage(),
            post_process=state.is_pipeline_last_stage(),
        )
        return [chunk]
    return [
        build.model_provider(
            pre_process=state.is_pipeline_first_stage(ignore_virtual=False, vp_stage=k),
            post_process=state.is_pipeline_last_stage(ignore_virtual=False, vp_stage=k),
            vp_stage=k,
        )
        for k in range(count)
    ]


def _wrap(chunk: Any, k: int, wrapping: Wrapping) -> Any:
    """As Megatron's get_model does."""
    from megatron.core import tensor_parallel
    from megatron.core.distributed import DistributedDataParallel
    from megatron.core.transformer.module import Float16Module

    config = chunk.config
    for parameter in chunk.parameters():
        tensor_parallel.set_defaults_if_not_set_tensor_model_parallel_attributes(
            parameter
        )
    if wrapping.float16_module:
        chunk = Float16Module(config, chunk)
    return DistributedDataParallel(
        config, wrapping.ddp_config, chunk, disable_bucketing=k > 0
    )
