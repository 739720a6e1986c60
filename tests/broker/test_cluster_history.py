"""Random histories of transactions on a cluster: nodes are killed, messages between them lost or repeated.

Producers of both protocols write to partitions of all nodes and commit offsets. When all nodes are up:
committed records are there once, aborted ones never, those whose end was not answered all or none; nothing is
open any more; no offset was given twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groups.transactions.states import UNDECIDED
from protocol.error_codes import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest
from tests.broker.cluster import REPEATED, UNANSWERED, UNSENT
from tests.broker.cluster_txn import (
    OFFSETS,
    TRANSACTIONS,
    ClusterProducer,
    coordinator,
    is_stable,
    leader,
    name_on,
    read_committed,
    revive,
    txn_cluster,
)
from tests.broker.groups import committed as offsets_of
from tests.broker.kit import outcomes
from tests.broker.txn import TV1, TV2

PARTITIONS = 4
TIMEOUT_MS = 20_000
COMMITTED, ABORTED, UNKNOWN = "committed", "aborted", "unknown"


@dataclass
class Transaction:
    """A transaction: what was written in it, and how it ended as far as its client knows."""

    values: list[tuple[int, bytes]] = field(default_factory=list)
    unsure: list[tuple[int, bytes]] = field(default_factory=list)
    offset: int = -1
    end: str = ABORTED


class World:
    """The cluster, the producers and what is known of their transactions."""

    def __init__(self, count: int) -> None:
        self.cluster = txn_cluster(count, PARTITIONS)
        self.producers = [
            ClusterProducer(
                self.cluster,
                name_on(self.cluster, TRANSACTIONS, number, stem=f"p{number}-"),
                protocol=(TV1, TV2)[number % 2],
                timeout_ms=TIMEOUT_MS,
            )
            for number in range(2)
        ]
        # Each producer commits offsets of a group that the other node coordinates.
        self.groups = [name_on(self.cluster, OFFSETS, 1 - number, stem=f"g{number}-") for number in range(2)]
        self.done: list[list[Transaction]] = [[], []]
        self.open: list[Transaction | None] = [None, None]
        # Whether the client must ask for its id again before it goes on.
        self.lost = [False, False]
        self.given: dict[tuple[int, int], bytes] = {}
        self.count = 0

    # --- requests --------------------------------------------------------------------------------------

    def call(self, number: int, request: Any, version: int, kill: tuple[int, int] | None) -> Any | None:
        """Send a request; a node is killed after some steps; return the answer, None if there is none."""
        cluster = self.cluster
        if number in cluster.down:
            return None
        client = cluster[number].client()
        client.send(request, version)
        if kill is not None:
            node, steps = kill
            for _ in range(steps):
                self.step()
            self.kill(node)
        for _ in range(3):
            cluster.settle()
            if answers := client.answers():
                return answers[0]
            if number in cluster.down:
                return None
            cluster.advance(600)
        return None

    def step(self) -> None:
        """Let each node do a little, and the messages between them arrive."""
        for node in self.cluster:
            if node.number not in self.cluster.down:
                node.run_jobs()
                node.broker.scheduler.run()
        self.cluster._deliver()
        self.cluster._collect()

    def kill(self, node: int) -> None:
        node %= self.cluster.count
        if len(self.cluster.down) < self.cluster.count - 1 and node not in self.cluster.down:
            self.cluster.kill(node)

    def revive(self) -> None:
        for number in sorted(self.cluster.down):
            revive(self.cluster, number)

    # --- what producers do -----------------------------------------------------------------------------

    def ready(self, who: int, kill: tuple[int, int] | None = None) -> bool:
        """Have the producer's id and epoch, after an error new ones; return False if that fails now."""
        if not self.lost[who]:
            return True
        producer = self.producers[who]
        request = InitProducerIdRequest(transactional_id=producer.name, transaction_timeout_ms=TIMEOUT_MS)
        answer = self.call(coordinator(self.cluster, TRANSACTIONS, producer.name), request, 5, kill)
        if answer is None or answer.error_code:
            return False
        producer.producer_id, producer.epoch = answer.producer_id, answer.producer_epoch
        producer.sequences.clear()
        self.lost[who] = False
        return True

    def current(self, who: int) -> Transaction:
        found = self.open[who]
        if found is None:
            found = self.open[who] = Transaction()
        return found

    def close(self, who: int, end: str, *, lost: bool) -> None:
        transaction = self.open[who]
        if transaction is not None:
            transaction.end = end
            self.done[who].append(transaction)
        self.open[who] = None
        self.lost[who] = lost

    def write(self, who: int, index: int, kill: tuple[int, int] | None) -> None:
        if not self.ready(who):
            return
        producer, transaction = self.producers[who], self.current(who)
        self.count += 1
        value = b"%d-%d" % (who, self.count)
        if producer.protocol == TV1:
            home = coordinator(self.cluster, TRANSACTIONS, producer.name)
            added = self.call(home, producer.adding(("t", index)), 3, None)
            if (
                added is None
                or added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
            ):
                self.close(who, ABORTED, lost=True)
                return
        request = producer.producing(("t", index), value=value)
        answer = self.call(leader(self.cluster, "t", index), request, producer.produce_version, kill)
        (outcome,) = outcomes(answer) if answer is not None else (None,)
        if outcome is not None and outcome.error_code == ErrorCode.NONE:
            transaction.values.append((index, value))
            assert (index, outcome.base_offset) not in self.given, "an offset was given twice"
            self.given[index, outcome.base_offset] = value
        else:
            transaction.unsure.append((index, value))
            self.close(who, ABORTED, lost=True)

    def commit_offset(self, who: int, kill: tuple[int, int] | None) -> None:
        if not self.ready(who):
            return
        producer, group, transaction = self.producers[who], self.groups[who], self.current(who)
        home = coordinator(self.cluster, TRANSACTIONS, producer.name)
        self.count += 1
        if producer.protocol == TV1:
            added = self.call(home, producer.adding_group(group), 4, None)
            if added is None or added.error_code:
                self.close(who, ABORTED, lost=True)
                return
        request = producer.committing(self.count, group_id=group)
        version = 5 if producer.protocol == TV2 else 4
        answer = self.call(coordinator(self.cluster, OFFSETS, group), request, version, kill)
        if answer is not None and answer.topics[0].partitions[0].error_code == ErrorCode.NONE:
            transaction.offset = self.count
        else:
            self.close(who, ABORTED, lost=True)

    def end(self, who: int, commit: bool, kill: tuple[int, int] | None) -> None:
        transaction = self.open[who]
        if transaction is None or not (transaction.values or transaction.offset >= 0):
            return
        producer = self.producers[who]
        version = 5 if producer.protocol == TV2 else 4
        home = coordinator(self.cluster, TRANSACTIONS, producer.name)
        answer = self.call(home, producer.ending(commit=commit), version, kill)
        if answer is not None and answer.error_code == ErrorCode.NONE:
            if answer.producer_id >= 0:
                producer._begin(answer.producer_id, answer.producer_epoch)
            self.close(who, COMMITTED if commit else ABORTED, lost=False)
        else:
            self.close(who, UNKNOWN if commit else ABORTED, lost=True)

    # --- what must hold in the end ---------------------------------------------------------------------

    def finish(self) -> None:
        cluster = self.cluster
        cluster.mishaps.clear()
        self.revive()
        for who in range(2):
            self.close(who, ABORTED, lost=True)
        cluster.advance(TIMEOUT_MS + 30_000)
        for node in cluster:
            table = node.broker.transactions._machine._table
            undecided = [known for known in table.ids.values() if known.state in UNDECIDED]
            assert not undecided, "a transaction is open for ever"
        for index in range(PARTITIONS):
            assert is_stable(cluster, "t", index)
        seen = {index: read_committed(cluster, "t", index) for index in range(PARTITIONS)}
        for who in range(2):
            self.check(who, seen)
        known = {value for done in self.done for each in done for _, value in each.values}
        assert {value for values in seen.values() for value in values} <= known

    def check(self, who: int, seen: dict[int, list[bytes]]) -> None:
        possible = {-1}
        expected: dict[int, list[bytes]] = {index: [] for index in range(PARTITIONS)}
        for transaction in self.done[who]:
            found = [value in seen[index] for index, value in transaction.values]
            assert all(found) or not any(found), "a part of a transaction is committed"
            is_there = transaction.end == COMMITTED or (transaction.end == UNKNOWN and any(found))
            assert all(found) if is_there else not any(found), transaction
            if is_there:
                for index, value in transaction.values:
                    expected[index].append(value)
            if transaction.offset >= 0 and is_there:
                possible = {transaction.offset}
            elif transaction.offset >= 0 and transaction.end == UNKNOWN and not transaction.values:
                possible.add(transaction.offset)
        for index in range(PARTITIONS):
            own = [value for value in seen[index] if value.startswith(b"%d-" % who)]
            assert own == expected[index], "each committed record is there once, in its order"
        group = self.groups[who]
        client = self.cluster[coordinator(self.cluster, OFFSETS, group)].client()
        assert offsets_of(client, group).get(("t", 0), -1) in possible


