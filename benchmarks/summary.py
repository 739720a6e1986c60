"""Medians, spreads and ratios of a few rounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Several rounds of one figure."""

    median: float
    low: float
    high: float
    rounds: int

    @property
    def spread(self) -> float:
        """The width of all rounds as a share of the median."""
        return (self.high - self.low) / self.median if self.median else 0.0


def summary(values: Sequence[float]) -> Summary:
    """Summarize at least one value."""
    return Summary(median=median(values), low=min(values), high=max(values), rounds=len(values))


def ratios(ours: dict[int, float], theirs: dict[int, float]) -> list[float]:
    """Divide round by round; rounds that only one side has are left out."""
    return [ours[round_] / theirs[round_] for round_ in sorted(ours.keys() & theirs.keys()) if theirs[round_]]


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` of the ordered values do not exceed (nearest rank)."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
