"""Tables on a terminal: columns as wide as their widest cell, numbers to the right."""

from __future__ import annotations

from collections.abc import Sequence

Cell = str | int | None


def table(headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return the rows under their headings; None is shown as `-`."""
    texts = [list(headings), *([_shown(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(headings))]
    right = [
        bool(rows) and all(isinstance(row[column], int) for row in rows) for column in range(len(headings))
    ]
    return "\n".join(_line(row, widths, right) for row in texts)


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    cells = (
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(row, widths, right, strict=True)
    )
    return "  ".join(cells).rstrip()


def _shown(cell: Cell) -> str:
    return "-" if cell is None else str(cell)
