"""Exceptions.

Invalid arguments raise Python's own exceptions: TypeError, ValueError, KeyError. The
classes here concern plans and peers.
"""


class UsageError(RuntimeError):
    """Something is missing or used in the wrong order: memory, a library, a step."""


class PlanError(ValueError):
    """A plan or request is malformed, damaged, or of an unknown version."""


class UnsatisfiableError(PlanError):
    """A request is well formed, but cannot be met; the message says what could be."""


class MigrationError(RuntimeError):
    """A migration did not complete."""


class VerificationError(MigrationError):
    """A message, or the state written from it, has unexpected content."""


class Excluded(MigrationError):
    """The others went on without this process, which was stopped or cut off.

    Its state is out of date: it must not continue training or save a checkpoint.
    """


class PeerError(MigrationError):
    """Another participant failed or timed out."""
