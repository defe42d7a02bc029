"""The state of a torch optimizer: tensors of the parameters' shapes, and scalars."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

import torch

from etc.torch.described import Described
from etc.torch.entries import Entry, make_entry, plain_name, unwrapped
from etc.torch.placements import boxes_of, is_dtensor
from etc.torch.ranks import pack

# Options that say which names and which implementation an optimizer has: they stay its own.
OWN = ("params", "param_names", "foreach", "fused")

# Classes that say nothing of the states.
BASES = (torch.optim.Optimizer, object)


class Trained(NamedTuple):
    """A parameter that an optimizer has."""

    name: str
    parameter: Any
    number: int
    """Of its group: those of several optimizers are counted on."""
    states: Any
    """{parameter: {state: value}} of its optimizer."""


def members(optimizer: Any) -> tuple[Any, ...]:
    """The optimizers of one model, each with parameters of its own."""
    if optimizer is None:
        return ()
    return tuple(optimizer) if isinstance(optimizer, (list, tuple)) else (optimizer,)


def groups_of(optimizer: Any) -> list[dict[str, Any]]:
    """Those of all optimizers."""
    return [group for each in members(optimizer) for group in each.param_groups]


def check(optimizer: Any) -> None:
    """Whether these are optimizers, whose states are all that there are."""
    for each in members(optimizer):
        if not hasattr(each, "param_groups"):
            raise ValueError(
                f"{name_of(each)}: is in the place of the optimizer; pass the optimizer "
                f"second, and other objects behind it, as in move((model, optimizer, "
                f"scheduler), (new_model, new_optimizer, new_scheduler))"
            )
        _check_whole(each)


def _check_whole(optimizer: Any) -> None:
    for name, inner in held_by(optimizer):
        # A state that is a property is made of those inside.
        if "state" in vars(optimizer) and inner.state is not optimizer.state:
            raise ValueError(
                f"optimizer: {name_of(optimizer)} holds {name_of(inner)}, which has states "
                f"of its own; pass its attribute {name} in its place"
            )
    if not isinstance(optimizer.state, Mapping):
        return
    trained = {id(p) for group in optimizer.param_groups for p in group["params"]}
    for key, value in optimizer.state.items():
        if id(key) in trained or (isinstance(value, Mapping) and not value):
            continue
        what = "a tensor" if isinstance(key, torch.Tensor) else repr(key)
        raise ValueError(
            f"optimizer: its state is also of {what}, which is no parameter of its "
            f"groups; take it out, and carry it over yourself"
        )


def held_by(optimizer: Any) -> Iterator[tuple[str, Any]]:
    """(attribute, optimizer) of those inside of one."""
    for name, value in vars(optimizer).items():
        inside = value if isinstance(value, (list, tuple)) else [value]
        for each in inside:
            if isinstance(each, torch.optim.Optimizer):
                yield name, each


def name_of(value: Any) -> str:
    """Of its class, for messages."""
    return type(value).__name__


def named(model: torch.nn.Module, optimizer: Any) -> Iterator[Trained]:
    """All that the optimizer has, or the optimizers have."""
    names = {
        id(parameter): plain_name(name)
        for name, parameter in unwrapped(model).named_parameters()
    }
    seen: set[int] = set()  # of the optimizers before
    number = -1
    for each in members(optimizer):
        own: set[int] = set()
        for group in each.param_groups:
            number += 1
            for parameter in group["params"]:
                name = names.get(id(parameter))
                if name is None:
                    raise ValueError(
                        f"optimizer: group {number} has a parameter of shape "
                        f"{list(parameter.shape)} that is none of the model's; make "
                        f"the optimizer of this model's parameters"
                    )
                if id(parameter) in seen:
                    raise ValueError(
                        f"{name}: is in two optimizers, so its states have no place of "
                        f"their own; leave it to one of them"
                    )
                if id(parameter) not in own:  # PyTorch takes it twice, and warns
                    own.add(id(parameter))
                    yield Trained(name, parameter, number, each.state)
        seen |= own


def describe(model: torch.nn.Module, optimizer: Any) -> tuple[Described, list[Entry]]:
    """What the optimizer keeps on this rank, and the entries of its tensors."""
    check(optimizer)
    found, entries = Described(options=options_of(optimizer)), []
    found.classes = classes_of(optimizer)
    for name, parameter, number, states in named(model, optimizer):
        found.group_of[name] = number
        found.states[name], found.scalars[name] = {}, {}
        for kind, value in states.get(parameter, {}).items():
            if kind == "param":
                raise ValueError(
                    f"{name}: the optimizer has a state of the name param, which stands "
                    f"for the parameter itself; give it another name"
                )
            if _has_tensors(value):
                raise ValueError(
                    f"{name} ({kind}): the optimizer keeps a {name_of(value)} of tensors; "
                    f"such states are not moved, so leave the optimizer out and start it "
                    f"anew"
                )
            if is_scalar(kind, value, parameter):
                _check_mesh_free(f"{name} ({kind})", value)
                found.scalars[name][kind] = value
                continue
            if tuple(value.shape) != tuple(parameter.shape):
                raise ValueError(
                    f"{name} ({kind}): the optimizer keeps {list(value.shape)} of a "
                    f"parameter of {list(parameter.shape)}; states of other shapes are "
                    f"not moved, so leave the optimizer out and start it anew"
                )
            place = _setter(states, parameter, kind)
            entry = make_entry(kind, name, value, place, is_replaced=True)
            found.states[name][kind] = entry.dtype
            entries.append(entry)
    return found, entries


def options_of(optimizer: Any) -> list[dict[str, Any]]:
    """Of every group: all but those that stay the optimizer's own."""
    found = [
        {name: value for name, value in group.items() if name not in OWN}
        for group in groups_of(optimizer)
    ]
    for number, group in enumerate(found):
        for name, value in group.items():
            _check_sendable(f"optimizer: {name} of group {number}", value)
    return found


