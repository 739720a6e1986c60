"""The writer of one topic partition: it runs in Spark's Python workers, one for each task.

    init_transactions     ends what an earlier attempt has left open, and shuts that attempt out for good
    committed(group)      where the copy of this partition ends: all before it is skipped
    begin_transaction     records ─ offset map ─ position, in one transaction
    commit_transaction

The position is the next offset of the source, committed to the job's group on the target under the name of
the target's topic. So a task that is run again, by Spark or by the next run, continues where the last commit
ended, whatever became of the attempts before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipeline.errors import TargetError
from pipeline.offset_map import MAP_TOPIC, MapRecord, Origin, Piece, encoded, runs_of
from pipeline.sinks.patience import reporting, when_ready

if TYPE_CHECKING:
    import pyarrow

Batches = Iterator["pyarrow.RecordBatch"]
Place = tuple[str, int]

POLL_RECORDS = 1_000
"""Records between two polls for delivery reports."""

SECONDS = 60.0
"""The time that one request to the target may take, all its repetitions included."""

AT_ONCE = 8
"""Writers without records at a time: each mostly waits for the target."""

MESSAGE_BYTES = 100_000_000
"""The largest record that is handed to the target, which has a limit of its own."""

RESULT = "topic string, partition int, records long, written long, home long, bytes long, newest_ms long"
"""What a task tells: the records read and written, those that would have come home, key and value bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePlan:
    """The facts that a task must know of its job and its batch; they are sent to the workers."""

    job: str
    settings: Mapping[str, str]
    """Of librdkafka's clients."""
    transaction_timeout_ms: int
    group: str
    source_cluster: str
    target_topics: Mapping[str, str]
    target_ids: Mapping[str, str]
    ranges: Mapping[Place, tuple[int, int]]
    positions: Mapping[Place, int]
    """Where the copy of each partition ended when the batch began; none where nothing was copied."""
    foreign: Mapping[Place, list[Piece]] = field(default_factory=dict)
    home: Mapping[str, Origin] = field(default_factory=dict)
    """By source topic, the origin of the records that are left out."""


def topic_writer(plan: WritePlan) -> Callable[[Batches], Batches]:
    """Return the function for `mapInArrow`; it yields one row of RESULT for a task that had records."""

    def write(batches: Batches) -> Batches:
        writer: PartitionWriter | None = None
        try:
            for batch in batches:
                if batch.num_rows:
                    writer = writer or PartitionWriter(plan, _place_of(batch))
                    writer.add(batch)
            if writer is not None:
                writer.commit()
                yield writer.result()
        except BaseException:
            if writer is not None:
                writer.give_up()
            raise

    return write


def transactional_producer(settings: Mapping[str, str], name: str, timeout_ms: int) -> Any:
    """Return a producer that has shut out all earlier ones of its name.  Raises: TargetError."""
    from confluent_kafka import KafkaException, Producer

    producer = Producer(
        {
            "compression.type": "lz4",
            "linger.ms": "20",
            "queue.buffering.max.kbytes": "131072",
            "message.max.bytes": str(MESSAGE_BYTES),
            **settings,
            "transactional.id": name,
            "transaction.timeout.ms": str(timeout_ms),
        }
    )
    try:
        producer.init_transactions(SECONDS)
    except KafkaException as error:
        raise TargetError(
            f"the target {settings['bootstrap.servers']} does not take the transactional id {name!r}: "
            f"{error.args[0].str()}"
        ) from error
    return producer


def commit_without_records(plan: WritePlan, places: Iterable[Place]) -> None:
    """Move the positions of partitions of which a batch had no record, each by the writer of the partition.

    So another run that writes there is shut out first, and a position that is ahead stays.  Raises:
    TargetError.
    """

    def commit(place: Place) -> None:
        writer = PartitionWriter(plan, place)
        try:
            writer.commit()
        except BaseException:
            writer.give_up()
            raise

    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(commit, places))


def position_reader(settings: Mapping[str, str], group: str) -> Any:
    """Return a consumer that only asks for the positions of `group`."""
    from confluent_kafka import Consumer

    return Consumer({**settings, "group.id": group, "enable.auto.commit": False})


