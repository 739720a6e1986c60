"""The inspection of a batch whose topic asks for a look at its records: each is decoded once.

    cleanup.policy=compact       records without a key
    kawal.check.records=open     everything that Kafka's validator refuses
    kawal.dedup=seqno            the producers' names and numbers in the headers

A large batch is inspected in a thread, before it is checked by its head; a small one on the event loop.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from broker.config.topic_settings import TopicSettings
from broker.storage.numbered_records import NumberedRecords, Numbering
from protocol.errors import Malformed
from protocol.record_reader import Record, iter_records
from protocol.records import HEADER_BYTES, NO_TIMESTAMP, read_batch_header

RECORD_ERRORS_MAX: Final = 1000
"""The most refused records named in one answer: a million wrong ones should not make an answer of 100 MB."""

INSPECTED_RECORDS_MAX: Final = 200
"""The most records of a batch that are inspected on the event loop: about 0.4 ms."""

INSPECTED_BYTES_MAX: Final = 64 << 10
"""The largest such batch."""


class Inspection(NamedTuple):
    """The facts about the records of a batch that its topic's settings ask for."""

    settings: TopicSettings
    """The settings that were in effect."""
    flaw: Malformed | None = None
    """The reason why the batch cannot be read to its end."""
    keyless: tuple[int, ...] = ()
    """The first records without a key."""
    times: tuple[int, int] | None = None
    """The earliest and the latest timestamp, if records are checked and one has a timestamp."""
    numbered: NumberedRecords | None = None


def takes_long(records: bytes | bytearray | memoryview | None) -> bool:
    """Whether to inspect a batch, which is not checked yet, in a thread."""
    if records is None or len(records) < HEADER_BYTES:
        return False
    return len(records) > INSPECTED_BYTES_MAX or (
        read_batch_header(records).record_count > INSPECTED_RECORDS_MAX
    )


def inspect(batch: bytes | bytearray | memoryview, settings: TopicSettings) -> Inspection:
    """Look at all records of a batch; takes 1 to 2 µs for each, plus decompression."""
    look = _Look(settings)
    try:
        base_offset = read_batch_header(batch).base_offset
        for index, record in enumerate(iter_records(batch)):
            look.at(index, base_offset, record)
    except Malformed as error:
        return Inspection(settings, flaw=error)
    return look.result()


class _Look:
    """The facts found so far."""

    __slots__ = ("checks", "compacts", "earliest", "keyless", "latest", "numbering", "settings")

    def __init__(self, settings: TopicSettings) -> None:
        self.settings = settings
        self.checks = settings.checks_records
        self.compacts = settings.compacts
        self.keyless: list[int] = []
        self.earliest = self.latest = NO_TIMESTAMP
        self.numbering = Numbering() if settings.dedups else None

    def at(self, index: int, base_offset: int, record: Record) -> None:
        """Look at a record.  Raises: Malformed."""
        if self.checks:
            self._check(index, base_offset, record)
        if self.compacts and record.key is None and len(self.keyless) < RECORD_ERRORS_MAX:
            self.keyless.append(index)
        if self.numbering is not None:
            self.numbering.add(index, record.headers)

    def _check(self, index: int, base_offset: int, record: Record) -> None:
        if record.offset != base_offset + index:
            raise Malformed(
                HEADER_BYTES, f"record {index}", f"has offset delta {record.offset - base_offset}"
            )
        timestamp = record.timestamp_ms
        if timestamp != NO_TIMESTAMP:
            if self.earliest == NO_TIMESTAMP or timestamp < self.earliest:
                self.earliest = timestamp
            self.latest = max(self.latest, timestamp)

    def result(self) -> Inspection:
        """Return all of them."""
        has_times = self.earliest != NO_TIMESTAMP
        return Inspection(
            self.settings,
            keyless=tuple(self.keyless),
            times=(self.earliest, self.latest) if has_times else None,
            numbered=self.numbering.result() if self.numbering is not None else None,
        )
