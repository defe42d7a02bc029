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


def check_loss(message: str, answers: dict[int, dict]) -> None:
    """What is named as lost is in no previous tensor that a survivor has of that step.
    The result of an answer is {(type, name): boxes}."""
    found = re.search(
        r"nobody holds (\S+) \((\w+)\)\[([^\]]*)\] of step (\d+)", message
    )
    if not found:
        raise Wrong(f"names no box: {message}")
    name, kind, ranges, step = found.groups()
    lost = [tuple(map(int, part.split(":"))) for part in ranges.split(", ")]
    for device, answer in answers.items():
        held = answer["result"] if answer["version"] == int(step) else {}
        for box in held.get((kind, name), ()):
            if all(
                b < other_e and other_b < e
                for (b, e), (other_b, other_e) in zip(box, lost)
            ):
                raise Wrong(f"device {device} holds {name} ({kind}) {box}: {message}")


def has_committed(answers: dict[int, dict], is_cut: bool) -> bool:
    """Whether the survivors of a fault in the tail have committed: all or none. Who is
    cut off from all others may be alone with, or without, the decision."""
    ends = {a["is_new"] for a in answers.values() if a["is_new"] is not None}
    if len(ends) > 1 and not is_cut:
        raise Wrong(f"some have committed, others have not: {answers}")
    return True in ends


def noticed(answers: dict[int, dict], victim: int, at: float | None) -> float | None:
    """How long after the fault the last of the others raised; None if none did."""
    raised = answers.get(victim)
    if at is None and raised is not None and raised["error"]:
        at = raised["at"]
    ends = [a["at"] for d, a in answers.items() if a["error"] and d != victim]
    return max(ends) - at if ends and at is not None else None


def causes(answers: dict[int, dict], victim: int) -> set[str]:
    """What the others say that it was, in a migration."""
    return {
        a["message"]
        for d, a in answers.items()
        if a["error"] == "PeerError" and d != victim
    }


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