class PartitionWriter:
    """The transaction of one partition of one batch."""

    def __init__(self, plan: WritePlan, place: Place) -> None:
        self.plan = plan
        self.place = place
        topic, partition = place
        self.target = plan.target_topics[topic]
        self._reader = position_reader(plan.settings, plan.group)
        name = f"{plan.group}-{self.target}-{partition}"
        self._producer = transactional_producer(plan.settings, name, plan.transaction_timeout_ms)
        self.begin = self._position()
        self.records = self.home = self.payload_bytes = self.newest_ms = 0
        self._source: list[int] = []
        self._origins: list[int] = []
        self._known_origins: dict[Origin, int] = {}
        self._delivered: list[int] = []
        self._failure: Any = None
        self._open = False

    def _position(self) -> int:
        """Return the first offset that is not copied yet.  Raises: TargetError when offsets are missing."""
        from confluent_kafka import TopicPartition

        begin, _ = self.plan.ranges[self.place]
        asked = [TopicPartition(self.target, self.place[1])]
        [found] = when_ready(lambda: self._reader.committed(asked, SECONDS), within_seconds=SECONDS)
        known = self.plan.positions.get(self.place)
        if found.offset < 0 and known is None:
            return begin
        if found.offset < max(begin, known or 0):
            raise TargetError(
                f"{self.target}-{self.place[1]}: the copy ends at offset {found.offset} of the source, but "
                f"the batch begins at {begin}: the position was set back while the job ran. Stop what else "
                f"commits to the group {self.plan.group!r} and run the job again"
            )
        return int(found.offset)

    def add(self, batch: pyarrow.RecordBatch) -> None:
        """Produce the records of `batch` that are not copied yet."""
        if _place_of(batch) != self.place:
            raise TargetError(f"a task has records of {_place_of(batch)} and of {self.place}")
        self._count(batch)
        offsets = batch.column("offset").to_pylist()
        rows = zip(
            offsets,
            batch.column("key").to_pylist(),
            batch.column("value").to_pylist(),
            _times_ms(batch),
            _headers(batch),
            self._origin_indexes(offsets),
            strict=True,
        )
        for offset, key, value, time_ms, headers, origin in rows:
            if offset >= self.begin and origin >= 0:
                self._produce(offset, key, value, time_ms, headers, origin)

    def _produce(
        self, offset: int, key: bytes | None, value: bytes | None, time_ms: int, headers: Any, origin: int
    ) -> None:
        from confluent_kafka import KafkaException

        if not self._open:
            self._producer.begin_transaction()
            self._open = True
        if time_ms == 0:
            raise TargetError(
                f"{self.place[0]}-{self.place[1]} offset {offset} has the timestamp 0 (1970-01-01), which "
                "librdkafka cannot write: it would become the time of the copy"
            )
        while True:
            try:
                self._producer.produce(
                    self.target,
                    value,
                    key,
                    self.place[1],
                    on_delivery=self._on_delivery,
                    timestamp=time_ms,
                    headers=headers,
                )
                break
            except BufferError:  # its queue is full: wait for deliveries
                reporting(self._producer, self._producer.poll, 0.1)
            except KafkaException as error:
                raise TargetError(
                    f"{self.target}-{self.place[1]}: the record at offset {offset} of {self.place[0]!r} "
                    f"cannot be written: {error.args[0].str()}"
                ) from error
        self._source.append(offset)
        self._origins.append(origin)
        if len(self._source) % POLL_RECORDS == 0:
            reporting(self._producer, self._producer.poll, 0)

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is None:
            self._delivered.append(message.offset())
        else:
            self._failure = self._failure or error

    def commit(self) -> None:
        """Commit the records, their map and the position.  Raises: TargetError."""
        from confluent_kafka import KafkaException, TopicPartition

        _, until = self.plan.ranges[self.place]
        if self.begin >= until:
            self._reader.close()
            return  # an earlier attempt has committed it
        try:
            if not self._open:
                self._producer.begin_transaction()
                self._open = True
            seconds = self.plan.transaction_timeout_ms / 1000
            left = reporting(self._producer, self._producer.flush, seconds)
            self._check_delivered(left)
            if self.records:
                self._write_map(until)
            position = [TopicPartition(self.target, self.place[1], until)]
            members = self._reader.consumer_group_metadata()
            self._producer.send_offsets_to_transaction(position, members, SECONDS)
            self._producer.commit_transaction(SECONDS)
            self._open = False
        except KafkaException as error:
            raise self._not_committed(error.args[0]) from error
        finally:
            self._reader.close()

    def _not_committed(self, error: Any) -> TargetError:
        if _is_fenced(error):
            return TargetError(
                f"{self.target}-{self.place[1]}: another run of the job {self.plan.job!r} writes there now, "
                "and has shut this one out; nothing is lost or doubled. Let one of them run"
            )
        return TargetError(
            f"{self.target}-{self.place[1]}: the transaction of {len(self._source):,} records was not "
            f"committed: {error.str()}"
        )

    def _check_delivered(self, left: int) -> None:
        from confluent_kafka import KafkaException

        if self._failure is not None and (self._failure.fatal() or _is_fenced(self._failure)):
            raise KafkaException(self._failure)
        if self._failure is not None or left or len(self._delivered) != len(self._source):
            why = self._failure.str() if self._failure is not None else f"{left:,} have no answer"
            raise TargetError(
                f"{self.target}-{self.place[1]}: {len(self._delivered):,} of {len(self._source):,} records "
                f"were taken by {self.plan.settings['bootstrap.servers']}: {why}"
            )
        if any(after <= before for before, after in zip(self._delivered, self._delivered[1:], strict=False)):
            raise TargetError(
                f"{self.target}-{self.place[1]}: records were stored in another order than sent"
            )

    def _write_map(self, until: int) -> None:
        topic, partition = self.place
        record = MapRecord(
            job=self.plan.job,
            topic=topic,
            partition=partition,
            target_topic=self.target,
            target_id=self.plan.target_ids[self.target],
            begin=self.begin,
            until=until,
            origins=list(self._known_origins),
            runs=runs_of(self._source, self._delivered, self._origins),
        )
        for key, value in encoded(record):
            self._producer.produce(MAP_TOPIC, value, key, 0)

    def give_up(self) -> None:
        """Abort what was written; where the target does not answer, the next attempt does."""
        from confluent_kafka import KafkaException

        if not self._open:
            return
        try:
            self._producer.purge()
            self._producer.abort_transaction(5)
        except KafkaException:
            return  # the next attempt's init_transactions ends it

    def result(self) -> Any:
        """Return the row of RESULT."""
        import pyarrow

        counts = [self.records, len(self._source), self.home, self.payload_bytes, self.newest_ms]
        names = [part.split()[0] for part in RESULT.split(", ")]
        types = [pyarrow.string(), pyarrow.int32(), *[pyarrow.int64()] * len(counts)]
        arrays = [
            pyarrow.array([value], kind) for value, kind in zip([*self.place, *counts], types, strict=True)
        ]
        return pyarrow.RecordBatch.from_arrays(arrays, names=names)

    def _count(self, batch: pyarrow.RecordBatch) -> None:
        import pyarrow.compute as pc

        self.records += batch.num_rows
        for name in ("key", "value"):
            self.payload_bytes += pc.sum(pc.binary_length(batch.column(name))).as_py() or 0
        self.newest_ms = max(self.newest_ms, *_times_ms(batch))

    def _origin_indexes(self, offsets: list[int]) -> list[int]:
        """Return the index of each record's origin; -1 where it would come home."""
        topic = self.place[0]
        own = Origin(self.plan.source_cluster, topic)
        pieces = self.plan.foreign.get(self.place)
        if not pieces:
            return [self._known_origins.setdefault(own, len(self._known_origins))] * len(offsets)
        home = self.plan.home.get(topic)
        indexes, at = [], 0
        for offset in offsets:
            while at < len(pieces) and pieces[at].until <= offset:
                at += 1
            inside = at < len(pieces) and pieces[at].begin <= offset
            origin = pieces[at].origin if inside else own
            if origin == home:
                indexes.append(-1)
                continue
            indexes.append(self._known_origins.setdefault(origin, len(self._known_origins)))
        self.home += indexes.count(-1)
        return indexes


def _is_fenced(error: Any) -> bool:
    """Tell whether an error says that a newer producer has the same transactional id."""
    from confluent_kafka import KafkaError

    return error.code() in {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}


def _place_of(batch: pyarrow.RecordBatch) -> Place:
    """Return the topic partition of a batch's records; all of a task are of one."""
    import pyarrow.compute as pc

    topics, partitions = pc.unique(batch.column("topic")), pc.unique(batch.column("partition"))
    if len(topics) != 1 or len(partitions) != 1:
        raise TargetError("a task has records of several partitions; their order would not be kept")
    return topics[0].as_py(), partitions[0].as_py()


def _times_ms(batch: pyarrow.RecordBatch) -> list[int]:
    import pyarrow

    return [time // 1000 for time in batch.column("timestamp").cast(pyarrow.int64()).to_pylist()]


def _headers(batch: pyarrow.RecordBatch) -> list[Any]:
    """Return the headers of each record as pairs, in order; None where there are none."""
    column = batch.column("headers")
    if column.null_count == len(column):
        return [None] * len(column)
    return [
        headers and [(header["key"], header["value"]) for header in headers] for headers in column.to_pylist()
    ]
