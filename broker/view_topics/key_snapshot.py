"""A snapshot of a partition: of the records below its end, only the last one of each key.

So a reader that begins at the start gets the present state of each key, and from the snapshot's end on every
record: nothing is missing between the two, and nothing comes twice.  Records keep their offsets, as in a
compacted topic; a key whose last record is a tombstone is shown with that.  Records without a key are all
shown, and so are changes of topics.

The keys are collected by reading everything below the end, in slices, over several fetches if need be.  If
memory runs out, the snapshot ends where it did, and every record after that is shown.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from broker.catalogue.catalogue_changes import KIND_HEADER
from broker.loop.slices import WaitingSteps
from broker.view_topics.stream_owners import TOPIC_HEADER
from broker.view_topics.view_slices import SliceBudget
from protocol.errors import ProtocolError
from protocol.record_reader import Record, iter_records
from protocol.records import read_batch_header

KEYS_MAX: Final = 400_000
"""The keys in all snapshots of groups, at 160 bytes each: 64 MB."""

OVER_MANY: Final = frozenset({"database"})
"""The kinds of views that show several topics."""

PLAIN_KEY_BYTES: Final = 32
"""Longer keys are kept as digests of this length and one byte, which no plain key has."""

RECORDS_PER_STEP: Final = 500
"""Records noted between two looks at the time."""


class KeyBudget:
    """The keys in all snapshots that share it."""

    __slots__ = ("_keys_max", "keys")

    def __init__(self, keys_max: int | None = None) -> None:
        self._keys_max = keys_max
        self.keys = 0

    @property
    def is_full(self) -> bool:
        """Whether no further batch may be noted; one may go beyond the limit."""
        return self.keys >= (KEYS_MAX if self._keys_max is None else self._keys_max)


class KeySnapshot:
    """The keys of one partition below `end`, each with the offset of its last record."""

    __slots__ = ("_budget", "_last", "_over_many", "end", "noted")

    def __init__(self, start: int, end: int, budget: KeyBudget, *, over_many: bool) -> None:
        """`over_many`: the partition shows several topics, in which the same key is not the same thing."""
        self.end = end
        # The offset up to which records have been noted.
        self.noted = start
        self._budget = budget
        self._last: dict[bytes, int] = {}
        self._over_many = over_many

    def __len__(self) -> int:
        return len(self._last)

    @property
    def is_complete(self) -> bool:
        """Whether all keys below the end are known."""
        return self.noted >= self.end

    def note(self, batches: list[memoryview], next_offset: int, budget: SliceBudget) -> WaitingSteps:
        """Note the records of batches that reach up to `next_offset`."""
        for batch in batches:
            header = read_batch_header(batch)
            if header.base_offset >= self.end:
                break
            if self._budget.is_full:
                self.end = self.noted = header.base_offset
                return
            yield from self._note_batch(batch)
            if budget.spend(records=header.record_count, size_bytes=header.size_bytes):
                yield None
        self.noted = max(self.noted, next_offset)

    def _note_batch(self, batch: memoryview) -> WaitingSteps:
        before = len(self._last)
        try:
            for count, record in enumerate(iter_records(batch)):
                name = self._name_of(record)
                if name is not None and self.noted <= record.offset < self.end:
                    self._last[name] = record.offset
                if not (count + 1) % RECORDS_PER_STEP:
                    yield None
        except ProtocolError:
            # Records that cannot be read are shown as they are; the reader says so.
            return
        finally:
            self._budget.keys += len(self._last) - before

    def shows(self, record: Record) -> bool:
        """Whether a record is the last of its key in the snapshot, or not in it."""
        if record.offset >= self.end:
            return True
        name = self._name_of(record)
        return name is None or self._last.get(name, -1) <= record.offset

    def _name_of(self, record: Record) -> bytes | None:
        """Return what identifies the record's key; None if the record is always shown."""
        key = record.key
        if key is None or KIND_HEADER in record.headers:
            return None
        if self._over_many:
            topic = next((value for name, value in reversed(record.headers) if name == TOPIC_HEADER), None)
            key = b"%d %b %b" % (len(topic or b""), topic or b"", key)
        if len(key) <= PLAIN_KEY_BYTES:
            return key
        return b"\xff" + blake2b(key, digest_size=PLAIN_KEY_BYTES).digest()

    def close(self) -> None:
        """Free the memory of the keys."""
        self._budget.keys -= len(self._last)
        self._last = {}
