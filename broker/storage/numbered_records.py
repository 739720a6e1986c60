"""The names and numbers of producers in the headers of a batch's records, for kawal.dedup=seqno.

    kawal-producer-id     the producer's name: 1 to 256 bytes
    kawal-seqno           int64, big-endian, 0 or more; each above the one before, gaps are allowed

Numbers of one producer that do not ascend within the batch are repetitions, whatever was stored before. So
what is left of each producer is an ascending run, and how much of it is new takes one bisection.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from typing import Final, NamedTuple

from protocol.record_reader import Headers

NAME_HEADER: Final = "kawal-producer-id"
SEQNO_HEADER: Final = "kawal-seqno"

NAME_BYTES_MAX: Final = 256
"""A name is kept in memory for days; 256 bytes hold a path or a few UUIDs."""

NAMES_PER_BATCH_MAX: Final = 500
"""The most producers in one batch, as each takes a few microseconds when the batch is appended."""

_ERRORS_MAX: Final = 1000
_SEQNO: Final = struct.Struct(">q")


class Run(NamedTuple):
    """The records of one producer whose numbers ascend."""

    seqnos: list[int]
    indexes: list[int]

    def repeated(self, last: int) -> list[int]:
        """Return the records with numbers up to `last`."""
        return self.indexes[: bisect_right(self.seqnos, last)]


class NumberedRecords(NamedTuple):
    """The numbers of a batch."""

    runs: dict[bytes, Run]
    repeated: frozenset[int]
    """Records that repeat a number of their own batch."""
    errors: tuple[tuple[int, str], ...]
    """The first records whose headers are missing or wrong, and what is wrong."""


class Numbering:
    """Collects the numbers of a batch."""

    __slots__ = ("_errors", "_repeated", "_runs")

    def __init__(self) -> None:
        self._runs: dict[bytes, Run] = {}
        self._repeated: list[int] = []
        self._errors: list[tuple[int, str]] = []

    def add(self, index: int, headers: Headers) -> None:
        """Add a record; of a header that comes twice the last one counts, as in Kafka's `lastHeader`."""
        found = dict(headers)
        name, seqno = found.get(NAME_HEADER), found.get(SEQNO_HEADER)
        if name is None or seqno is None or len(seqno) != _SEQNO.size or not 0 < len(name) <= NAME_BYTES_MAX:
            self._refuse(index, _problem(name, seqno))
            return
        (number,) = _SEQNO.unpack(seqno)
        run = self._runs.get(name)
        if number < 0:
            self._refuse(index, f"header {SEQNO_HEADER!r} is {number}; give 0 or more")
        elif run is None:
            if len(self._runs) == NAMES_PER_BATCH_MAX:
                self._refuse(index, f"more than {NAMES_PER_BATCH_MAX} producers in a batch")
            else:
                self._runs[name] = Run([number], [index])
        elif number > run.seqnos[-1]:
            run.seqnos.append(number)
            run.indexes.append(index)
        else:
            self._repeated.append(index)

    def _refuse(self, index: int, problem: str) -> None:
        if len(self._errors) < _ERRORS_MAX:
            self._errors.append((index, problem))

    def result(self) -> NumberedRecords:
        """Return all of them."""
        return NumberedRecords(self._runs, frozenset(self._repeated), tuple(self._errors))


def _problem(name: bytes | None, seqno: bytes | None) -> str:
    if name is None:
        return f"has no header {NAME_HEADER!r}, which the topic asks for (kawal.dedup=seqno)"
    if not 0 < len(name) <= NAME_BYTES_MAX:
        return f"header {NAME_HEADER!r} has {len(name)} bytes; give 1 to {NAME_BYTES_MAX}"
    if seqno is None:
        return f"has no header {SEQNO_HEADER!r}, which the topic asks for (kawal.dedup=seqno)"
    return f"header {SEQNO_HEADER!r} has {len(seqno)} bytes; give an int64, 8 bytes, big-endian"
