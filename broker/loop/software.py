"""The number of connections by the software that clients name: a bounded number of pairs.

Source: KIP-511, ApiVersions v3; Kafka's metrics ConnectionsBySoftware, in which clients that name none are
`unknown`, too.
"""

from __future__ import annotations

from typing import Final

Software = tuple[str, str]
"""A name and a version."""

UNKNOWN: Final = ("unknown", "unknown")
OTHER: Final = ("other", "other")
"""Pairs beyond the limit, and those with a long name, together."""

PAIRS_MAX: Final = 100
LENGTH_MAX: Final = 64
"""Clients choose their names: neither their number nor their length may be theirs to choose."""


class SoftwareCounts:
    """The count of the present connections."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: dict[Software, int] = {}

    def enter(self, software: Software) -> Software:
        """Count a connection; return what it is counted under, for `leave`."""
        counts = self.counts
        if max(map(len, software)) > LENGTH_MAX or (software not in counts and len(counts) >= PAIRS_MAX):
            software = OTHER
        counts[software] = counts.get(software, 0) + 1
        return software

    def leave(self, counted: Software) -> None:
        """Count a connection no more."""
        left = self.counts[counted] - 1
        if left:
            self.counts[counted] = left
        else:
            del self.counts[counted]
