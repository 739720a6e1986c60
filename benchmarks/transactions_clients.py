"""Clients for bench_transactions: producers of the second protocol on raw sockets, and confluent-kafka's."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Generator
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks import proc
from benchmarks.servers import Server
from compat_tests.broker import Broker
from compat_tests.wire import RawClient
from protocol.error_codes import ErrorCode
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_reader import Record
from protocol.record_writer import encode_batch

BUSY: Final = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_ENOUGH_REPLICAS,
    }
)
"""The answers after which a request is sent again."""

VALUE: Final = os.urandom(100)


class TransactionLoop:
    """One producer: a batch to each of its partitions, the commit, and again."""

    def __init__(self, broker: Broker, name: str, topic: str, partitions: list[int]) -> None:
        self.client = RawClient(broker)
        find_coordinator(self.client, name)
        self.name = name
        self.committed = 0
        self._topic = topic
        self._partitions = partitions
        self._steps = self._work()
        self._asked: tuple[Any, int] = next(self._steps)

    def send(self) -> None:
        """Send the next request."""
        self.client.send(*self._asked)

    def take(self) -> bool:
        """Read an answer; return False if the same request has to be sent again, after a moment."""
        answer = self.client.receive()
        code = code_of(answer)
        if code in BUSY:
            return False
        assert code == ErrorCode.NONE, f"{self.name}: {code!r}"
        self._asked = self._steps.send(answer)
        return True

    def _work(self) -> Generator[tuple[Any, int], Any, None]:
        request = InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=60_000)
        identity = yield request, 5
        sequence = 0
        while True:
            yield self._producing(identity, sequence), 12
            ended = yield self._ending(identity), 5
            self.committed += 1
            sequence = 0 if ended.producer_epoch != identity.producer_epoch else sequence + 1
            identity = ended

    def _producing(self, identity: Any, sequence: int) -> ProduceRequest:
        batch = bytes(
            encode_batch(
                [Record(0, -1, None, VALUE)],
                producer_id=identity.producer_id,
                producer_epoch=identity.producer_epoch,
                base_sequence=sequence,
                transactional=True,
            )
        )
        data = [PartitionProduceData(index=index, records=batch) for index in self._partitions]
        topic = TopicProduceData(name=self._topic, partition_data=data)
        return ProduceRequest(transactional_id=self.name, acks=-1, timeout_ms=30_000, topic_data=[topic])

    def _ending(self, identity: Any) -> EndTxnRequest:
        return EndTxnRequest(
            transactional_id=self.name,
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            committed=True,
        )


def find_coordinator(client: RawClient, name: str) -> None:
    """Ask for the coordinator of an id until there is one: Kafka makes its topic when first asked."""
    request = FindCoordinatorRequest(key_type=1, coordinator_keys=[name])
    while client.call(request, 4).coordinators[0].error_code:
        time.sleep(0.1)


def code_of(answer: Any) -> ErrorCode:
    """Return the first error of an answer."""
    if hasattr(answer, "responses"):
        codes = [part.error_code for topic in answer.responses for part in topic.partition_responses]
        return ErrorCode(next((code for code in codes if code), 0))
    return ErrorCode(answer.error_code)


class Rate(NamedTuple):
    """Transactions a second, and the processor time that each costs the server."""

    per_second: float
    cpu_ms: float


def transactions_per_second(
    server: Server, topic: str, *, producers: int, partitions: int, count: int, seconds: float
) -> Rate:
    """Return the rate at which producers commit, each with partitions of its own, once warm."""
    loops = []
    for number in range(producers):
        own = [(number * partitions + index) % count for index in range(partitions)]
        loops.append(TransactionLoop(server, f"{topic}-{number}", topic, own))
    selector = selectors.DefaultSelector()
    for loop in loops:
        selector.register(loop.client.socket, selectors.EVENT_READ, loop)
        loop.send()
    try:
        while not all(loop.committed for loop in loops):
            _run(selector, 1)
        before, began = sum(loop.committed for loop in loops), time.perf_counter()
        cpu = proc.cpu_seconds(server.pid)
        _run(selector, seconds)
        done = sum(loop.committed for loop in loops) - before
        cpu_ms = (proc.cpu_seconds(server.pid) - cpu) * 1_000
        return Rate(done / (time.perf_counter() - began), cpu_ms / done)
    finally:
        selector.close()
        for loop in loops:
            loop.client.close()


def _run(selector: selectors.BaseSelector, seconds: float) -> None:
    deadline = time.perf_counter() + seconds
    again: list[tuple[float, TransactionLoop]] = []
    while (now := time.perf_counter()) < deadline:
        while again and again[0][0] <= now:
            again.pop(0)[1].send()
        for key, _ in selector.select(0.001 if again else 0.05):
            if key.data.take():
                key.data.send()
            else:
                # Sooner than clients do: they wait 20 ms or more.
                again.append((time.perf_counter() + 0.001, key.data))
    for _, loop in again:
        loop.send()


def init_ids(broker: Broker, count: int, *, window: int = 50) -> None:
    """Use so many transactional ids, a few requests ahead of the answers."""
    client = RawClient(broker)
    find_coordinator(client, "id-0")
    pending: list[InitProducerIdRequest] = []
    waiting = [
        InitProducerIdRequest(transactional_id=f"id-{number}", transaction_timeout_ms=60_000)
        for number in range(count)
    ]
    while waiting or pending:
        while waiting and len(pending) < window:
            pending.append(waiting.pop())
            client.send(pending[-1], 5)
        request = pending.pop(0)
        if (code := code_of(client.receive())) in BUSY:
            waiting.append(request)
            time.sleep(0.005)
        else:
            assert not code, code
    client.close()


# --- confluent-kafka ----------------------------------------------------------------------------------------


def write(broker: Broker, topic: str, records: int, *, name: str | None, per: int, aborts: int = 0) -> float:
    """Write records of 1 KB; return MB/s.

    With a `name` in transactions of `per` records, of which every `aborts`th is aborted.
    """
    settings: dict[str, Any] = {
        "bootstrap.servers": broker.bootstrap, "enable.idempotence": True, "linger.ms": 5,
        "batch.size": 131_072, "queue.buffering.max.messages": 100_000,
    }  # fmt: skip
    if name is not None:
        settings["transactional.id"] = name
    producer = Producer(settings)
    if name is not None:
        producer.init_transactions(30)
    value = os.urandom(1_000)
    began = time.perf_counter()
    for number in range(records):
        if name is not None and number % per == 0:
            producer.begin_transaction()
        while True:
            try:
                producer.produce(topic, value, partition=number % 6)
                break
            except BufferError:
                producer.poll(0.01)
        if number % 100 == 0:
            producer.poll(0)
        if name is not None and number % per == per - 1:
            if aborts and number // per % aborts == aborts - 1:
                producer.flush(60)
                producer.abort_transaction(60)
            else:
                producer.commit_transaction(60)
    assert producer.flush(60) == 0
    return records * len(value) / 1e6 / (time.perf_counter() - began)


def read_committed(broker: Broker, topic: str, partitions: int, expected: int) -> float:
    """Read a topic's committed records; return MB/s, those of aborted records not counted."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap, "group.id": "reader", "enable.auto.commit": False,
            "isolation.level": "read_committed", "auto.offset.reset": "earliest", "check.crcs": False,
            "queued.max.messages.kbytes": 65_536, "fetch.message.max.bytes": 8 << 20,
        }
    )  # fmt: skip
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    found = size_bytes = 0
    began = time.perf_counter()
    while found < expected:
        assert time.perf_counter() - began < 120, f"{found} of {expected} records after two minutes"
        for message in consumer.consume(10_000, timeout=1):
            assert message.error() is None, message.error()
            found += 1
            size_bytes += len(message.value() or b"")
    seconds = time.perf_counter() - began
    consumer.close()
    assert found == expected, f"{found} records, {expected} were committed"
    return size_bytes / 1e6 / seconds
