"""Sources that go back after every doubt, over crashes and failing syncs: each number is stored once."""

from __future__ import annotations

import errno
from collections import deque
from random import Random

import pytest

from protocol.error_codes import ErrorCode
from protocol.record_reader import iter_records
from protocol.records import iter_batches
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import fetch, outcomes, producing
from tests.broker.numbered import dedup_topic, numbered
from tests.broker.txn import Producer, committed
from wal.memory_faults import failing

PARTITIONS = 3
STEPS = 60


class Source:
    """A source with a name of its own on one partition; it sends ahead, and goes back when it is not sure."""

    def __init__(self, number: int) -> None:
        self.name = b"source-%d" % number
        self.partition = number % PARTITIONS
        self.sure = 0
        """The numbers below are acknowledged."""
        self.next = 0
        self.in_flight: deque[int] = deque()
        """The end of each batch without an answer."""
        self.client: Client

    def connect(self, gateway: Gateway, chance: Random) -> None:
        """Begin anew, from some way before what is sure."""
        self.client = gateway.client()
        self.in_flight.clear()
        self.next = max(0, self.sure - chance.randrange(6))

    def send(self, chance: Random) -> None:
        """Send a batch, some of which may have been stored before."""
        end = self.next + chance.randrange(1, 5)
        data = numbered(*range(self.next, end), name=self.name)
        self.client.send(producing(("t", self.partition, data)), 9)
        self.in_flight.append(end)
        self.next = end

    def learn(self, gateway: Gateway, chance: Random) -> None:
        """Take the answers; after an error begin anew."""
        failed = False
        for answer in self.client.answers():
            (outcome,) = outcomes(answer)
            end = self.in_flight.popleft()
            failed |= outcome.error_code != 0
            if not failed:
                self.sure = max(self.sure, end)
        if failed:
            self.connect(gateway, chance)


def stored(gateway: Gateway, source: Source) -> list[int]:
    client, position, found = gateway.client(), 0, list[int]()
    end = fetch(client, "t", 0, source.partition).high_watermark
    while position < end:
        for batch in iter_batches(fetch(client, "t", position, source.partition).records):
            for record in iter_records(batch):
                if dict(record.headers)["kawal-producer-id"] == source.name:
                    found.append(int(record.value or b""))
            position = int.from_bytes(batch[:8], "big") + int.from_bytes(batch[23:27], "big") + 1
    return found


@pytest.mark.parametrize("seed", range(4))
def test_each_number_is_stored_once_and_in_order_whatever_fails(seed: int) -> None:
    chance = Random(seed)
    gateway = Gateway()
    dedup_topic(gateway.client(), partitions=PARTITIONS)
    sources = [Source(number) for number in range(4)]
    for source in sources:
        source.connect(gateway, chance)
    for _ in range(STEPS):
        for source in chance.sample(sources, 2):
            source.send(chance)
        match chance.randrange(8):
            case 0:
                gateway.crash()
                for source in sources:
                    source.connect(gateway, chance)
            case 1:
                index = chance.choice(sources).partition
                vnode = gateway.partition("t", index).vnode.index
                gateway.disk.faults.append(failing("sync", errno.EIO, path=f"vnode-{vnode}"))
                gateway.settle()
                gateway.disk.faults.clear()
                gateway.advance(10_000)
            case 2:
                # An answer that comes now is due although other disk work has not been done.
                gateway.run_jobs()
            case 3:
                # What another connection of the same source has on its way is not durable either.
                for source in sources:
                    source.connect(gateway, chance)
                    source.send(chance)
            case _:
                gateway.settle()
        for source in sources:
            source.learn(gateway, chance)
        for source in sources:
            found = stored(gateway, source)
            assert found == list(range(len(found))), source.name
            assert len(found) >= source.sure
    assert sum(source.sure for source in sources) > 40


@pytest.mark.parametrize("seed", range(2))
def test_each_number_is_committed_once_whatever_becomes_of_its_transactions(seed: int) -> None:
    chance = Random(seed)
    gateway = Gateway()
    dedup_topic(gateway.client())
    producer, position, sequence = Producer(gateway), 0, 0
    for _ in range(STEPS):
        first = max(0, position - chance.randrange(4))
        end = position + chance.randrange(1, 4)
        data = numbered(
            *range(first, end),
            producer=(producer.producer_id, producer.epoch, sequence),
            transactional=True,
        )
        request = producing(("t", 0, data))
        request.transactional_id = producer.name
        (outcome,) = outcomes(producer.client.call(request, producer.produce_version))
        assert outcome.error_code == 0
        match chance.randrange(5):
            case 0:
                gateway.crash()
                producer = Producer(gateway)
            case 1:
                assert producer.abort() == 0
            case 2:
                # It may be the last that this instance does: what follows fences it.
                code = producer.commit()
                assert code == ErrorCode.NONE
                position = end
                producer = Producer(gateway)
            case _:
                assert producer.commit() == 0
                position = end
        sequence = 0
    found = committed(gateway.client(), "t")
    assert [int(value) for value in found] == list(range(position))
    assert position > 20
