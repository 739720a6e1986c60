"""Aliases, time travel and replay: another name, another window, another pace; offsets stay."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any
from uuid import UUID

import pytest

from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, creation, fetch, fetched, fetching, offset_of, records_of, send
from tests.broker.topic_changes import delete
from tests.broker.views import database, make_view, read_all

OF = "kawal.alias.of"


def written(partitions: int = 1) -> tuple[Gateway, Client]:
    """Make a topic t with records at START_MS - 1000, - 900, ... - 100, offsets 0 to 9, five a batch."""
    gateway = Gateway(kawal_vnodes=1)
    client = gateway.client()
    create(client, "t", partitions)
    for first in (0, 5):
        records = [
            Record(number, START_MS - 1_000 + 100 * (first + number), None, b"%d" % (first + number))
            for number in range(5)
        ]
        send(client, "t", encode_batch(records, codec=Codec.LZ4))
    return gateway, client


def alias(client: Client, name: str, **configs: str) -> None:
    create(client, name, -1, **{OF: "t", **{f"kawal.{key}": text for key, text in configs.items()}})


def shown(client: Client, name: str, partition: int = 0) -> list[int]:
    data = fetch(client, name, offset_of(client, name, -2, partition).offset, partition)
    found = read_all(client, name, partition, data.log_start_offset)
    assert [record.value for record in found] == [b"%d" % record.offset for record in found]
    return [record.offset for record in found]


def test_an_alias_is_the_topic_by_another_name_and_after_a_restart_as_well() -> None:
    gateway, client = written()
    alias(client, "u")
    for _ in range(2):
        assert shown(client, "u") == list(range(10))
        marks, original = fetch(client, "u"), fetch(client, "t")
        assert (marks.high_watermark, marks.log_start_offset) == (10, 0)
        assert bytes(marks.records) == bytes(original.records)
        assert offset_of(client, "u", START_MS - 350).offset == 7
        gateway.restart()
        client = gateway.client()


def test_an_alias_is_read_only_and_keeps_its_topic() -> None:
    gateway, client = written()
    alias(client, "u")
    refused = send(client, "u", batch(b"x"))
    assert refused.error_code == ErrorCode.POLICY_VIOLATION
    (kept,) = client.call(
        DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1_000), 6
    ).responses
    assert kept.error_code == ErrorCode.POLICY_VIOLATION
    assert "is read by the view 'u'" in (kept.error_message or "")
    delete(gateway, "u")
    delete(gateway, "t")


def test_a_fetch_on_an_alias_is_woken_by_the_topic() -> None:
    gateway, client = written()
    alias(client, "u")
    reader = gateway.client()
    reader.send(fetching({("u", 0): 10}, max_wait_ms=10_000), 12)
    send(client, "t", batch(b"10"))
    gateway.settle()
    (answer,) = reader.answers()
    assert [record.value for record in records_of(bytes(fetched(answer)["u", 0].records))] == [b"10"]


@pytest.mark.parametrize(
    ("bounds", "offsets"),
    [
        ({"from": str(START_MS - 700)}, range(3, 10)),
        ({"from": str(START_MS - 750)}, range(3, 10)),
        ({"from": "2023-11-14T22:13:19.300Z"}, range(3, 10)),
        ({"to": str(START_MS - 700)}, range(3)),
        ({"from": str(START_MS - 700), "to": str(START_MS - 400)}, range(3, 6)),
        ({"from": "offset 4", "to": "offset 8"}, range(4, 8)),
        ({"from": "offset 4", "to": str(START_MS)}, range(4, 10)),
        ({"from": str(START_MS - 700), "to": str(START_MS - 700)}, range(0)),
        ({"to": "offset 100"}, range(10)),
        ({"from": "0", "to": "0"}, range(0)),
    ],
)
def test_bounds_are_the_begin_and_the_end(bounds: dict[str, str], offsets: range) -> None:
    gateway, client = written()
    alias(client, "u", **bounds)
    for _ in range(2):
        assert shown(client, "u") == list(offsets)
        if offsets:
            assert offset_of(client, "u", -2).offset == offsets.start
            assert offset_of(client, "u", -1).offset == offsets.stop
            assert offset_of(client, "u", -3).offset == offsets.stop - 1
            assert offset_of(client, "u", START_MS - 1_000).offset == offsets.start
            assert offset_of(client, "u", START_MS).offset == -1
            below = fetch(client, "u", offsets.start - 1) if offsets.start else None
            assert below is None or below.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        gateway.restart()
        client = gateway.client()


def test_a_time_to_come_shows_nothing_until_it_has_come() -> None:
    gateway, client = written()
    alias(client, "u", **{"from": str(START_MS + 500)})
    assert (fetch(client, "u", 10).high_watermark, shown(client, "u")) == (10, [])
    reader = gateway.client()
    reader.send(fetching({("u", 0): 10}, max_wait_ms=10_000), 12)
    send(client, "t", batch(b"10", timestamp_ms=START_MS + 100))
    assert shown(client, "u") == []
    send(client, "t", batch(b"11", timestamp_ms=START_MS + 500))
    send(client, "t", batch(b"12", timestamp_ms=START_MS + 200))
    gateway.settle()
    found = read_all(client, "u", 0, 10)
    assert [record.offset for record in found] == [11, 12]
    # Nor does a reader that begins before it see anything else.
    assert offset_of(client, "u", -2).offset == 0
    assert [record.offset for record in read_all(client, "u", 0, 0)] == [11, 12]


def test_readers_of_a_time_to_come_lose_nothing_by_a_restart() -> None:
    """A reader stays where the log ended when it first asked, while records from before the time come."""
    gateway, client = written()
    alias(client, "u", **{"from": str(START_MS + 500)})
    at_end = fetch(client, "u", offset_of(client, "u", -1).offset).high_watermark
    assert at_end == 10
    send(client, "t", batch(b"10", timestamp_ms=START_MS + 100))
    gateway.restart()
    client = gateway.client()
    answer = fetch(client, "u", at_end)
    assert (answer.error_code, answer.high_watermark) == (0, 11)
    assert list(records_of(bytes(answer.records))) == []
    send(client, "t", batch(b"11", timestamp_ms=START_MS + 200))
    send(client, "t", batch(b"12", timestamp_ms=START_MS + 500))
    gateway.restart()
    client = gateway.client()
    assert [record.offset for record in read_all(client, "u", 0, at_end)] == [12]
    assert offset_of(client, "u", START_MS).offset == 12, "what is not shown is not found"
    assert offset_of(client, "u", -3).offset == 12


def test_an_end_to_come_is_reached_once() -> None:
    _, client = written()
    alias(client, "u", to=str(START_MS))
    assert shown(client, "u") == list(range(10))
    send(client, "t", batch(b"10", timestamp_ms=START_MS - 1))
    assert shown(client, "u") == list(range(11))
    send(client, "t", batch(b"11", timestamp_ms=START_MS))
    send(client, "t", batch(b"12", timestamp_ms=START_MS - 1))
    assert shown(client, "u") == list(range(11))


def test_who_waits_behind_the_end_is_not_woken() -> None:
    gateway, client = written()
    alias(client, "u", to="offset 5")
    reader = gateway.client()
    reader.send(fetching({("u", 0): 5}, max_wait_ms=10_000), 12)
    send(client, "t", batch(b"10"))
    gateway.settle()
    assert reader.answers() == []


def test_offsets_to_come_are_waited_for() -> None:
    _, client = written()
    alias(client, "u", **{"from": "offset 12"})
    assert (offset_of(client, "u", -2).offset, offset_of(client, "u", -1).offset) == (12, 12)
    send(client, "t", batch(b"10", b"11", b"12", b"13"))
    assert shown(client, "u") == [12, 13]


def test_a_query_can_be_bounded_as_well() -> None:
    _, client = written()
    configs = {"kawal.sql": "SELECT _offset AS o FROM t WHERE _offset >= 4", "kawal.to": "offset 8"}
    create(client, "q", -1, **configs)
    found = read_all(client, "q")
    assert [record.offset for record in found] == [4, 5, 6, 7]
    assert fetch(client, "q").high_watermark == 8


def test_a_database_can_be_bounded_as_well() -> None:
    _, client = database()
    for number in range(6):
        send(client, "b", batch(b"%d" % number, timestamp_ms=START_MS - 10 + number))
    bounds = {"kawal.from": str(START_MS - 8), "kawal.to": str(START_MS - 5)}
    make_view(client, "some", "DATABASE d", **bounds)
    start = offset_of(client, "some", -2).offset
    assert [record.value for record in read_all(client, "some", 0, start)] == [b"2", b"3", b"4"]
    newest = offset_of(client, "some", -3)
    assert (newest.offset, newest.timestamp) == (start + 2, START_MS - 6)
    make_view(client, "none", "DATABASE d", **{"kawal.to": str(START_MS - 10)})
    assert offset_of(client, "none", -3).offset == -1


def test_changes_of_topics_can_be_bounded_by_offsets() -> None:
    _, client = database()
    create(client, "c", 1, **{"kawal.database": "d"})
    make_view(client, "changes", "ONLY META AS DATABASE d")
    told = [(record.offset, record.key) for record in read_all(client, "changes")]
    assert [key for _, key in told] == [b"a", b"b", b"c"]
    make_view(client, "then", "ONLY META AS DATABASE d", **{"kawal.from": f"offset {told[1][0]}"})
    start = offset_of(client, "then", -2).offset
    assert [(record.offset, record.key) for record in read_all(client, "then", 0, start)] == told[1:]
    assert offset_of(client, "then", -3).offset == -1


@pytest.mark.parametrize("seed", range(6))
def test_the_newest_record_between_bounds_is_that_of_the_records_there(seed: int) -> None:
    chance = Random(seed)
    _, client = database()
    for _ in range(25):
        stamps = [START_MS + chance.randrange(30) for _ in range(chance.randrange(1, 4))]
        records = [Record(index, stamp, None, b"x") for index, stamp in enumerate(stamps)]
        send(client, chance.choice(["a", "b"]), encode_batch(records))
    everything = [(record.offset, record.timestamp_ms) for record in read_all(client, "all")]
    for number in range(8):
        first, end = sorted(chance.sample(range(everything[-1][0] + 2), 2))
        bounds = {"kawal.from": f"offset {first}", "kawal.to": f"offset {end}"}
        make_view(client, f"v{number}", "DATABASE d", **bounds)
        inside = [(-stamp, offset) for offset, stamp in everything if first <= offset < end]
        stamp, offset = min(inside, default=(1, -1))
        found = offset_of(client, f"v{number}", -3)
        assert (found.timestamp, found.offset) == (-stamp, offset)


class Reader:
    """A consumer of a replay, which fetches repeatedly and notes when each record arrived."""

    def __init__(self, gateway: Gateway, name: str, partitions: int = 1, **offsets: int) -> None:
        self.gateway = gateway
        self.client = gateway.client()
        self.name = name
        self.positions: dict[tuple[str | UUID, int], int] = {
            (name, index): offsets.get(f"p{index}", 0) for index in range(partitions)
        }
        self.came: list[tuple[int, bytes]] = []
        self._ask()

    def _ask(self) -> None:
        self.client.send(fetching(dict(self.positions), max_wait_ms=500), 12)

    def run(self, duration_ms: int) -> None:
        """Let time pass a millisecond at a time."""
        for _ in range(duration_ms):
            self.gateway.advance(1)
            for answer in self.client.answers():
                self._take(answer)
                self._ask()

    def _take(self, answer: Any) -> None:
        for place, data in fetched(answer).items():
            for record in records_of(bytes(data.records)):
                if record.offset >= self.positions[place]:
                    self.came.append((self.gateway.now_ms - START_MS, record.value or b""))
                    self.positions[place] = record.offset + 1


@pytest.mark.parametrize(("speed", "gap_ms"), [("1", 100), ("10", 10), ("0.5", 200)])
def test_a_replay_keeps_the_distances_divided_by_its_speed(speed: str, gap_ms: int) -> None:
    gateway, client = written()
    alias(client, "r", **{"replay.speed": speed})
    reader = Reader(gateway, "r")
    reader.run(10 * gap_ms + 50)
    assert [value for _, value in reader.came] == [b"%d" % number for number in range(10)]
    times = [time for time, _ in reader.came]
    assert [second - first for first, second in pairwise(times)] == pytest.approx([gap_ms] * 9, abs=2)
    assert fetch(client, "r").high_watermark == 10


def test_records_that_were_not_asked_for_never_come_alone() -> None:
    """Such an answer makes librdkafka believe that a batch is too large for it."""
    gateway, client = written()
    alias(client, "r", **{"replay.speed": "1"})
    reader = Reader(gateway, "r")
    seen = 0
    for _ in range(450):
        reader.gateway.advance(1)
        for answer in reader.client.answers():
            (data,) = fetched(answer).values()
            offsets = [record.offset for record in records_of(bytes(data.records))]
            assert not offsets or offsets[-1] >= reader.positions["r", 0]
            seen += bool(offsets)
            reader._take(answer)
            reader._ask()
    assert seen == 5


def test_several_partitions_have_one_clock() -> None:
    gateway, client = written(partitions=2)
    late = [Record(0, START_MS - 950, None, b"a"), Record(1, START_MS - 450, None, b"b")]
    send(client, "t", encode_batch(late), 1)
    alias(client, "r", **{"replay.speed": "1"})
    reader = Reader(gateway, "r", partitions=2)
    reader.run(1_100)
    assert b" ".join(value for _, value in reader.came) == b"0 a 1 2 3 4 5 b 6 7 8 9"
    times = {value: time for time, value in reader.came}
    assert times[b"a"] - times[b"0"] == pytest.approx(50, abs=2)
    assert times[b"b"] - times[b"5"] == pytest.approx(50, abs=2)


def test_two_readers_have_a_clock_each_and_who_comes_again_goes_on_at_once() -> None:
    gateway, client = written()
    alias(client, "r", **{"replay.speed": "1"})
    first = Reader(gateway, "r")
    first.run(350)
    assert [value for _, value in first.came] == [b"0", b"1", b"2", b"3"]
    second = Reader(gateway, "r", p0=8)
    second.run(30)
    assert [value for _, value in second.came] == [b"8"]
    first.client.close()
    again = Reader(gateway, "r", p0=first.positions["r", 0])
    again.run(110)
    assert [value for _, value in again.came] == [b"4", b"5"]


def test_who_has_come_to_the_end_is_woken_by_a_new_record() -> None:
    gateway, client = written()
    alias(client, "r", **{"replay.speed": "100"})
    reader = Reader(gateway, "r", p0=9)
    reader.run(100)
    send(client, "t", batch(b"10", timestamp_ms=gateway.now_ms))
    reader.run(20)
    assert [value for _, value in reader.came] == [b"9", b"10"]


def test_a_replay_between_bounds_begins_and_ends_there() -> None:
    gateway, client = written()
    alias(client, "r", **{"replay.speed": "10", "from": "offset 3", "to": "offset 6"})
    reader = Reader(gateway, "r", p0=3)
    reader.run(200)
    assert [value for _, value in reader.came] == [b"3", b"4", b"5"]
    assert reader.came[-1][0] == pytest.approx(21, abs=4)


def test_a_query_and_a_database_are_replayed_as_well() -> None:
    gateway, client = database()
    for number in range(4):
        send(client, "b", batch(b"%d" % number, timestamp_ms=START_MS + 100 * number))
    make_view(client, "r", "DATABASE d", **{"kawal.replay.speed": "2"})
    make_view(client, "q", "SELECT _offset AS o FROM b WHERE _offset <> 2", **{"kawal.replay.speed": "2"})
    databases, queries = Reader(gateway, "r"), Reader(gateway, "q")
    for _ in range(250):
        databases.run(1)
        queries.run(0)
        for answer in queries.client.answers():
            queries._take(answer)
            queries._ask()
    assert [value for _, value in databases.came] == [b"0", b"1", b"2", b"3"]
    assert [value for _, value in queries.came] == [b'{"o":0}', b'{"o":1}', b'{"o":3}']
    gaps = [time - databases.came[0][0] for time, _ in databases.came]
    assert gaps == pytest.approx([0, 50, 100, 150], abs=3)


@pytest.mark.parametrize(
    ("configs", "code", "part"),
    [
        ({OF: "missing"}, ErrorCode.INVALID_CONFIG, "there is no topic 'missing'"),
        ({OF: "u"}, ErrorCode.INVALID_CONFIG, "'u' is a view over 't'"),
        ({OF: "t", "kawal.sql": "STABLE t"}, ErrorCode.INVALID_CONFIG, "both say what the view shows"),
        ({"kawal.from": "0"}, ErrorCode.INVALID_CONFIG, "'kawal.from' is for views"),
        ({"kawal.replay.speed": "1"}, ErrorCode.INVALID_CONFIG, "'kawal.replay.speed' is for views"),
        ({OF: "t", "kawal.from": "soon"}, ErrorCode.INVALID_CONFIG, "is not an ISO 8601 time"),
        ({OF: "t", "kawal.replay.speed": "0"}, ErrorCode.INVALID_CONFIG, "is not a number between"),
        ({OF: "t", "kawal.from": "9", "kawal.to": "8"}, ErrorCode.INVALID_CONFIG, "exchange the two"),
        ({OF: "t", "retention.ms": "8"}, ErrorCode.INVALID_CONFIG, "'retention.ms' cannot be set for it"),
        ({OF: "t", "kawal.form": "8"}, ErrorCode.INVALID_CONFIG, "'kawal.form'"),
        (
            {"kawal.sql": "ONLY META AS DATABASE default", "kawal.from": "8"},
            ErrorCode.INVALID_CONFIG,
            "which are not found by their time",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(
    configs: dict[str, str], code: ErrorCode, part: str
) -> None:
    _, client = written()
    alias(client, "u")
    request = CreateTopicsRequest(topics=[creation("v", -1, **configs)])
    (refused,) = client.call(request, 7).topics
    assert refused.error_code == code
    assert part in (refused.error_message or "")
