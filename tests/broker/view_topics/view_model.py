"""A topic that lives through everything, the views over it, and what they must show.

The truth of a topic is what was written to it: every record that was acknowledged and committed, from the
log start on.  Compaction takes records away, so of a compacted topic the truth is what a reader of the topic
gets, among what was written, with the last record of each key.  What a view must show is its statement, as a
function in Python, applied to the truth.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

from crc32c import crc32c

from protocol.compression import Codec
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch
from protocol.records import iter_batches, read_batch_header
from tests.broker.compacted import SMALL, pass_time
from tests.broker.databases import create_database
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import create, fetched, fetching, offset_of, send
from tests.broker.topic_changes import alter, delete, grow
from tests.broker.txn import Producer

VALUES: Final = [
    b'{"v":1,"s":"a"}',
    b'{"v":3,"s":"b"}',
    b'{"v":7}',
    b'{"v":null,"s":"c"}',
    b'{"v":"text"}',
    b'{"v":5,"s":5}',
    b"no JSON",
    b"",
    None,
]
KEYS: Final = [b"k0", b"k1", b"k2", None]
LATE_MS: Final = START_MS + 15_000

Shown = tuple[int, bytes | None, Any]
"""Offset, key and value of a record."""

Statement = Callable[[Record], Any]
"""The value that a view shows of a record, HIDDEN if none."""

HIDDEN: Final = object()


def parsed(value: bytes | None) -> dict[str, Any] | None:
    """Return the columns of a value, None if it is no JSON object."""
    if value is None:
        return {}
    try:
        found = json.loads(value)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def fits(value: bytes | None, *columns: str) -> bool:
    found = parsed(value)
    kinds = {"v": int, "s": str}
    return found is not None and all(
        found.get(name) is None or isinstance(found[name], kinds[name]) for name in columns
    )


def column(record: Record, name: str) -> Any:
    return (parsed(record.value) or {}).get(name)


def _some(record: Record) -> Any:
    if not fits(record.value, "v", "s") or not (column(record, "v") or 0) > 2:
        return HIDDEN
    return {"v": column(record, "v"), "s": column(record, "s")}


def _late(record: Record) -> Any:
    is_shown = fits(record.value, "v") and record.offset >= 7 and column(record, "v") is not None
    return record.value if is_shown else HIDDEN


def _recent(record: Record) -> Any:
    is_shown = fits(record.value, "v") and record.timestamp_ms >= LATE_MS
    return {"v": column(record, "v")} if is_shown else HIDDEN


VIEWS: Final[dict[str, tuple[dict[str, str], Statement]]] = {
    "every": ({"kawal_sql": "STABLE t"}, lambda record: record.value),
    "other": ({"kawal_alias_of": "t"}, lambda record: record.value),
    "some": ({"kawal_sql": "SELECT v, s FROM t WHERE v > 2"}, _some),
    "keyed": (
        {"kawal_sql": "STABLE t WHERE tbname = 'k1'"},
        lambda record: record.value if record.key == b"k1" else HIDDEN,
    ),
    "late": ({"kawal_sql": "SELECT * FROM t WHERE _offset >= 7 AND v IS NOT NULL"}, _late),
    "recent": ({"kawal_sql": f"SELECT v FROM t WHERE _rowts >= {LATE_MS}"}, _recent),
    "bad": (
        {"kawal_sql": "UNFIT t"},
        lambda record: HIDDEN if fits(record.value, "v", "s") else record.value,
    ),
    "part": (
        {"kawal_alias_of": "t", "kawal_from": "offset 3", "kawal_to": "offset 25"},
        lambda record: record.value if 3 <= record.offset < 25 else HIDDEN,
    ),
}
"""Views that show offsets of the topic: their configurations, and what they show."""

VERSIONED: Final = {"changes": "STABLE t WITH META", "all": "DATABASE d", "told": "DATABASE d WITH META"}
"""Views whose offsets are versions."""

CHANGES_ALONE: Final = {"changes": "changes.alone", "told": "told.alone"}
"""Views WITH META, and those of the same ONLY META."""

TAGS_QUERY: Final = "tags"


class ViewModel:
    """One gateway, the topic t in the database d, views over both, and what was written."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.gateway = Gateway(group_initial_rebalance_delay_ms=0)
        self.is_compacted = self.chance.random() < 0.4
        self.written: dict[int, dict[int, Record]] = {}
        # By partition and offset, the largest time that a faulty producer's batch names, below its records'.
        self.understated: dict[tuple[int, int], int] = {}
        self.time_ms = START_MS
        create_database(self.client, "d", vnodes=str(self.chance.choice([1, 2])))
        self.make()

    @property
    def client(self) -> Client:
        return self.gateway.client()

    def make(self) -> None:
        """Make the topic with its views."""
        policy = {"cleanup_policy": "compact,delete", "retention_ms": "-1"} if self.is_compacted else {}
        small = {**SMALL, **policy} if self.is_compacted else {}
        count = self.chance.choice([1, 2])
        self.declares = self.chance.random() < 0.6
        small["kawal_tables_declare"] = "auto" if self.declares else "sql"
        columns = "v int, s string, place string tag"
        create(self.client, "t", count, kawal_database="d", kawal_columns=columns, **small)
        self.written = {index: {} for index in range(count)}
        self.understated = {}
        for name, (configs, _) in VIEWS.items():
            create(self.client, name, -1, **configs)
        for name, text in VERSIONED.items():
            create(self.client, name, -1, kawal_sql=text)
        for name, alone in CHANGES_ALONE.items():
            create(self.client, alone, -1, kawal_sql=VERSIONED[name].replace("WITH", "ONLY"))
        create(self.client, TAGS_QUERY, -1, kawal_sql="SELECT place FROM t")

    # --- what happens ----------------------------------------------------------------------------------

    def produce(self) -> None:
        index = self.chance.choice(list(self.written))
        made = []
        for place in range(self.chance.randrange(1, 6)):
            self.time_ms += self.chance.choice([0, 1, 900, -400])
            key = self.chance.choice(KEYS[:3] if self.is_compacted else KEYS)
            made.append(Record(place, self.time_ms, key, self.chance.choice(VALUES), self._tag()))
        # Compaction writes batches anew, with the time of their records.
        is_faulty = not self.is_compacted and self.chance.random() < 0.2
        largest_ms = made[0].timestamp_ms
        if is_faulty:
            later = [record._replace(timestamp_ms=record.timestamp_ms + 20_000) for record in made[1:]]
            made = [made[0], *later]
        data = encode_batch(made, codec=self.chance.choice([Codec.NONE, Codec.LZ4, Codec.ZSTD]))
        answer = send(self.client, "t", with_largest_time(data, largest_ms) if is_faulty else data, index)
        assert answer.error_code == 0, answer
        base = answer.base_offset
        if is_faulty:
            self.understated.update({(index, base + record.offset): largest_ms for record in made})
        self.written[index].update(
            {base + record.offset: record._replace(offset=base + record.offset) for record in made}
        )

    def _tag(self) -> tuple[tuple[str, bytes], ...]:
        if self.chance.random() < 0.7:
            return ()
        return (("kawal.tag.place", self.chance.choice([b"here", b"there"])),)

    def declare(self) -> None:
        """Have the topic's records declare sub-tables, or no longer."""
        self.declares = not self.declares
        alter(self.client, "t", "kawal.tables.declare", "auto" if self.declares else "sql")

    def transact(self) -> None:
        if self.is_compacted:
            return
        index, producer = self.chance.choice(list(self.written)), Producer(self.gateway)
        base = offset_of(self.client, "t", -1, index).offset
        producer.write("t", index, b"in a transaction")
        if self.chance.random() < 0.5:
            producer.abort()
        else:
            producer.commit()
            self.written[index][base] = Record(base, START_MS, b"k", b"in a transaction")

    def truncate(self) -> None:
        index = self.chance.choice(list(self.written))
        start, end = (offset_of(self.client, "t", which, index).offset for which in (-2, -1))
        asked = DeleteRecordsPartition(partition_index=index, offset=self.chance.randint(start, end))
        topic = DeleteRecordsTopic(name="t", partitions=[asked])
        self.client.call(DeleteRecordsRequest(topics=[topic], timeout_ms=1), 2)

    def grow(self) -> None:
        if len(self.written) < 4:
            grow(self.client, "t", len(self.written) + 1)
            self.written[len(self.written)] = {}

    def compact(self) -> None:
        if self.is_compacted:
            for index in self.written:
                for number in range(2):
                    filler = Record(0, self.time_ms, b"filler", b"%d" % number * 900)
                    base = send(self.client, "t", encode_batch([filler]), index).base_offset
                    self.written[index][base] = filler._replace(offset=base)
            pass_time(self.gateway)

    def make_again(self) -> None:
        for name in (*VIEWS, *VERSIONED, *CHANGES_ALONE.values(), TAGS_QUERY, "t"):
            delete(self.gateway, name)
        self.is_compacted = self.chance.random() < 0.4
        self.make()

    def restart(self) -> None:
        if self.chance.random() < 0.5:
            self.gateway.restart()
        else:
            self.gateway.settle()
            self.gateway.crash()
        pass_time(self.gateway, 1)

    def step(self) -> str:
        """Let something happen; return what."""
        names = ["produce"] * 10 + ["truncate"] * 2 + ["transact"] * 2
        names += ["grow", "compact", "compact", "make_again", "restart", "declare"]
        name = self.chance.choice(names)
        getattr(self, name)()
        return name

    # --- what is read ----------------------------------------------------------------------------------

    def read(self, name: str, index: int, start: int) -> list[Record]:
        """Read a topic as a consumer does, in fetches of any size."""
        return consume(self.client, name, index, start, self.chance)

    def _as_views_see(self, index: int, record: Record) -> Record:
        """Return a record with the time that views have for it: at most the largest that its batch names."""
        largest_ms = self.understated.get((index, record.offset), record.timestamp_ms)
        return record._replace(timestamp_ms=min(record.timestamp_ms, largest_ms))

    def truth(self, index: int) -> list[Record]:
        """Return what the topic has now in a partition, by what was written, and compare its readers."""
        start = offset_of(self.client, "t", -2, index).offset
        kept = [record for offset, record in sorted(self.written[index].items()) if offset >= start]
        shown = self.read("t", index, start)
        if not self.is_compacted:
            found, wanted = [plain(record) for record in shown], [plain(record) for record in kept]
            assert found == wanted, f"{found} is not {wanted}"
            return [self._as_views_see(index, record) for record in shown]
        assert {plain(record) for record in shown} <= {plain(record) for record in kept}
        last = {record.key: record.offset for record in kept if record.value is not None}
        gone = {
            record.key for record in kept if record.value is None and record.offset > last.get(record.key, -1)
        }
        offsets = {record.offset for record in shown}
        assert {offset for key, offset in last.items() if key not in gone} <= offsets
        return shown


