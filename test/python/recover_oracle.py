"""What recover_faults.py expects of the job that it makes fail."""

from __future__ import annotations

import re


class Wrong(Exception):
    """The job is not as the oracle says."""


def replica_of(role: dict) -> tuple:
    """What devices of equal contents have in common."""
    return tuple(v for k, v in sorted(role.items()) if k not in ("dp", "edp"))


def newest(answers: dict[int, dict]) -> int | None:
    """The newest step that has a holder of each role that the job has. While a
    migration is not committed all are at one step, so it is the same then."""
    holders = [a for a in answers.values() if a["role"]]
    needed = {replica_of(role) for a in holders for role in a["roles"]}
    versions = {a["version"] for a in answers.values()} - {None}
    for version in sorted(versions, reverse=True):
        if {
            replica_of(a["role"]) for a in holders if a["version"] == version
        } == needed:
            return version
    return None


def check_loss(message: str, held: dict[int, dict]) -> None:
    """What is named as lost is in no previous tensor that a survivor has.
    `held` is {device: {(type, name): boxes}}."""
    found = re.search(r"nobody holds (\S+) \((\w+)\)\[([^\]]*)\]", message)
    if not found:
        raise Wrong(f"names no box: {message}")
    name, kind, ranges = found.groups()
    lost = [tuple(map(int, part.split(":"))) for part in ranges.split(", ")]
    for device, tensors in held.items():
        for box in tensors.get((kind, name), ()):
            if all(
                b < other_e and other_b < e
                for (b, e), (other_b, other_e) in zip(box, lost)
            ):
                raise Wrong(f"device {device} holds {name} ({kind}) {box}: {message}")


def check_atomic(answers: dict[int, dict]) -> bool:
    """Whether the survivors of a fault in the tail have committed: all or none. Those
    that have may have made the first step of the new configuration; the others none."""
    ends = {
        (a["is_new"], a["version"]) for a in answers.values() if a["is_new"] is not None
    }
    if len(ends) > 1:
        raise Wrong(f"some have committed, others have not: {answers}")
    return any(is_new for is_new, _ in ends)


def size(shape: str) -> int:
    product, number = 1, ""
    for letter in shape + "x":
        if letter.isdigit():
            number += letter
        elif number:
            product, number = product * int(number), ""
    return product


def size_of(shape: str) -> tuple:
    """The sizes of a configuration, in one order, those of 1 left out."""
    found = re.findall(r"([A-Z]+)(\d+)", shape)
    return tuple(sorted((name, n) for name, n in found if n != "1"))
