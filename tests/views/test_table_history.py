"""A history of sub-tables gives what a fold over the records gives, at every position."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from views.table_history import (
    BatchTables,
    Change,
    TableHistories,
    TableHistory,
    name_of,
    stream_name,
    whole,
)

STREAMS = (1, 2)
KEYS = (b"a", b"b", b"c" * 100)
TAGS = (b"{}", b'{"t":1}', b'{"t":"' + b"x" * 90 + b'"}', None)

Rows = list[tuple[bytes, bytes | None]]
"""The records of one batch: keys, and tags, None of a tombstone."""


class Log:
    """Batches of two streams, in order of arrival."""

    def __init__(self) -> None:
        # (stream, first position, first offset, rows)
        self.batches: list[tuple[int, int, int, Rows]] = []
        self.ends = dict.fromkeys(STREAMS, 0)
        self.starts = dict.fromkeys(STREAMS, 0)
        self.end = 0

    def append(self, stream: int, rows: Rows) -> None:
        self.batches.append((stream, self.end, self.ends[stream], rows))
        self.end += len(rows)
        self.ends[stream] += len(rows)

    def folded(self) -> list[tuple[int, Change]]:
        """Return every record's position and effect, by the records that are left before it."""
        known: dict[tuple[int, bytes], bytes] = {}
        found = []
        for stream, base, offset, rows in self.batches:
            for place, (key, tags) in enumerate(rows):
                if offset + place < self.starts[stream]:
                    continue
                before = known.pop((stream, key), None)
                if tags is None:
                    change = Change.NONE if before is None else Change.DROP
                else:
                    known[stream, key] = tags
                    is_same = before == tags
                    change = Change.CREATE if before is None else Change.NONE if is_same else Change.ALTER
                found.append((base + place, change))
        return found


def read(log: Log, histories: TableHistories, position: int) -> list[tuple[int, Change]]:
    """Look at everything from a position on, as a view does."""
    history, begin = histories.at(position, 0)
    found = []
    for stream, base, offset, rows in log.batches:
        if base + len(rows) <= begin:
            continue
        tables = BatchTables(history, base)
        for place, (key, tags) in enumerate(rows):
            if offset + place < log.starts[stream]:
                continue
            name, where = name_of(stream_name(stream), key), (base + place, offset + place)
            change = tables.dropped(name, where) if tags is None else tables.shown(name, tags, where)
            if base + place >= position:
                found.append((base + place, change))
        list(tables.commit(base + len(rows)))
    return found


ROWS = st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(TAGS)), min_size=1, max_size=4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.sampled_from(STREAMS), ROWS),
        st.tuples(st.just("read"), st.integers(0, 60)),
        st.tuples(st.just("truncate"), st.sampled_from(STREAMS), st.integers(0, 40)),
    ),
    max_size=40,
)


@given(STEPS)
def test_every_reader_is_told_what_the_records_before_say(steps: list[Any]) -> None:
    log, histories = Log(), TableHistories()
    for name, *arguments in steps:
        if name == "append":
            log.append(*arguments)
        elif name == "truncate":
            stream, start = arguments
            log.starts[stream] = max(log.starts[stream], min(start, log.ends[stream]))
            histories.truncated(0, lambda name: log.starts[int.from_bytes(name, "big")])
        else:
            position = min(arguments[0], log.end)
            wanted = [item for item in log.folded() if item[0] >= position]
            assert read(log, histories, position) == wanted


def told(history: TableHistory, base: int, *names: bytes) -> list[Change]:
    """Take in one batch with a record of each name."""
    tables = BatchTables(history, base)
    changes = [tables.shown(name, b"{}", (base + place, 0)) for place, name in enumerate(names)]
    list(tables.commit(base + len(names)))
    return changes


def test_memory_is_bounded_and_what_was_forgotten_is_created_again() -> None:
    history = TableHistory(0, keys_max=16)
    names = [name_of(stream_name(1), b"%d" % number) for number in range(30)]
    for base, name in enumerate(names):
        assert told(history, base, name) == [Change.CREATE]
    assert len(history) <= 18
    assert told(history, 30, names[-1], names[0]) == [Change.NONE, Change.CREATE]
    assert history.begin > 0


def test_readers_before_what_is_remembered_learn_from_the_beginning() -> None:
    histories = TableHistories(keys_max=8)
    history, _ = histories.at(0, 0)
    for base in range(30):
        told(history, base, b"%08d%d" % (1, base))
    again, begin = histories.at(3, 0)
    assert (again is history, begin) == (False, 0)
    assert histories.at(30, 0) == (history, 30)
    assert histories.at(0, 0) == (again, 0)


def test_records_of_deleted_files_count_no_longer() -> None:
    history = TableHistory(0)
    name = name_of(stream_name(1), b"k")
    told(history, 5, name)
    history.truncated(6, whole)
    assert told(history, 6, name) == [Change.CREATE]
    assert told(history, 7, name) == [Change.NONE]


def test_a_batch_that_is_not_committed_changes_nothing() -> None:
    history = TableHistory(0)
    BatchTables(history, 0).shown(b"k", b"{}", (0, 0))
    assert len(history) == 0
    assert told(history, 0, b"12345678k") == [Change.CREATE]


def test_long_keys_are_not_mistaken_for_others() -> None:
    stream = stream_name(7)
    long = name_of(stream, b"k" * 1_000)
    assert len(long) == 8 + 33
    assert len({long, name_of(stream, b"k" * 1_001), name_of(stream, b"k" * 32)}) == 3