def consume(client: Client, name: str, index: int, start: int, chance: Random) -> list[Record]:
    """Read the committed records of a partition in fetches of any size, until the high watermark."""
    offset = start
    found: list[Record] = []
    for _ in range(5_000):
        size_bytes = chance.choice([1, 200, 1 << 20])
        asked = fetching({(name, index): offset}, partition_max_bytes=size_bytes, isolation_level=1)
        data = fetched(client.call(asked, 12))[name, index]
        assert data.error_code == 0, (name, index, offset, data)
        if offset >= data.high_watermark:
            return found
        before = offset
        for batch, is_committed in judged_batches(data):
            header = read_batch_header(batch)
            if is_committed:
                found += [record for record in iter_records(batch) if record.offset >= before]
            offset = max(offset, header.last_offset + 1)
        assert offset > before, f"a reader of {name}-{index} stands still at {offset}"
    raise AssertionError(f"{name}-{index} never ends")


def with_largest_time(data: bytearray, largest_ms: int) -> bytearray:
    """Return a batch whose header names this time as the largest of its records, true or not.

    A time before that of the first record would be corrected when the batch is produced.
    """
    data[35:43] = largest_ms.to_bytes(8, "big", signed=True)
    data[17:21] = crc32c(memoryview(data)[21:]).to_bytes(4, "big")
    return data


def judged_batches(data: Any) -> Iterator[tuple[memoryview, bool]]:
    """Yield the batches of an answer, and whether each holds committed records, by Kafka's rule."""
    begin = sorted((part.first_offset, part.producer_id) for part in data.aborted_transactions or ())
    aborted: set[int] = set()
    for batch in iter_batches(bytes(data.records or b"")):
        header = read_batch_header(batch)
        while begin and begin[0][0] <= header.last_offset:
            aborted.add(begin.pop(0)[1])
        if header.is_control:
            aborted.discard(header.producer_id)
        yield batch, not (header.is_control or (header.is_transactional and header.producer_id in aborted))


def plain(record: Record) -> Shown:
    """Return what is compared of a record."""
    return record.offset, record.key, record.value
