"""The writer of one partition, with a producer that keeps what it is given."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow
import pytest
from confluent_kafka import KafkaError, KafkaException

from pipeline.errors import TargetError
from pipeline.offset_map import MAP_TOPIC, Origin, Piece, Run, decoded
from pipeline.sinks.topic_writer import WritePlan, commit_without_records, topic_writer

PLACE = ("t", 0)
BASE = 500
"""The target's first offset."""


class Message:
    def __init__(self, offset: int) -> None:
        self.offset = lambda: offset


class FakeProducer:
    """A transactional producer whose partition takes offsets from BASE on."""

    def __init__(self, refuse: int | None = None) -> None:
        self.calls: list[str] = []
        self.sent: list[tuple[Any, ...]] = []
        self.maps: list[bytes] = []
        self.positions: list[Any] = []
        self._waiting: list[Any] = []
        self._refuse = refuse

    def begin_transaction(self) -> None:
        self.calls.append("begin")

    def produce(self, topic: str, value: Any, key: Any, partition: int, **more: Any) -> None:
        if topic == MAP_TOPIC:
            self.maps.append(value)
            return
        if value == b"too large":
            raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
        report = more.pop("on_delivery")
        if self._refuse == len(self.sent):
            raise TargetError("refused")
        self._waiting.append((report, BASE + len(self.sent)))
        self.sent.append((topic, key, value, partition, more["timestamp"], more["headers"]))

    def poll(self, _seconds: float) -> None:
        waiting, self._waiting = self._waiting, []
        for report, offset in waiting:
            report(None, Message(offset))

    def flush(self, _seconds: float) -> int:
        self.poll(0)
        return 0

    def send_offsets_to_transaction(self, positions: Any, *_: Any) -> None:
        self.calls.append("position")
        self.positions = [(held.topic, held.partition, held.offset) for held in positions]

    def commit_transaction(self, _seconds: float) -> None:
        self.calls.append("commit")

    def purge(self) -> None:
        self.calls.append("purge")

    def abort_transaction(self, _seconds: float) -> None:
        self.calls.append("abort")


class FakeReader:
    def __init__(self, offset: int) -> None:
        self._offset = offset

    def committed(self, places: list[Any], _seconds: float) -> list[Any]:
        from confluent_kafka import TopicPartition

        return [TopicPartition(place.topic, place.partition, self._offset) for place in places]

    def consumer_group_metadata(self) -> str:
        return "members"

    def close(self) -> None:
        return


def plan(**changed: Any) -> WritePlan:
    given: dict[str, Any] = {
        "job": "copy",
        "settings": {"bootstrap.servers": "b:1"},
        "transaction_timeout_ms": 1000,
        "group": "kawal-replicate-copy",
        "source_cluster": "east",
        "target_topics": {"t": "there"},
        "target_ids": {"there": "id"},
        "ranges": {PLACE: (10, 14)},
        "positions": {},
    }
    return WritePlan(**{**given, **changed})


def batch(offsets: list[int], *, partition: int = 0, time_ms: int = 1_700_000_000_000) -> pyarrow.RecordBatch:
    count = len(offsets)
    moment = datetime.fromtimestamp(time_ms / 1000, UTC)
    headers = pyarrow.list_(pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())]))
    given: list[Any] = [None, [{"key": "a", "value": None}]]
    return pyarrow.RecordBatch.from_arrays(
        [
            pyarrow.array([b"k"] * count, pyarrow.binary()),
            pyarrow.array([None if at % 2 else b"v%d" % at for at in offsets], pyarrow.binary()),
            pyarrow.array([given[at % 2] for at in offsets], headers),
            pyarrow.array(["t"] * count),
            pyarrow.array([partition] * count, pyarrow.int32()),
            pyarrow.array(offsets, pyarrow.int64()),
            pyarrow.array([moment] * count, pyarrow.timestamp("us", tz="UTC")),
        ],
        names=["key", "value", "headers", "topic", "partition", "offset", "timestamp"],
    )


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> FakeProducer:
    made = FakeProducer()
    monkeypatch.setattr("pipeline.sinks.topic_writer.transactional_producer", lambda *_: made)
    committed_at(monkeypatch, -1001)
    return made


def committed_at(monkeypatch: pytest.MonkeyPatch, offset: int) -> None:
    monkeypatch.setattr("pipeline.sinks.topic_writer.position_reader", lambda *_: FakeReader(offset))


def write(plan: WritePlan, *batches: pyarrow.RecordBatch) -> dict[str, Any]:
    [result] = list(topic_writer(plan)(iter(batches)))
    [row] = result.to_pylist()
    assert isinstance(row, dict)
    return row


