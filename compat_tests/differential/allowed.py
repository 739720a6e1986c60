"""The allowed differences, and the choice of the one that explains what was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from compat_tests.differential.compare import Difference
from protocol.api_keys import ApiKey
from protocol.schema import parse_versions

ANYTHING: Any = object()


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """A difference from Apache Kafka that stays.

    `what` and `reason` are for people: docs/compatibility.md prints them. `path` is a pattern of the whole
    path; `kafka` and `kawal` are the values, if only these are allowed; `when` decides what they leave open.
    """

    apis: tuple[ApiKey, ...]
    path: str
    what: str
    reason: str
    versions: str = "0+"
    kafka: Any = ANYTHING
    kawal: Any = ANYTHING
    when: Callable[[Difference], bool] = field(default=lambda _: True)

    def covers(self, found: Difference) -> bool:
        """Return whether this entry explains a difference."""
        return (
            (not self.apis or found.step.api in self.apis)
            and found.step.version in parse_versions(self.versions)
            and re.fullmatch(self.path, found.path) is not None
            and self.kafka in (ANYTHING, found.kafka)
            and self.kawal in (ANYTHING, found.kawal)
            and self.when(found)
        )


def explanation(found: Difference, allowed: Sequence[Allowed]) -> Allowed | None:
    """Return the first entry that covers a difference, or None for a difference that must not be."""
    return next((entry for entry in allowed if entry.covers(found)), None)
