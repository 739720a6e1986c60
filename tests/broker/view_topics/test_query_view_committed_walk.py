"""Random walks over transactions: a view shows what its source shows to readers of committed data.

Views are read before, while and after transactions are decided, so that what was remembered of batches is
used for what is decided later; over clean and hard ends of the server, fenced producers and deleted records.
"""

from __future__ import annotations

from random import Random

import pytest

from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, fetched, fetching, send, values
from tests.broker.txn import TV1, TV2, Producer, committed
from tests.broker.views import make_view, read_all

STEPS = 50
VIEWS = {"query": "SELECT v FROM t WHERE v > 0", "whole": "SELECT * FROM t WHERE v > 0", "stable": "STABLE t"}


class Walk:
    """A topic with views, and producers that do anything."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.gateway = Gateway()
        self.client = self.gateway.client()
        create(self.client, "t", 1, **{"kawal.columns": "v int"})
        for name, sql in VIEWS.items():
            make_view(self.client, name, sql)
        self.producers: dict[str, Producer] = {}
        self.number = 0

    def value(self) -> bytes:
        self.number += 1
        return b'{"v":%d}' % self.number

    def producer(self) -> Producer:
        name = self.chance.choice("abc")
        if name not in self.producers or self.chance.random() < 0.1:
            # Perhaps a second instance, which fences the first and ends its transaction.
            protocol = TV1 if name == "a" else TV2
            self.producers[name] = Producer(self.gateway, name, protocol=protocol)
        return self.producers[name]

    def step(self) -> None:
        kind = self.chance.random()
        if kind < 0.35:
            self.producer().write("t", 0, *[self.value() for _ in range(self.chance.randint(1, 3))])
        elif kind < 0.6:
            self.producer().end(commit=self.chance.random() < 0.5)
        elif kind < 0.75:
            send(self.client, "t", batch(self.value()))
        elif kind < 0.8:
            self.delete_some()
        elif kind < 0.9:
            self.end_server()
        else:
            self.gateway.advance(self.chance.choice([10, 1_000, 70_000]))

    def delete_some(self) -> None:
        high_watermark = self.gateway.partition("t").high_watermark
        partition = DeleteRecordsPartition(partition_index=0, offset=self.chance.randint(0, high_watermark))
        topic = DeleteRecordsTopic(name="t", partitions=[partition])
        self.client.call(DeleteRecordsRequest(topics=[topic], timeout_ms=1_000), 2)

    def end_server(self) -> None:
        self.gateway.settle()
        if self.chance.random() < 0.5:
            self.gateway.restart()
        else:
            self.gateway.crash()
        self.gateway.tick()
        self.gateway.settle()
        self.client = self.gateway.client()
        self.producers.clear()

    def check(self) -> None:
        start = self.log_start()
        expected = [value for value in committed(self.client, "t", offset=start) if value]
        name = self.chance.choice([*VIEWS])
        shown = [record.value for record in read_all(self.client, name, offset=start)]
        assert [value for value in shown if value and value.startswith(b"{")] == expected, name
        request = fetching({(name, 0): start}, isolation_level=self.chance.randint(0, 1))
        data = fetched(self.client.call(request, 12))[name, 0]
        got = [value for value in values(data.records) if value.startswith(b"{")]
        assert got == expected[: len(got)], "the levels of isolation show the same"

    def log_start(self) -> int:
        return self.gateway.partition("t").log_start


@pytest.mark.parametrize("seed", range(8))
def test_a_view_shows_what_readers_of_committed_data_see(seed: int) -> None:
    walk = Walk(seed)
    for _ in range(STEPS):
        walk.step()
        if walk.chance.random() < 0.6:
            walk.check()
    walk.check()
