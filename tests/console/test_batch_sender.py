"""Batches sent to a whole broker: where records go, and what is sent again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest

from console import admin, batch_sender
from console.batch_sender import BatchSender, Shipment, _halves
from console.errors import CommandError
from console.link import LinkLost
from console.record_formats import OutgoingColumns, OutgoingRecord
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.produce import ProduceRequest, ProduceResponse
from protocol.partitioner import partition_of
from protocol.record_columns import columns_of
from protocol.record_reader import Record, iter_records
from protocol.records import iter_batches
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import create, fetch, read, records_of
from tests.console.bench import GatewayLink
from tests.console.gateway import connect


class Moody(GatewayLink):
    """A link that does to each request what its script says: to fail it, to lose its answer, or nothing."""

    script: list[str | int]

    def close(self) -> None: ...

    def send(self, request: Any, version: int, *, answered: bool = True) -> None:
        what = self.script.pop(0) if self.script else ""
        if what == "lost before":
            raise LinkLost("gone")
        if isinstance(what, int):
            self._answers.append(refused(request, what))
            return
        if not answered:
            self._client.send(request, version)
            return
        super().send(request, version)
        if what == "lost after":
            self._answers[-1] = LinkLost("gone")

    def receive(self) -> Any:
        answer = super().receive()
        if isinstance(answer, LinkLost):
            raise answer
        return answer


def refused(request: ProduceRequest, code: int) -> ProduceResponse:
    from protocol.messages.produce import PartitionProduceResponse, TopicProduceResponse

    outcomes = [
        PartitionProduceResponse(index=data.index, error_code=code, base_offset=-1)
        for data in request.topic_data[0].partition_data
    ]
    return ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=outcomes)])


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    return connect(monkeypatch)


@pytest.fixture
def sender_of(gateway: Gateway) -> Callable[..., BatchSender]:
    """Return a function that makes a sender whose requests meet these fates, one after the other."""

    def make(*fates: str | int, partitions: int = 1, clock: Any = None, **options: Any) -> BatchSender:
        create(gateway.client(), "t", partitions)
        link = type("Linked", (Moody,), {"gateway": gateway, "script": list(fates)})
        sender = BatchSender(
            "h:1",
            "t",
            connect=link,
            wait=lambda _: None,
            clock=clock or partial(next, count()),
            now_ms=lambda: START_MS,
            **options,
        )
        assert sender.open() == set(range(partitions))
        return sender

    return make


def send(sender: BatchSender, *values: bytes) -> None:
    """Send each value in a batch of its own."""
    for value in values:
        sender.add(OutgoingRecord(value))
        sender.ship()
    sender.finish()


def test_a_broker_that_is_still_starting_is_asked_for_a_producer_id_again(
    sender_of: Callable[..., BatchSender], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, codes = admin.ask, [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NONE]

    def starting(bootstrap: str, request: Any, version: int) -> Any:
        answer = ask(bootstrap, request, version)
        if isinstance(request, InitProducerIdRequest):
            answer.error_code = codes.pop(0)
        return answer

    monkeypatch.setattr(admin, "ask", starting)
    sender = sender_of()
    assert codes == []
    send(sender, b"a")
    assert sender.stored_in[0] == 1


def test_records_arrive_in_order_and_are_counted(
    gateway: Gateway, sender_of: Callable[..., BatchSender]
) -> None:
    sender = sender_of()
    values = [b"%d" % number for number in range(20)]
    send(sender, *values)
    assert read(gateway.client(), "t") == values
    assert sender.stored_in == {0: 20}


def test_a_key_goes_where_kafkas_clients_put_it(
    gateway: Gateway, sender_of: Callable[..., BatchSender]
) -> None:
    sender = sender_of(partitions=4)
    for key in (b"7", b"8", b"7"):
        sender.add(OutgoingRecord(b"v" + key, key))
    sender.ship()
    sender.finish()
    assert sorted(sender.stored_in.values()) in ([1, 2], [3])
    assert read(gateway.client(), "t", partition=partition_of(b"7", 4)).count(b"v7") == 2


def test_keys_headers_times_and_codecs_are_kept(
    gateway: Gateway, sender_of: Callable[..., BatchSender]
) -> None:

    sender = sender_of(codec=Codec.ZSTD)
    sender.add(OutgoingRecord(None, b"k", [("a", None)], 0, 5))
    sender.ship()
    sender.finish()
    (record,) = records_of(fetch(gateway.client(), "t").records)
    assert record == (0, 5, b"k", None, (("a", None),))


@pytest.mark.parametrize("fate", ["lost before", "lost after", 6, 7, 19, 45])
@pytest.mark.parametrize("at", [0, 1, 3])
def test_what_fails_for_a_while_is_stored_once_and_in_order(
    fate: str | int, at: int, gateway: Gateway, sender_of: Callable[..., BatchSender]
) -> None:
    sender = sender_of(*[""] * at, fate, fate)
    send(sender, b"a", b"b", b"c", b"d", b"e", b"f", b"g")
    assert read(gateway.client(), "t") == [b"a", b"b", b"c", b"d", b"e", b"f", b"g"]
    assert sender.stored_in == {0: 7}


def test_a_batch_that_is_too_large_for_the_topic_is_cut(
    gateway: Gateway, sender_of: Callable[..., BatchSender]
) -> None:
    sender = sender_of(10, 10)
    for value in (b"a", b"b", b"c", b"d"):
        sender.add(OutgoingRecord(value))
    send(sender, b"e")
    assert read(gateway.client(), "t") == [b"a", b"b", b"c", b"d", b"e"]


def test_one_record_that_is_too_large_is_refused(sender_of: Callable[..., BatchSender]) -> None:
    with pytest.raises(CommandError, match=r"a record was not stored in 't': .*larger"):
        send(sender_of(10, 10, 10), b"a")


def test_what_never_passes_is_refused_when_time_is_up(sender_of: Callable[..., BatchSender]) -> None:
    times = iter(range(0, 1000, 10))
    with pytest.raises(CommandError, match="a record was not stored in 't'"):
        send(sender_of(*[6] * 50, clock=lambda: next(times)), b"a")


def test_without_acks_nothing_is_waited_for(gateway: Gateway, sender_of: Callable[..., BatchSender]) -> None:
    sender = sender_of(acks=0)
    send(sender, b"a")
    gateway.run_jobs()
    assert sender.stored_in == {0: 1}
    assert read(gateway.client(), "t") == [b"a"]


def test_a_batch_leaves_when_it_is_full(
    gateway: Gateway, sender_of: Callable[..., BatchSender], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_sender, "BATCH_RECORDS", 2)
    sender = sender_of()
    for value in (b"a", b"b", b"c"):
        sender.add(OutgoingRecord(value))
    assert read(gateway.client(), "t") == [b"a", b"b"]


def sent(gateway: Gateway, partitions: int) -> list[list[Record]]:
    """Return the records of each partition."""
    return [
        [
            record
            for found in iter_batches(fetch(gateway.client(), "t", partition=index).records or b"")
            for record in iter_records(found)
        ]
        for index in range(partitions)
    ]


@pytest.mark.parametrize("block_bytes", [0, batch_sender.BLOCK_BYTES_MAX])
@pytest.mark.parametrize("batch_records", [2, 100])
@pytest.mark.parametrize(
    "outgoing",
    [
        OutgoingColumns([b"%d" % at for at in range(7)], partitions=[1] * 7),
        OutgoingColumns([b"%d" % at for at in range(7)], [b"%d" % (at % 3) for at in range(7)]),
        OutgoingColumns(
            [b"a", None, b""], [b"k", None, b"k"], [1, 0, None], [5, None, 7], (("h", b"1"), ("n", None))
        ),
    ],
)
def test_columns_arrive_as_their_records_would(
    outgoing: OutgoingColumns,
    batch_records: int,
    block_bytes: int,
    sender_of: Callable[..., BatchSender],
    gateway: Gateway,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batch_sender, "BATCH_RECORDS", batch_records)
    monkeypatch.setattr(batch_sender, "BLOCK_BYTES_MAX", block_bytes)
    sender = sender_of(partitions=3)
    sender.add_all(outgoing)
    sender.ship()
    sender.finish()
    expected: list[list[Record]] = [[], [], []]
    for record in outgoing.one_by_one():
        place = record.partition if record.partition is not None else partition_of(record.key or b"", 3)
        time_ms = START_MS if record.timestamp_ms is None else record.timestamp_ms
        expected[place].append(
            Record(len(expected[place]), time_ms, record.key, record.value, tuple(record.headers))
        )
    assert sent(gateway, 3) == expected


def test_a_key_of_columns_may_not_be_in_a_partition_that_is_not_there(
    sender_of: Callable[..., BatchSender],
) -> None:
    with pytest.raises(CommandError, match="'t' has partitions 0 to 0; there is no 5"):
        sender_of().add_all(OutgoingColumns([b"a"] * 2, partitions=[None, 5]))


def test_a_partition_that_is_not_there_is_told(sender_of: Callable[..., BatchSender]) -> None:
    with pytest.raises(CommandError, match="'t' has partitions 0 to 0; there is no 5"):
        sender_of().add(OutgoingRecord(b"a", partition=5))


def test_a_topic_that_cannot_be_is_told(gateway: Gateway) -> None:
    with pytest.raises(CommandError, match="topic 'a b': the topic name breaks the rules"):
        BatchSender("h:1", "a b", wait=lambda _: None).open()


def test_a_topic_may_be_made_by_being_sent_to(gateway: Gateway) -> None:
    assert BatchSender("h:1", "new", wait=lambda _: settle(gateway)).open()


def test_the_batches_of_a_producer_can_be_read_one_by_one(sender_of: Callable[..., BatchSender]) -> None:
    records = columns_of([Record(at, 5, None, b"%d" % at) for at in range(5)])
    first, second = _halves(Shipment(0, records, 2**31 - 1))
    assert [record.offset for record in second.records] == [0, 1, 2]
    assert (first.base_sequence, second.base_sequence) == (2**31 - 1, 1)
    assert next(iter_records(sender_of()._encoded(second))).value == b"2"


def settle(gateway: Gateway) -> None:
    gateway.run_jobs()
