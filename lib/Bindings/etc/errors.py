"""What can go wrong.

Arguments that are wrong by themselves raise what Python has for that: TypeError,
ValueError, KeyError. The classes here are about plans and peers.
"""


class UsageError(RuntimeError):
    """Something is missing or used in the wrong order: memory, a library, a step."""


class PlanError(ValueError):
    """A plan or a request is not one: malformed, damaged, of an unknown version."""


class UnsatisfiableError(PlanError):
    """A request is well formed, but can't be met; the message says what could be."""


class MigrationError(RuntimeError):
    """A migration that began did not end."""


class VerificationError(MigrationError):
    """A message, or the state it became, is not what it should be."""


class Excluded(MigrationError):
    """The others went on without this process, which was stopped or cut off.

    What it holds is out of date: it must not train on or save a checkpoint.
    """


class PeerError(MigrationError):
    """Another participant failed, or did not answer in time."""
