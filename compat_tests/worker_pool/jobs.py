"""Jobs by number: most are done at once, some are given back, rejected, slow, or make their worker fail."""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    """A kind of job."""

    PLAIN = "accepted"
    RETRIED = "given back twice, then accepted"
    REJECTED = "rejected"
    SLOW = "processed for longer than the lock, the first time"
    POISON = "given back always"
    KILLER = "kills the worker that gets it"

    @property
    def is_done(self) -> bool:
        """Whether such a job is accepted in the end."""
        return self in (Kind.PLAIN, Kind.RETRIED, Kind.SLOW)


RETRIES = 2

_EVERY = (
    (Kind.KILLER, 49_999, 1_234),
    (Kind.SLOW, 4_001, 100),
    (Kind.POISON, 1_009, 17),
    (Kind.REJECTED, 211, 5),
    (Kind.RETRIED, 101, 3),
)
"""Kinds, each of one job in so many, beginning with this one."""


def kind_of(job: int) -> Kind:
    """Return the kind of a job."""
    return next((kind for kind, every, first in _EVERY if job % every == first), Kind.PLAIN)
