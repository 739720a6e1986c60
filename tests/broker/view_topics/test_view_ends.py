"""The ends of views never go back, whatever is written, deleted, retired and lost in a crash.

A reader at such an end would find its offset out of range, and begin anew.
"""

from __future__ import annotations

from random import Random

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, fetch, offset_of, send
from tests.broker.transactions import end, transactional
from tests.broker.views import make_view

EARLIEST = -2
VIEWS = {
    "all": "DATABASE default",
    "with_meta": "DATABASE default WITH META",
    "only_meta": "DATABASE default ONLY META",
    "query": "SELECT * FROM a",
}


class Ends:
    """A gateway with views, and the ends that readers have seen."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.gateway = Gateway(
            kawal_vnodes=1,
            kawal_segment_bytes=20_000,
            log_segment_delete_delay_ms=0,
            log_retention_check_interval_ms=10**9,
        )
        client = self.gateway.client()
        create(client, "a", kawal_columns="id bigint")
        for name in ("b", "__consumer_offsets"):
            create(client, name)
        for name, text in VIEWS.items():
            make_view(client, name, text)
        self.seen = dict.fromkeys(VIEWS, 0)
        self.open: list[int] = []
        self.producers = 0

    def step(self) -> str:
        """Do something; return what."""
        ways = (self.write, self.write_internal, self.transact, self.delete, self.make_anew, self.stop)
        way = self.chance.choice(ways)
        way()
        return way.__name__

    def topic(self) -> str:
        return self.chance.choice("ab")

    def write(self) -> None:
        send(self.gateway.client(), self.topic(), batch(b'{"id": 1}' + b" " * self.chance.randrange(9_000)))

    def write_internal(self) -> None:
        internal = self.gateway.partition("__consumer_offsets")
        internal.vnode.log.append(internal.stream_id, batch(b"x" * self.chance.randrange(9_000)))
        self.gateway.settle()

    def transact(self) -> None:
        if self.open and self.chance.random() < 0.5:
            end(self.gateway, self.open.pop(), commit=self.chance.random() < 0.5, topic="a")
        else:
            self.producers += 1
            self.open.append(self.producers)
            transactional(self.gateway, b'{"id": 2}', self.producers, topic="a")

    def delete(self) -> None:
        """Delete the records of a topic, so that segments are retired."""
        asked = DeleteRecordsPartition(partition_index=0, offset=-1)
        topic = DeleteRecordsTopic(name=self.topic(), partitions=[asked])
        self.gateway.client().call(DeleteRecordsRequest(topics=[topic], timeout_ms=1_000), 2)
        self.gateway.advance(10_000)

    def make_anew(self) -> None:
        """Delete the topic that no view is made of, and make it again."""
        self.gateway.broker.delete_topic(self.gateway.broker.find_topic("b"), self.gateway.now_ms)
        self.gateway.settle()
        create(self.gateway.client(), "b")

    def stop(self) -> None:
        self.chance.choice((Gateway.restart, Gateway.crash))(self.gateway)

    def check(self, done: list[str]) -> None:
        for name, before in self.seen.items():
            client = self.gateway.client()
            found = fetch(client, name, max(before, offset_of(client, name, EARLIEST).offset))
            assert (found.error_code, name, done) == (ErrorCode.NONE, name, done)
            assert found.high_watermark >= before, (name, done)
            self.seen[name] = found.high_watermark


@pytest.mark.parametrize("seed", range(12))
def test_they_never_go_back(seed: int) -> None:
    ends = Ends(seed)
    done: list[str] = []
    for _ in range(40):
        done.append(ends.step())
        ends.check(done)