WHO = st.integers(0, 1)
KILL = st.none() | st.none() | st.tuples(st.integers(0, 2), st.integers(0, 6))
STEPS = st.one_of(
    st.tuples(st.just("write"), WHO, st.integers(0, PARTITIONS - 1), KILL),
    st.tuples(st.just("write"), WHO, st.integers(0, PARTITIONS - 1), st.none()),
    st.tuples(st.just("commit_offset"), WHO, KILL),
    st.tuples(st.just("end"), WHO, st.booleans(), KILL),
    st.tuples(st.just("end"), WHO, st.just(True), st.none()),
    st.tuples(st.just("kill"), st.integers(0, 2)),
    st.tuples(st.just("revive")),
    st.tuples(st.just("revive")),
    st.tuples(st.just("wait"), st.sampled_from([100, 1_100, 5_000, 25_000])),
    st.tuples(st.just("mishaps"), st.lists(st.sampled_from(["", UNSENT, UNANSWERED, REPEATED]), max_size=4)),
)


def run(count: int, steps: list[tuple[Any, ...]]) -> World:
    world = World(count)
    for kind, *rest in steps:
        if kind == "wait":
            world.cluster.advance(*rest)
        elif kind == "mishaps":
            world.cluster.mishaps.extend(*rest)
        else:
            getattr(world, kind)(*rest)
    world.finish()
    return world


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(count=st.integers(2, 3), steps=st.lists(STEPS, min_size=12, max_size=40))
def test_committed_records_are_read_once_and_aborted_ones_never(
    count: int, steps: list[tuple[Any, ...]]
) -> None:
    run(count, steps)


def test_a_history_without_mishaps_commits_what_it_should() -> None:
    """The model itself is tried: what it expects is there."""
    world = run(
        2,
        [
            ("write", 0, 0, None),
            ("write", 1, 1, None),
            ("commit_offset", 0, None),
            ("end", 0, True, None),
            ("end", 1, False, None),
        ],
    )
    assert [each.end for done in world.done for each in done] == [COMMITTED, ABORTED]
    assert read_committed(world.cluster, "t", 0) == [b"0-1"]