def _check_sendable(label: str, value: Any) -> None:
    """Whether other ranks can be told an option."""
    try:
        pack(value)
    except Exception as error:
        raise ValueError(
            f"{label} can't be sent to other ranks ({error}); take it out, and carry it "
            f"over yourself"
        ) from error


def _has_tensors(value: Any) -> bool:
    """Whether tensors are inside of a state, where they would not be sharded."""
    if not isinstance(value, Collection) or isinstance(value, (str, bytes)):
        return False
    if hasattr(value, "shape"):  # a tensor itself, or an array
        return False
    inside = value.values() if isinstance(value, Mapping) else value
    return any(isinstance(each, torch.Tensor) or _has_tensors(each) for each in inside)


def is_scalar(kind: str, value: Any, parameter: Any) -> bool:
    """Whether a state is of the parameter as a whole: `step`."""
    if not isinstance(value, torch.Tensor):
        return True
    if value.numel() != 1:
        return False
    # By its shape alone it could be a state of a parameter that is one element itself.
    is_whole = is_dtensor(parameter) and not is_dtensor(value)
    return kind == "step" or is_whole or tuple(value.shape) != tuple(parameter.shape)


def _check_mesh_free(label: str, scalar: Any) -> None:
    """Every rank tells the others its scalars, which no mesh can follow."""
    if is_dtensor(scalar):
        raise ValueError(
            f"{label}: is a scalar on a DeviceMesh; let the optimizer keep a plain "
            f"tensor (full_tensor())"
        )


