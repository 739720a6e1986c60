"""The checks of values for kawal.schema.validation.

    columns     what does not fit kawal.columns, by the code that judges for views and quarantines
    registry    what is not framed, names a schema that the registry does not have, or does not decode

Both run in threads: the first look compiles code, and each value takes microseconds. Null fits everything: it
is a deletion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from broker.storage.column_judges import JUDGES
from protocol.record_reader import Record

if TYPE_CHECKING:
    from broker.storage.schemas import Schemas

MISFITS_MAX: Final = 1000
"""The most refused records named in one answer, as for records without a key."""

ROWS_PER_LOOK: Final = 1000
"""The records judged at once."""

LEARNED_AT_ONCE_MAX: Final = 16
"""The schemas that a batch asks for at once: one that names thousands that do not exist asks for these."""

Misfits = list[tuple[int, str]]
"""Places in the batch, and reasons."""


class ValueCheck(Protocol):
    """A check of one batch."""

    misfits: Misfits

    @property
    def missing(self) -> frozenset[int]:
        """The schemas without which it could not be decided; there may be more."""

    def add(self, index: int, record: Record) -> None:
        """Look at the next record."""

    def finish(self) -> None:
        """Look at what is left."""


class ColumnsCheck:
    """The check against declared columns."""

    def __init__(self, columns: str) -> None:
        self._judge = JUDGES.of(columns)
        self._first = 0
        self._rows: list[Record] = []
        self.misfits: Misfits = []

    @property
    def missing(self) -> frozenset[int]:
        """Nothing: columns need no schemas."""
        return frozenset()

    def add(self, index: int, record: Record) -> None:
        """Look at the next record, once there are enough."""
        self._rows.append(record)
        if len(self._rows) == ROWS_PER_LOOK:
            self._look(index + 1)

    def finish(self) -> None:
        """Look at what is left."""
        self._look(0)

    def _look(self, following: int) -> None:
        rows, first, judge = self._rows, self._first, self._judge
        self._rows, self._first = [], following
        room = MISFITS_MAX - len(self.misfits)
        if not rows or room <= 0:
            return
        for at, why in judge.misfits(rows)[:room]:
            self.misfits.append((first + at, why))


class RegistryCheck:
    """The check against the schemas of a registry."""

    def __init__(self, schemas: Schemas, *, trusting: bool) -> None:
        """`trusting`: what names a schema that is not known yet fits."""
        from registry import errors, framing

        self._schemas = schemas
        self._trusting = trusting
        self._framing = framing
        self._error = errors.RegistryError
        self._missing: set[int] = set()
        self.misfits: Misfits = []

    @property
    def missing(self) -> frozenset[int]:
        """The schemas without which it could not be decided."""
        return frozenset(self._missing)

    def add(self, index: int, record: Record) -> None:
        """Look at the next record."""
        value = record.value
        if value is None or len(self.misfits) >= MISFITS_MAX or len(self._missing) >= LEARNED_AT_ONCE_MAX:
            return
        why = self._why_not(value)
        if why is not None:
            self.misfits.append((index, why))

    def finish(self) -> None:
        """Look at what is left: nothing."""

    def _why_not(self, value: bytes) -> str | None:
        identity = self._framing.schema_id(value)
        if identity is None:
            return self._framing.frame_problem(value)
        decode = self._schemas.find(identity)
        if isinstance(decode, str):
            return decode
        if decode is None:
            if not self._trusting:
                self._missing.add(identity)
            return None
        try:
            decode(self._framing.payload(value))
        except self._error as error:
            return f"not of schema {identity}: {error}"
        return None
