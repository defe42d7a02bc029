"""One change of members, on one of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from etc.errors import UnsatisfiableError, UsageError, VerificationError
from etc.torch.move import move_and_tell
from etc.torch.ranks import among

if TYPE_CHECKING:
    from etc.torch.world import World

Build = Callable[["Change"], Any]

ALL_IS_LOST = (
    "apply: all state is lost, since no process that held any is left; pass restore, "
    "which reads a checkpoint and returns its number of steps (0 to begin again)"
)


class Change:
    """From one set of members to another. Between `poll` and the end of `apply` nothing
    trains."""

    def __init__(self, world: World, message: dict[str, Any]) -> None:
        self._world = world
        self._become(message)

    def _become(self, message: dict[str, Any]) -> None:
        world = message["world"]
        self.generation: int = world["generation"]
        self._members: list[dict[str, Any]] = world["members"]
        self._address = world["host"], world["port"]
        keys = [member["key"] for member in self._members]
        self._number = keys.index(message["you"])
        self._me = self._members[self._number]
        self.size = sum(member["role"] == "stay" for member in self._members)
        """How many members there are after it."""
        self.rank = self._number
        """Of this process after it; for one that leaves, `size` or more."""
        self._newest = self._find_newest()
        self._is_new = self._newest is None
        self._is_lost = self._is_new and world["has_trained"]

    def _find_newest(self) -> tuple[int, int] | None:
        """(version, layout) of the state that goes on; None if nobody holds any."""
        held = [m for m in self._members if m["layout"] >= 0]
        # Who has all gradients of the next step catches up.
        newest = max((m["version"] for m in held), default=-1)
        layouts = [
            m["layout"]
            for m in held
            if m["version"] == newest or (m["version"] == newest - 1 and m["ready"])
        ]
        return (newest, max(layouts)) if held else None

    @property
    def leaving(self) -> bool:
        """Whether this process hands over its state."""
        return self._me["role"] != "stay"

    @property
    def device(self) -> str:
        """Where `build` makes the model: "meta" where it receives its state."""
        return self._world.device if self._is_new else "meta"

    def enter(self, shape: Sequence[int], names: Sequence[str]) -> DeviceMesh:
        """A mesh over all members, in which this process is number `rank`."""
        if math.prod(shape) != self.size:
            raise ValueError(
                f"enter: a mesh of {list(shape)} has {math.prod(shape)} ranks, and the "
                f"job has {self.size} members"
            )
        mesh = init_device_mesh(
            self._world.device, tuple(shape), mesh_dim_names=tuple(names)
        )
        self._world._groups.connect()
        return mesh

    def apply(self, build: Build, restore: Callable[..., int] | None = None) -> Any:
        """Brings this process into the new generation, and its state with it.

        Called once, on every member. A process that leaves ends in here (`Left`), and
        a spare waits in here until it is needed. Should another member fail meanwhile,
        it begins again with those that are left.

        Args:
            build: build(change) returns a module, or a tuple of a module, its optimizer
                and objects with state_dict() and load_state_dict(), made on
                `change.device` with a mesh of `change.enter`. It may be called again.
            restore: where members that are lost held state that nobody else has, and
                where all members of a job that has made a step are lost:
                restore(*objects) reads all of it from a checkpoint, into objects with
                memory, and returns its version. Without it, that is an error.

        Returns:
            What `build` returned, with its state.

        Raises:
            UnsatisfiableError: state is lost; the message names a tensor, unless all
                of it is lost.
            VerificationError: a tensor is not what it was.
        """
        world = self._world
        world._apply = lambda change: change.apply(build, restore)
        while True:
            try:
                objects = self._try(build, restore)
            except (UsageError, VerificationError):
                raise
            except RuntimeError as error:
                world._fail(error)
            else:
                if objects is not None:
                    return objects[0] if len(objects) == 1 else objects
            self._become(world._arrive())

    def _try(
        self, build: Build, restore: Callable[..., int] | None
    ) -> tuple[Any, ...] | None:
        """Objects with their state; None for a spare, which has handed over its own."""
        world = self._world
        if not self.size:
            world._leave()
        if self._is_lost and restore is None:
            raise UnsatisfiableError(ALL_IS_LOST)
        self._meet()
        before = self._catch_up()
        after = None if self.leaving else self._build(build)
        self._made()
        if self._newest is None:
            if self._is_lost and restore is not None and after is not None:
                world.version = restore(*after)
            self._hold(after)
        else:
            try:
                self._move(before, after)
            except UnsatisfiableError:
                if restore is None:
                    raise
                after = self._restore(build, restore)
            self._seed(before is not None)
        world.rank, world.size = self.rank, self.size
        if self._me["role"] == "leave":
            world._leave()
        world._entered()
        return after

    def _meet(self) -> None:
        world = self._world
        place = self._number, self.size, len(self._members)
        world._groups.make(
            world.backend, self._address, self.generation, place, world.timeout
        )

    def _made(self) -> None:
        self._world._groups.made()
        self._world._groups.check()

    def _catch_up(self) -> tuple[Any, ...] | None:
        """This process's objects, where they are those that go on."""
        world = self._world
        if self._newest is None:
            return None
        version, layout = self._newest
        if world.version == version - 1 and world._ready:
            world._update()
        else:
            world._undo()
        held = world._held
        is_newest = held and world.version == version and held.layout == layout
        world.version = version
        return held.objects if held and is_newest else None

    def _build(self, build: Build) -> tuple[Any, ...]:
        built = build(self)
        objects = built if isinstance(built, tuple) else (built,)
        if not isinstance(objects[0], torch.nn.Module):
            raise TypeError(
                f"build: expected a module first, got {type(objects[0]).__name__}"
            )
        return objects

    def _move(
        self, before: tuple[Any, ...] | None, after: tuple[Any, ...] | None
    ) -> None:
        world = self._world
        union = world._groups.union
        assert union is not None
        was = world._held.was if before and world._held else None
        with among(union):
            move_and_tell(
                before,
                after,
                lambda: self._hold(after),
                was=was,
                **{"timeout": world.timeout, **world.options},
            )

    def _seed(self, has_state: bool) -> None:
        """Random numbers go on where they were before `build`; PyTorch's of a process
        that joins depend on the job's seed, the generation and the rank. Where nobody
        is left who knows that seed, they stay as `build` left them."""
        world = self._world
        union = world._groups.union
        assert union is not None
        if has_state and world._snapshot is not None:
            world._snapshot.restore_random()
        seeds = union.gather(str(torch.initial_seed() if has_state else "").encode())
        seed = next((int(text) for text in seeds if text), None)
        if not has_state and seed is not None:
            torch.manual_seed((seed + 1000003 * self.generation + self.rank) % 2**63)

    def _hold(self, after: tuple[Any, ...] | None) -> None:
        """From here on it is this process's state."""
        from etc.torch.world import Held

        held = None if after is None else Held(after, self.generation, self.rank)
        self._world._hold(held)

    def _restore(
        self, build: Build, restore: Callable[..., int]
    ) -> tuple[Any, ...] | None:
        """Everything from a checkpoint."""
        self._world._hold(None)
        if self.leaving:
            return None
        self._is_new = True
        after = self._build(build)
        self._made()
        self._world.version = restore(*after)
        self._hold(after)
        return after