def test_a_partition_is_written_with_its_map_and_its_position_in_one_transaction(
    producer: FakeProducer,
) -> None:
    row = write(plan(), batch([10, 11]), batch([13]))
    assert producer.calls == ["begin", "position", "commit"]
    assert producer.sent == [
        ("there", b"k", b"v10", 0, 1_700_000_000_000, None),
        ("there", b"k", None, 0, 1_700_000_000_000, [("a", None)]),
        ("there", b"k", None, 0, 1_700_000_000_000, [("a", None)]),
    ]
    assert producer.positions == [("there", 0, 14)]
    [value] = producer.maps
    found = decoded(value)
    assert found.runs == [Run(10, BASE, 2), Run(13, BASE + 2, 1)]
    assert (found.begin, found.until, found.origins) == (10, 14, [Origin("east", "t")])
    assert (row["records"], row["written"], row["home"], row["bytes"]) == (3, 3, 0, 6)


def test_what_an_earlier_attempt_has_committed_is_not_written_again(
    producer: FakeProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed_at(monkeypatch, 14)
    row = write(plan(positions={PLACE: 10}), batch([10, 11, 13]))
    assert (producer.sent, producer.calls, row["records"], row["written"]) == ([], [], 3, 0)


def test_a_copy_that_ends_inside_the_batch_goes_on_there(
    producer: FakeProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed_at(monkeypatch, 11)
    assert write(plan(positions={PLACE: 11}), batch([10, 11, 13]))["written"] == 2
    assert decoded(producer.maps[0]).begin == 11


@pytest.mark.parametrize("found", [-1001, 9])
def test_a_position_that_was_set_back_is_refused(
    producer: FakeProducer, monkeypatch: pytest.MonkeyPatch, found: int
) -> None:
    committed_at(monkeypatch, found)
    with pytest.raises(TargetError, match="the position was set back while the job ran"):
        write(plan(positions={PLACE: 10}), batch([10]))
    assert producer.calls == []


def test_what_fails_on_the_way_is_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    committed_at(monkeypatch, -1001)
    made = FakeProducer(refuse=1)
    monkeypatch.setattr("pipeline.sinks.topic_writer.transactional_producer", lambda *_: made)
    with pytest.raises(TargetError, match="refused"):
        write(plan(), batch([10, 11]))
    assert made.calls == ["begin", "purge", "abort"]


def test_what_would_come_home_is_left_out_and_the_rest_keeps_its_origin(producer: FakeProducer) -> None:
    home, north = Origin("west", "t"), Origin("north", "t")
    foreign = {PLACE: [Piece(10, 11, home), Piece(12, 13, north)]}
    row = write(plan(foreign=foreign, home={"t": home}), batch([10, 11, 12]))
    assert (row["records"], row["written"], row["home"]) == (3, 2, 1)
    found = decoded(producer.maps[0])
    assert [found.origins[run.origin] for run in found.runs] == [Origin("east", "t"), north]


def test_a_task_with_records_of_two_partitions_is_refused(producer: FakeProducer) -> None:
    with pytest.raises(TargetError, match="a task has records of"):
        write(plan(), batch([10]), batch([11], partition=1))
    assert producer.calls == ["begin", "purge", "abort"]


def test_the_time_0_is_refused_because_it_would_become_the_present(producer: FakeProducer) -> None:
    with pytest.raises(TargetError, match=r"t-0 offset 10 has the timestamp 0 \(1970-01-01\)"):
        write(plan(), batch([10], time_ms=0))


def test_a_record_that_the_client_does_not_take_is_named(producer: FakeProducer) -> None:
    large = batch([10])
    large = large.set_column(1, "value", pyarrow.array([b"too large"], pyarrow.binary()))
    with pytest.raises(TargetError, match="there-0: the record at offset 10 of 't' cannot be written: "):
        write(plan(), large)
    assert producer.calls == ["begin", "purge", "abort"]


def test_a_task_without_records_writes_nothing(producer: FakeProducer) -> None:
    assert list(topic_writer(plan())(iter([]))) == []
    assert producer.calls == []


def test_a_partition_without_records_moves_its_position_by_its_own_writer_and_has_no_map(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names: list[str] = []
    made = FakeProducer()

    def named(_settings: object, name: str, _timeout_ms: int) -> FakeProducer:
        names.append(name)
        return made

    monkeypatch.setattr("pipeline.sinks.topic_writer.transactional_producer", named)
    committed_at(monkeypatch, -1001)
    commit_without_records(plan(), [PLACE])
    assert names == ["kawal-replicate-copy-there-0"]
    assert (made.calls, made.positions, made.maps) == (
        ["begin", "position", "commit"],
        [("there", 0, 14)],
        [],
    )


def test_a_position_that_another_run_has_moved_ahead_is_not_set_back(
    producer: FakeProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed_at(monkeypatch, 40)
    commit_without_records(plan(), [PLACE])
    assert producer.calls == []


@pytest.mark.parametrize(
    "code", [KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH]
)
def test_a_writer_that_another_run_has_shut_out_says_so(
    producer: FakeProducer, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def shut_out(_seconds: float) -> None:
        raise KafkaException(KafkaError(code))

    monkeypatch.setattr(producer, "commit_transaction", shut_out)
    with pytest.raises(TargetError, match="there-0: another run of the job 'copy' writes there now"):
        write(plan(), batch([10]))
    with pytest.raises(TargetError, match="another run of the job 'copy'"):
        commit_without_records(plan(), [PLACE])
    assert producer.calls.count("abort") == 2
