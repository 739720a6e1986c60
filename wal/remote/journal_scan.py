"""Reading a journal: what follows a cut, in its order, and the end of the epochs before.

    chunks    what is there from a mark on: of each epoch up to its FENCE, or to the first missing number
    fence     the same, and a FENCE after it: from then on the epoch's writer can add nothing

Several requests of a writer are on their way at once, so chunks may lie beyond a missing number: their
writer had not acknowledged them, and they do not count.
"""

from __future__ import annotations

from collections.abc import Iterator

from wal.objects import NoSuchObject, ObjectExists, ObjectReads, ObjectStore
from wal.remote.formats import JournalMark
from wal.remote.journal_format import (
    JournalHeader,
    JournalObject,
    decode_journal,
    encode_journal,
    journal_key,
)


def read_journal(store: ObjectReads, prefix: str, mark: JournalMark) -> JournalObject | None:
    """Return the object at a place, None if there is none.  Raises: RemoteDamaged; ObjectStoreError."""
    key = journal_key(prefix, mark.epoch, mark.number)
    try:
        return decode_journal(store.read(key).data, f"{store.name}/{key}")
    except NoSuchObject:
        return None


def chunks(
    store: ObjectReads, prefix: str, since: JournalMark, *, epoch: int
) -> Iterator[tuple[JournalMark, JournalObject]]:
    """Yield the chunks from a mark on, of all epochs up to `epoch`.  Raises: as `read_journal`."""
    mark = since
    while mark.epoch <= epoch:
        found = read_journal(store, prefix, mark)
        if found is None or found.is_fence:
            mark = JournalMark(mark.epoch + 1, 0)
        else:
            yield mark, found
            mark = JournalMark(mark.epoch, mark.number + 1)


def fence(
    store: ObjectStore, prefix: str, since: JournalMark, *, epoch: int, incarnation: str
) -> Iterator[tuple[JournalMark, JournalObject]]:
    """End all epochs before `epoch`, and yield their chunks from a mark on.

    All of it must be taken: an epoch ends when its last chunk was taken.
    Raises: as `read_journal`.
    """
    mark = since
    while mark.epoch < epoch:
        found = read_journal(store, prefix, mark)
        if found is None:
            header = JournalHeader(
                epoch=mark.epoch, number=mark.number, incarnation=incarnation, fenced_by=epoch
            )
            try:
                store.create(journal_key(prefix, mark.epoch, mark.number), encode_journal(header))
            except ObjectExists:
                continue  # a chunk was quicker, or this FENCE is there after all: it is looked at again
            mark = JournalMark(mark.epoch + 1, 0)
        elif found.is_fence:
            mark = JournalMark(mark.epoch + 1, 0)
        else:
            yield mark, found
            mark = JournalMark(mark.epoch, mark.number + 1)
