"""Groups and transactions over partitions that split, under chance.

The promises are those of tests/sim/split_simulation.py, and

SplitGroupsSimulation(seed).run()      raises AssertionError when a promise is broken

G1   a group, of either protocol, sees the records of a key for the first time in their order
G2   a group of any kind sees nothing of a child before it has seen all of its parent up to the cut
G3   in the end each group has seen all that can be read
T1   a transaction's records are all seen, or none; those of one that was answered as it was answered
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.splits import keyed
from tests.sim.clients import Link
from tests.sim.split_readers import ClassicReader, NewReader, Reader, Seen, committed
from tests.sim.split_share_reader import ShareReader
from tests.sim.split_simulation import FACTOR, KEYS_EACH, WRITERS, SplitSimulation
from tests.sim.transactions_client import TV1, TV2, TransactionalClient
from tests.sim.transactions_history import Attempt, History, Outcome
from wal.segment import FileRange

SETTINGS: dict[str, Any] = {
    "group_initial_rebalance_delay_ms": 0,
    "offsets_topic_num_partitions": 1,
    "transaction_state_log_num_partitions": 1,
}


class KeyedTransactions(TransactionalClient):
    """A transactional producer that sends all it has to one partition, whichever has its keys."""

    def __init__(self, *arguments: Any, number: int, partition: int, **how: Any) -> None:
        super().__init__(*arguments, **how)
        self.number, self.partition = number, partition
        self.made = 0
        self.attempts: dict[int, Attempt] = {}
        """By the number in each of their records."""
        self.keys: dict[int, bytes] = {}

    def work(self) -> Any:
        """Write some batches in a transaction, and commit or abort it."""
        if self.draining:
            return False
        attempt = self.begin()
        for _ in range(self.chance.randint(1, 3)):
            numbers = range(self.made, self.made + self.chance.randint(1, 3))
            self.made = numbers.stop
            for number in numbers:
                self.attempts[number] = attempt
                key = self.number * KEYS_EACH + self.chance.randrange(KEYS_EACH)
                self.keys[number] = b"key-%d" % key
            yield from self.produce(attempt, {self.partition: [b"%d" % number for number in numbers]}, "t")
        yield from self.end(attempt, commit=self.chance.random() < 0.7)
        return True

    def _batch(self, place: Any, values: list[bytes]) -> bytes:
        sequence = self._sequences.get(place, 0)
        self._sequences[place] = sequence + len(values)
        rows = [(self.keys[int(value)], b"%d" % self.value(int(value))) for value in values]
        producer = (self.producer_id, self.epoch, sequence)
        return bytes(keyed(*rows, producer=producer, transactional=True))

    def value(self, number: int) -> int:
        """Return the value of its record of that number."""
        return (1 + self.number) * 1_000 * FACTOR + number


class SplitGroupsSimulation(SplitSimulation):
    """The broker of `SplitSimulation` with a group of each kind, and transactions of both protocols."""

    def __init__(self, seed: int, *, steps: int = 1_500) -> None:
        super().__init__(seed, steps=steps, **SETTINGS)
        self.history = History()
        self.readers: list[Reader] = []
        self.transactors: list[KeyedTransactions] = []
        self._is_over = False
        """Whether all markers of transactions are written."""
        self._table += [(60, self._let_read), (40, self._transact)]

    def _begin(self, topic_id: Any) -> None:
        configs = {
            "share.auto.offset.reset": "earliest",
            "share.delivery.count.limit": "10",
            "share.isolation.level": "read_committed",
        }
        lines = [AlterableConfig(name=name, config_operation=0, value=text) for name, text in configs.items()]
        resource = AlterConfigsResource(resource_type=32, resource_name="share", configs=lines)
        request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
        Link(self.world).send(request, 1, lambda _answer: None)
        self._exchange()
        kinds: tuple[tuple[str, type[Reader]], ...] = (
            ("new", NewReader), ("classic", ClassicReader), ("share", ShareReader)
        )  # fmt: skip
        self.readers = [
            kind(self.world, Random(self.chance.random()), name, topic_id) for name, kind in kinds
        ]
        for reader in self.readers:
            reader.seen.on_first = partial(self._check_parent, reader.seen)
        self.transactors = [
            KeyedTransactions(
                self.world, self.history, Random(self.chance.random()), f"tx-{protocol}", {"t": topic_id},
                number=WRITERS + protocol, partition=self.chance.randrange(self.roots), protocol=protocol,
                timeout_ms=60_000,
            )
            for protocol in (TV1, TV2)
        ]  # fmt: skip

    def _let_read(self) -> str:
        return self.chance.choice(self.readers).step()

    def _transact(self) -> str:
        client = self.chance.choice(self.transactors)
        return f"{client.name} {client.step()}"

    # --- the end ----------------------------------------------------------------------------------------

    def _finish(self) -> None:
        super()._finish()
        for client in self.transactors:
            client.draining = True
        self._until(lambda: all(client.ended for client in self.transactors), self.transactors, "end")
        # What a producer that began anew has left open is aborted in time.
        self._advance_long()
        self._is_over = True
        self._read_on()

    def _read_on(self) -> None:
        """Let all groups read to the end (G3)."""
        wanted = {number for index in range(self._count()) for _, _, number in self.visible(index)}
        for reader in self.readers:
            reader.is_draining = True
        self._until(
            lambda: all(reader.seen.values == wanted for reader in self.readers), self.readers, "see all"
        )

    def _until(self, done: Any, actors: Any, what: str) -> None:
        for _ in range(3_000):
            if done():
                return
            for actor in actors:
                actor.step()
            self._exchange()
            self.world.advance(200)
        missing = [(actor.name, len(getattr(getattr(actor, "seen", None), "values", ()))) for actor in actors]
        raise AssertionError(f"they do not come to {what}: {missing} (G3)")

    def _advance_long(self) -> None:
        for _ in range(16):
            self._exchange()
            self.world.advance(5_000)
        self._exchange()

    # --- what must hold ---------------------------------------------------------------------------------

    def _count(self) -> int:
        return int(self.world.broker.find_topic("t").partition_count)

    def visible(self, index: int) -> list[tuple[int, bytes, int]]:
        """Return the records of a partition that a reader of committed data is shown."""
        broker = self.world.broker
        partition = broker.topics.partition(broker.find_topic("t"), index)
        offset, end, data = partition.log_start, partition.last_stable_offset, b""
        while offset < end:
            result = partition.read(offset, 1 << 20, end=end)
            data += b"".join(part.read() if isinstance(part, FileRange) else part for part in result.parts)
            offset = result.next_offset
        aborted = partition.aborted_between(partition.log_start, end)
        return committed(data, [(each.producer_id, each.first_offset) for each in aborted])

    def check(self) -> None:
        """Check transactions and groups, too."""
        super().check()
        self._check_transactions()
        idempotent = {b"key-%d" % key for key in range(KEYS_EACH, (WRITERS + 1 + TV2) * KEYS_EACH)}
        for reader in self.readers:
            if isinstance(reader, ShareReader):
                continue
            for key, numbers in reader.seen.by_key.items():
                if key in idempotent:
                    assert numbers == sorted(numbers), f"{reader.name}: {key!r} comes as {numbers} (G1)"

    def _check_transactions(self) -> None:
        shown = {number for index in range(self._count()) for _, _, number in self.visible(index)}
        for client in self.transactors:
            by_attempt: dict[str, list[bool]] = {}
            for number, attempt in client.attempts.items():
                by_attempt.setdefault(attempt.name, []).append(client.value(number) in shown)
            for name, there in by_attempt.items():
                outcome = self.history.attempts[name].outcome
                if outcome == Outcome.COMMITTED and self._is_over:
                    assert all(there), f"{name} was committed, and lost {there} (T1)"
                elif outcome in (Outcome.OPEN, Outcome.ABORTED):
                    assert not any(there), f"{name} is shown: {outcome.value} (T1)"

    def _check_parent(self, seen: Seen, partition: int) -> None:
        """Look, before anything of a partition is seen, whether all before its split was (G2)."""
        tree = self.world.broker.find_topic("t").tree
        split = None if tree is None else tree.made_by(partition)
        if tree is None or split is None:
            return
        for each in tree.successions if split.is_succession else (split,):
            before = {number for offset, _, number in self.visible(each.parent) if offset < each.cut}
            assert before <= seen.values, f"{each}: {sorted(before - seen.values)} was not seen yet (G2)"
