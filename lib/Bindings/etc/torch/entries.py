"""The tensors of a live job on this rank, one entry each."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import torch

from etc.tensors import has_memory
from etc.torch import dtypes
from etc.torch.kinds import check_kind, of_kind
from etc.torch.placements import boxes_of, is_dtensor, local_of
from etc.torch.spans import Box
from etc.torch_private.tensors import WRAPPERS, compiled_by, saved_buffers, swap

# What DeepSpeed gives parameters whose optimizer states, or which themselves, it
# partitions: stages 1 and 2, and 3.
ZERO = ("_hp_mapping", "ds_id")


@dataclass(frozen=True)
class Entry:
    """A tensor that this rank has a part of, or is to have."""

    kind: str
    """"param" for parameters and buffers, else a state of the optimizer."""
    name: str
    """Global, without wrappers' prefixes."""
    dtype: str
    like: Any
    """A tensor with its shape, mesh and placements: itself, or its parameter."""
    boxes: tuple[Box, ...]
    tensor: Any
    """Itself; None where it is to be made."""
    place: Callable[[Any], None]
    """Puts a tensor into its place in the module or the optimizer."""
    is_buffer: bool = False
    """Whether it is a module's buffer."""

    @property
    def type(self) -> str:
        """A plan's type has one dtype."""
        return f"{self.kind}.{self.dtype}"

    @property
    def key(self) -> tuple[str, str]:
        return self.type, self.name

    @property
    def label(self) -> str:
        """For messages."""
        return f"{self.name} ({self.kind})"

    @functools.cached_property
    def moved_as(self) -> torch.dtype:
        """The dtype that a plan has for it."""
        return dtypes.carrier(self.label, dtypes.named(self.dtype))

    @property
    def local(self) -> Any:
        """This rank's part, flat, in the tensor's own memory; None where it is to be
        made."""
        if self.tensor is None or self.tensor.is_meta:
            return None
        return local_of(self.tensor).view(-1).view(self.moved_as)

    @property
    def mesh(self) -> Any:
        """Its DeviceMesh, or None."""
        return self.like.device_mesh if is_dtensor(self.like) else None

    def wrap(self, local: Any) -> Any:
        """The tensor of which `local` is this rank's part."""
        local = local.view(dtypes.named(self.dtype)).view(local_of(self.like).shape)
        if self.mesh is None:
            return local
        from torch.distributed.tensor import DTensor

        return DTensor.from_local(
            local,
            self.mesh,
            self.like.placements,
            run_check=False,
            shape=self.like.shape,
            stride=self.like.stride(),
        )


def plain_name(name: str) -> str:
    """Without what wrappers put in."""
    for wrapper in WRAPPERS:
        name = name.replace(wrapper, "")
    return name


def layers_of(model: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """The model, and what torch.compile and DistributedDataParallel, whose every rank has
    a whole copy, wrap."""
    from torch.nn.parallel import DistributedDataParallel

    inner: torch.nn.Module | None = model
    while inner is not None:
        yield inner
        is_copy = isinstance(inner, DistributedDataParallel)
        inner = inner.module if is_copy else compiled_by(inner)


def unwrapped(model: torch.nn.Module) -> torch.nn.Module:
    """The innermost of its layers."""
    return list(layers_of(model))[-1]


def buffers_of(model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor, bool]]:
    """(name, buffer, whether it is persistent) of all modules. A state dict does not tell:
    a model may leave buffers out of its own."""
    saved = {id(b) for module in model.modules() for _, b in saved_buffers(module)}
    for name, buffer in model.named_buffers():
        yield plain_name(name), buffer, id(buffer) in saved


def model_entries(source: Any) -> Iterator[Entry]:
    """Of a module, its parameters and its persistent buffers; of a state dict, all."""
    if isinstance(source, torch.nn.Module):
        source = unwrapped(source)
        _reshard(source)
        for name, parameter in source.named_parameters():
            name = plain_name(name)
            if type(parameter).__name__ == "FlatParameter":
                raise ValueError(
                    f"{name}: is FSDP1's flat parameter, which has no layout of its "
                    f"own; shard the model by fully_shard"
                )
            if any(hasattr(parameter, mark) for mark in ZERO):
                raise ValueError(
                    f"{name}: is a parameter of DeepSpeed's ZeRO, whose optimizer has "
                    f"flat parts of all parameters together; pass the engine in "
                    f"its place"
                )
            yield make_entry("param", name, parameter, swapper(parameter))
        yield from buffer_entries(source)
        return
    if not isinstance(source, Mapping):
        raise ValueError(
            f"{type(source).__name__}: is in the place of the model; pass a module, or a "
            f"state dict {{name: tensor}}"
        )
    for name, value in source.items():
        if not isinstance(value, torch.Tensor):
            raise ValueError(
                f"{name}: is a {type(value).__name__}, no tensor; leave it out, and "
                f"carry it over yourself"
            )
        yield make_entry(
            "param",
            plain_name(name),
            value,
            _setter(source, name),
            is_replaced=value.is_meta,
        )


def buffer_entries(model: torch.nn.Module) -> Iterator[Entry]:
    """Of the persistent buffers."""
    for name, buffer, is_persistent in buffers_of(model):
        if is_persistent:
            entry = make_entry("param", name, buffer, swapper(buffer))
            yield dataclasses.replace(entry, is_buffer=True)


def _reshard(model: torch.nn.Module) -> None:
    """FSDP2 leaves whole parameters in place of shards after a forward pass alone, or
    after a step that failed."""
    for module in model.modules():
        if hasattr(module, "reshard") and hasattr(module, "unshard"):
            module.reshard()


def make_entry(
    kind: str,
    name: str,
    tensor: Any,
    place: Callable[[Any], None],
    *,
    is_replaced: bool = False,
) -> Entry:
    """The entry of a tensor that is there; `check_kind` says what is_replaced is."""
    check_kind(f"{name} ({kind})", tensor, is_replaced)
    dtypes.carrier(f"{name} ({kind})", tensor.dtype)
    local = local_of(tensor)
    if local.numel() and not (local.is_meta or has_memory(local)):
        raise ValueError(
            f"{name} ({kind}): its memory is gone, as after a move, which takes over the "
            f"tensors before; pass what has the state now"
        )
    if not (tensor.is_meta or local.is_contiguous()):
        raise ValueError(
            f"{name} ({kind}): is not contiguous (strides "
            f"{list(local.stride())}); use tensor.contiguous()"
        )
    boxes = boxes_of(f"{name} ({kind})", tensor)
    dtype = dtypes.name_of(tensor.dtype)
    return Entry(kind, name, dtype, tensor, boxes, tensor, place)


def swapper(old: torch.Tensor) -> Callable[[Any], None]:
    """Gives a tensor on the meta device memory, and keeps the object: an optimizer may
    refer to it already."""

    def place(new: Any) -> None:
        swap(old, of_kind(old, new))

    return place


def _setter(
    source: MutableMapping[str, Any] | Mapping[str, Any], name: str
) -> Callable[[Any], None]:
    def place(new: Any) -> None:
        source[name] = new  # type: ignore[index]

    return place
