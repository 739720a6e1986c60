"""Changes to a batch before it is stored (broker/storage/rewriting.py), large ones in a thread."""

from __future__ import annotations

from typing import NamedTuple

from broker.config.topic_settings import TopicSettings
from broker.errors import RequestError
from broker.storage.rewriting import moved_batches, opened_with, rewritten
from broker.storage.routing import Moved
from protocol.error_codes import ErrorCode
from protocol.errors import Malformed
from protocol.record_reader import Headers
from protocol.record_writer import left_behind_batch


class BatchChanges(NamedTuple):
    """The records that are left out, the headers that all others get, and the records that go elsewhere."""

    dropped: frozenset[int]
    added: Headers
    moved: Moved


class Changed(NamedTuple):
    """A batch as it is stored: what stays, and a batch for each partition to which records are moved."""

    rest: memoryview
    parts: tuple[tuple[int, memoryview], ...] = ()


class Rewriting(NamedTuple):
    """A large batch with changes that a thread has to make: append it again with them."""

    changes: BatchChanges
    batch: memoryview
    """The batch as it came, with its timestamps set."""
    rest: bytearray | None = None
    """The batch without some records and with the headers added, once it is made."""
    parts: tuple[bytearray, ...] = ()
    """The batches for other partitions, as `changes.moved` has them."""
    expands: bool = False
    """Whether it was not made, as readers would refuse what it expands to."""
    flaw: str = ""
    """The reason why it could not be made: it cannot be read to its end."""

    def made(self) -> Rewriting:
        """Return it with the changed batch; for a thread."""
        try:
            return self._made()
        except Malformed as error:
            return self._replace(flaw=str(error))

    def _made(self) -> Rewriting:
        dropped, added, moved = self.changes
        opened = opened_with(self.batch, added)
        if opened is None:
            return self._replace(expands=True)
        left_out, header = dropped.union(*(indexes for _, indexes in moved)), opened.header
        if len(left_out) == header.record_count and header.producer_id >= 0:
            rest = left_behind_batch(header)
        else:
            rest = rewritten(opened, left_out)
        return self._replace(rest=rest, parts=tuple(moved_batches(opened, moved)))

    def fits(self, changes: BatchChanges) -> bool:
        """Whether it was made, with these changes."""
        return (self.rest is not None or self.expands or bool(self.flaw)) and self.changes == changes

    def result(self, settings: TopicSettings) -> memoryview | Changed:
        """Return the batch, or the batches, made.

        Raises: RequestError if headers make one too large, or it cannot be read.
        """
        if self.flaw:
            raise RequestError(ErrorCode.INVALID_RECORD, self.flaw)
        limit = min(settings.max_message_bytes, settings.segment_bytes)
        if self.rest is None:
            raise _too_large("expands to more than readers accept", limit)
        largest = max(len(batch) for batch in (self.rest, *self.parts))
        if self.changes.added and largest > limit:
            raise _too_large(f"has {largest} bytes", limit)
        if not self.parts:
            return memoryview(self.rest)
        parts = zip(self.changes.moved, self.parts, strict=True)
        return Changed(
            memoryview(self.rest), tuple((target, memoryview(part)) for (target, _), part in parts)
        )


def _too_large(why: str, limit: int) -> RequestError:
    return RequestError(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"with the topic's kawal.session.headers the batch {why}; the topic takes {limit} bytes",
    )
