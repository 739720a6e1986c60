"""The answer to a statement: a sentence or rows; as a table for people, as JSON or CSV for programs.

Programs get rows only: with JSON and CSV, sentences go to standard error.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from console.tables import table

Row = Sequence[Any]


class Format(Enum):
    """The forms in which rows are printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class Result:
    """A sentence, or columns with rows.

    `text` stands for the rows where people read something else; `tree` is their JSON if it is not a list of
    objects.
    """

    said: str = ""
    columns: tuple[str, ...] = ()
    rows: Sequence[Row] = ()
    text: str | None = None
    tree: Any = None

    def rendered(self, form: Format) -> str:
        """Return the rows in this form, without the end of the last line."""
        match form:
            case Format.JSON:
                return json.dumps(self.as_tree(), indent=2, ensure_ascii=False)
            case Format.CSV:
                return self._csv()
            case Format.TABLE:
                return self.text if self.text is not None else self._table()

    def as_tree(self) -> Any:
        """Return the rows as JSON has them: a list of objects, unless there is a tree."""
        if self.tree is not None:
            return self.tree
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def _csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_flat(cell) for cell in row] for row in self.rows)
        return out.getvalue().rstrip("\n")

    def _table(self) -> str:
        if not self.rows:
            return "no rows"
        heads = [name.upper().replace("_", " ") for name in self.columns]
        return table(heads, [[_cell(cell) for cell in row] for row in self.rows])


def _flat(cell: Any) -> Any:
    """Return a cell of CSV: NULL is empty, a list or an object is its JSON."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    return cell if isinstance(cell, str | int | float) else json.dumps(cell, ensure_ascii=False)


def _cell(cell: Any) -> str | int | None:
    if cell is None or (isinstance(cell, int) and not isinstance(cell, bool)):
        return cell
    if isinstance(cell, list) and all(isinstance(item, str) for item in cell):
        return ", ".join(cell)
    return str(_flat(cell))
