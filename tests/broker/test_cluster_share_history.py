"""Histories of share groups on several nodes that die, start again and lose each other's messages.

Whatever happens: each record is delivered, and none again whose acceptance was acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from tests.broker.cluster import LATE, REPEATED, UNANSWERED, UNSENT, Cluster
from tests.broker.cluster_shares import ClusterMember, configure, share_cluster, topic_id, write
from tests.broker.cluster_txn import leader
from tests.broker.shares import ACCEPT, RELEASE

PARTITIONS = 4
STEPS = 60
PATIENCE_MS = 8_000
"""Longer than a node waits for another."""
LOCK_MS = 30_000

Record = tuple[int, int]
"""A partition and an offset."""


class History:
    """The fates of the records of `t`."""

    def __init__(self, seed: int, count: int) -> None:
        self.random = Random(seed)
        self.cluster: Cluster = share_cluster(count, PARTITIONS)
        # However often a record is given back, it is delivered again.
        configure(self.cluster, kawal_share_deadletter_policy="keep")
        self.members = [ClusterMember(self.cluster, name, "t") for name in ("m", "n")]
        self.written = [0] * PARTITIONS
        self.delivered: set[Record] = set()
        self.accepted: set[Record] = set()
        """Those whose acceptance was acknowledged."""
        self.unsure: set[Record] = set()
        """Those that were accepted, without an answer or with an error."""

    def run(self) -> None:
        """Do some of everything."""
        steps = (
            [self.write] * 3
            + [self.consume] * 6
            + [self.mishap] * 3
            + [self.kill, self.hang, self.beat, self.deliver]
        )
        for _ in range(STEPS):
            self.random.choice(steps)()
            self.cluster.advance(self.random.choice([0, 10, 200]))
        self.mend()

    def is_up(self, index: int) -> bool:
        return leader(self.cluster, "t", index) not in self.cluster.down | self.cluster.hung

    def write(self) -> None:
        index = self.random.randrange(PARTITIONS)
        if self.is_up(index):
            write(self.cluster, index, b"v", b"w")
            self.written[index] += 2

    def consume(self) -> None:
        index = self.random.randrange(PARTITIONS)
        if self.is_up(index):
            self.consume_from(index, self.random.choice(self.members), self.random.random() < 0.5)

    def consume_from(self, index: int, member: ClusterMember, accepts: bool) -> int:
        """Fetch from a partition and say something; return the number of records."""
        session, of_topic = member.at(index), topic_id(self.cluster)
        request = session.fetching((of_topic, index), max_records=3)
        fetched = self.cluster.call(session.client, request, 2, within_ms=PATIENCE_MS)
        if fetched.error_code:
            session.session = 0
            return 0
        session.session += 1
        # A session gives of all partitions that were ever named in it.
        ranges = {
            (of_topic, data.partition_index): [
                (part.first_offset, part.last_offset, [ACCEPT if accepts else RELEASE])
                for part in data.acquired_records
            ]
            for topic in fetched.responses
            for data in topic.partitions
            if data.acquired_records
        }
        given = {place[1]: set(offsets_in(parts)) for place, parts in ranges.items()}
        records = {(index, offset) for index, offsets in given.items() for offset in offsets}
        assert not records & self.accepted, "delivered again"
        self.delivered |= records
        if not ranges:
            return 0
        said = session.fetching(said=ranges, max_records=0)
        answer = self.cluster.call(session.client, said, 2, within_ms=PATIENCE_MS)
        session.session += 1
        stored = {
            data.partition_index
            for topic in answer.responses
            for data in topic.partitions
            if not answer.error_code and not data.acknowledge_error_code
        }
        if accepts:
            self.accepted |= {record for record in records if record[0] in stored}
            self.unsure |= {record for record in records if record[0] not in stored}
        return len(records)

    def mishap(self) -> None:
        self.cluster.mishaps += self.random.choices([UNSENT, UNANSWERED, REPEATED, LATE, LATE, LATE], k=2)

    def deliver(self) -> None:
        self.cluster.deliver_late()

    def kill(self) -> None:
        """Kill a node, or start the one that is dead."""
        if self.cluster.down:
            self.cluster.revive(self.cluster.down.copy().pop())
        elif not self.cluster.hung:
            # The controller of this cluster must be there when others start.
            self.cluster.kill(self.random.randrange(1, self.cluster.count))

    def hang(self) -> None:
        """Have a node hang, or go on."""
        if self.cluster.hung:
            self.cluster.wake(self.cluster.hung.copy().pop())
        elif not self.cluster.down:
            self.cluster.hung.add(self.random.randrange(1, self.cluster.count))

    def beat(self) -> None:
        from tests.broker.cluster_txn import OFFSETS, coordinator

        if coordinator(self.cluster, OFFSETS, "g") not in self.cluster.down | self.cluster.hung:
            self.random.choice(self.members).beat(PATIENCE_MS)

    def mend(self) -> None:
        """Let everything work again, and consume all that is left."""
        self.cluster.mishaps.clear()
        self.cluster.deliver_late()
        for number in list(self.cluster.down):
            self.cluster.revive(number)
        for number in list(self.cluster.hung):
            self.cluster.wake(number)
        self.cluster.advance(LOCK_MS + PATIENCE_MS)
        for index in range(PARTITIONS):
            while self.consume_from(index, self.members[0], accepts=True):
                pass

    def check(self) -> None:
        """Check what is promised."""
        written = {(index, offset) for index, count in enumerate(self.written) for offset in range(count)}
        assert self.delivered == written
        assert self.accepted | self.unsure == written


def offsets_in(parts: list[tuple[int, int, list[int]]]) -> Iterator[int]:
    for first, last, _ in parts:
        yield from range(first, last + 1)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_each_record_is_delivered_and_none_again_after_it_was_accepted(seed: int, count: int) -> None:
    history = History(seed, count)
    history.run()
    history.check()
