"""Numbers for charts that the server draws: the templates in `charts.html` make SVG with text of them.

{% import "charts.html" as draw %}
{{ draw.sparkline(values, "lag over six hours: now 12, at most 4,100") }}
{{ draw.bars(counts, labels, "records over time") }}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Bar(NamedTuple):
    """A bar in units of the drawing; `label` and `value` are its text."""

    x: float
    y: float
    width: float
    height: float
    label: str
    value: int


def points(values: Sequence[float | None], width: int, height: int) -> list[str]:
    """Return the lines of a sparkline as lists of points for SVG: where there is no value, a line ends."""
    known = [value for value in values if value is not None]
    top = max(known, default=0) or 1
    step = width / max(1, len(values) - 1)
    lines: list[list[str]] = [[]]
    for index, value in enumerate(values):
        if value is None:
            lines.append([])
        else:
            lines[-1].append(f"{index * step:.1f},{height - value / top * height:.1f}")
    return [" ".join(line) for line in lines if line]


def bars(values: Sequence[int], labels: Sequence[str], width: int, height: int) -> list[Bar]:
    """Return the bars of a histogram; one that is not 0 is at least one unit high."""
    top = max(values, default=0) or 1
    step = width / max(1, len(values))
    return [
        Bar(
            round(index * step, 1),
            round(height - (tall := max(1.0, value / top * height) if value else 0.0), 1),
            round(max(1.0, step - 1), 1),
            round(tall, 1),
            label,
            value,
        )
        for index, (value, label) in enumerate(zip(values, labels, strict=True))
    ]