def expect(model: torch.nn.Module, optimizer: Any, before: Described) -> list[Entry]:
    """The entries of tensors that a new optimizer is to get: those that `before` has,
    sharded as its parameters are."""
    check(optimizer)
    check_groups(len(groups_of(optimizer)), before)
    _check_classes(classes_of(optimizer), before)
    entries = []
    for name, parameter, number, states in named(model, optimizer):
        check_group(name, number, before)
        check_new(name, states.get(parameter, {}), before)
        for kind, dtype in before.states.get(name, {}).items():
            label = f"{name} ({kind})"
            place = _setter(states, parameter, kind)
            shards = boxes_of(label, parameter)
            entries.append(Entry(kind, name, dtype, parameter, shards, None, place))
    return entries


def check_groups(count: int, before: Described) -> None:
    """Whether a new optimizer has as many groups as the one before."""
    if before.options and count != len(before.options):
        raise ValueError(
            f"optimizer: has {count} groups of parameters, the one before has "
            f"{len(before.options)}; make the same groups"
        )


def classes_of(optimizer: Any) -> list[list[str]]:
    """Of every group, as `Described` has them."""
    return [
        [kind.__name__ for kind in type(_innermost(each)).__mro__ if kind not in BASES]
        for each in members(optimizer)
        for _ in each.param_groups
    ]


def _innermost(optimizer: Any) -> Any:
    """The one of which a wrapper, such as Accelerate's, shows the states."""
    inside = [inner for _, inner in held_by(optimizer)]
    return _innermost(inside[0]) if len(inside) == 1 else optimizer


def _check_classes(classes: list[list[str]], before: Described) -> None:
    """Whether a new optimizer goes on with the states of the one before."""
    for number, (new, old) in enumerate(zip(classes, before.classes)):
        if new[0] not in old and old[0] not in new:
            raise ValueError(
                f"optimizer: group {number} is of {new[0]}, and was of {old[0]}, whose "
                f"states are others; make an optimizer of the same class"
            )


def check_group(name: str, number: int, before: Described) -> None:
    """Whether a parameter is in the group in which it was."""
    if before.group_of.get(name, number) != number:
        raise ValueError(
            f"{name}: is in group {number} of the optimizer, and was in "
            f"{before.group_of[name]}; make the same groups"
        )


def check_new(name: str, state: Mapping[str, Any], before: Described) -> None:
    """Whether a new optimizer has no more states of a parameter than that before."""
    known = {**before.states.get(name, {}), **before.scalars.get(name, {})}
    for kind in state:
        if kind not in known:
            raise ValueError(
                f"{name} ({kind}): the new optimizer has this state, the one before does "
                f"not, as if the new one had made a step; build a fresh one (one that "
                f"has states at once, such as Adagrad, after the change)"
            )


def finish(model: torch.nn.Module, optimizer: Any, before: Described) -> None:
    """Gives a new optimizer the scalars and the options of the one before."""
    groups = groups_of(optimizer)
    give_options(groups, before)
    for name, parameter, number, states in named(model, optimizer):
        for kind, value in before.scalars.get(name, {}).items():
            states[parameter][kind] = scalar(kind, value, parameter, groups[number])


def give_options(groups: list[dict[str, Any]], before: Described) -> None:
    """To the groups of a new optimizer."""
    for group, options in zip(groups, before.options):
        group.update({name: copied(value) for name, value in options.items()})


def scalar(kind: str, value: Any, parameter: Any, group: dict[str, Any]) -> Any:
    """A scalar for a parameter of a group: fused kernels want the step on its device,
    as when PyTorch loads a state dict."""
    is_read_there = group.get("fused") or group.get("capturable")
    if kind == "step" and isinstance(value, torch.Tensor) and is_read_there:
        return value.to(parameter.device, torch.float32, copy=True)
    return copied(value)


def copied(value: Any) -> Any:
    """A value of an option or a scalar, for another optimizer."""
    return value.clone() if isinstance(value, torch.Tensor) else value


def _setter(states: Any, parameter: Any, kind: str) -> Callable[[Any], None]:
    def place(new: Any) -> None:
        states[parameter][kind] = new

    return place
