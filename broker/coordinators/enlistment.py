"""Before the first batch of a transaction is stored in a partition: its transaction must have the partition.

    the log has the transaction open already      nothing to ask, as for all batches but the first
    Produce v12 on (second protocol)              the coordinator enlists the partition
    before                                        the coordinator says whether the client has done so

The batch may follow at once if the coordinator's record is earlier in the same log; else it waits until that
is durable. A coordinator on another node is asked there (remote_transactions.py). Meanwhile the transaction
may end: a guard (broker/storage/transaction_guards.py) tells.
Source: KIP-890; Kafka 4.3's AddPartitionsToTxnManager and ReplicaManager.handleProduceAppend.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from broker.errors import RequestError
from broker.loop.slices import Pace, Steps, Until, WaitingSteps, chunks, emptied, outcome_of
from groups.transactions.enlisting import Member
from groups.transactions.transaction import TV1, TV2, TopicPartition
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.coordinators.coordinators import NodeCoordinators
    from broker.coordinators.remote_transactions import Codes, RemoteTransactions
    from broker.storage.partition import Partition
    from protocol.records import BatchHeader

ABORTABLE_SINCE: Final = 11
"""The first version of Produce whose clients know TRANSACTION_ABORTABLE."""

ENLISTS_SINCE: Final = 12
"""The first version of Produce that enlists its partitions."""

BATCHES_PER_STEP: Final = 100
"""The batches that are looked at between two looks at the time: about 0.3 ms."""

NO_ABORTED_ROOM: Final = (
    "there is no memory for more transactions that may be aborted: wait until retention has removed the "
    "records of those that were, or raise kawal.aborted.transactions.max.bytes"
)

_TRY_AGAIN: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


class NotAdmitted(RequestError):
    """The coordinator does not let a batch into the transaction; the log was not asked."""


class Batch(NamedTuple):
    """A transactional batch of a request."""

    partition: Partition
    producer_id: int
    epoch: int

    @property
    def place(self) -> TopicPartition:
        """The topic's name and the partition's index."""
        return self.partition.topic.name, self.partition.index

    @property
    def is_open(self) -> bool:
        """Whether the log has the transaction open."""
        return self.partition.vnode.log.producers(self.partition.stream_id).has_open(
            self.producer_id, self.epoch
        )


class Admission:
    """The verdicts on a request's transactional batches; `release` must be called at its end."""

    def __init__(self, coordinators: NodeCoordinators, transactional_id: str, version: int) -> None:
        self._coordinators = coordinators
        self._transactional_id = transactional_id
        self._version = version
        self._refused: dict[TopicPartition, ErrorCode] = {}
        self._guards: dict[tuple[int, int], int] = {}

    def check(self, partition: Partition, header: BatchHeader) -> None:
        """Check that a batch is part of its producer's open transaction.  Raises: RequestError."""
        producer_id = header.producer_id
        if self._refused:
            code = self._refused.get((partition.topic.name, partition.index), ErrorCode.NONE)
            if code:
                raise NotAdmitted(
                    code, f"producer {producer_id} may not write to this partition now: {code.text}"
                )
        # The first batch has a guard, all others have none: looking for it is the cheaper half.
        if self._is_guarded(partition, producer_id):
            if not partition.vnode.log.has_aborted_room:
                raise NotAdmitted(ErrorCode.POLICY_VIOLATION, NO_ABORTED_ROOM)
        elif not Batch(partition, producer_id, header.producer_epoch).is_open:
            raise RequestError(
                ErrorCode.INVALID_TXN_STATE, "the record is not part of a transaction that is open"
            )

    def has_all(self, sent_to: Batch, others: list[Batch]) -> bool:
        """Whether nothing is left to ask before a batch is stored in other partitions than it was sent to.

        A refused one is refused when it is stored.
        """
        if self._refused.get(sent_to.place) or any(self._refused.get(batch.place) for batch in others):
            return True
        return all(batch.is_open or self._is_guarded(batch.partition, batch.producer_id) for batch in others)

    def add(self, batches: list[Batch], own: Callable[[], None]) -> WaitingSteps:
        """Make partitions part of the transaction that its client does not know of."""
        asked = [batch for batch in batches if not batch.is_open]
        yield from self._guard(asked)
        member = Member(self._transactional_id, asked[0].producer_id, asked[0].epoch)
        version = TV2 if self._version >= ENLISTS_SINCE else TV1
        yield from self._enlist(member, asked, own, client_version=version)

    def release(self, *, at_most: int | None = None) -> None:
        """Give back the guards, or so many of them."""
        for _ in range(len(self._guards) if at_most is None else min(at_most, len(self._guards))):
            place, _number = self._guards.popitem()
            self._coordinators.guards.release(*place)

    def released(self) -> Steps:
        """Give back the guards, and forget the verdicts, in slices."""
        while self._guards:
            self.release(at_most=BATCHES_PER_STEP)
            yield
        yield from emptied(self._refused)

    def ask(self, batches: list[Batch], own: Callable[[], None]) -> WaitingSteps:
        """Ask the coordinator about the batches whose transaction is not open yet.

        `own()` is called before it waits, so that the request's records outlive their buffer.
        """
        asked, producers = list[Batch](), set[int]()
        for number, part in enumerate(chunks(batches, per_step=BATCHES_PER_STEP)):
            if number:
                yield None
            producers.update(batch.producer_id for batch in part)
            asked += [batch for batch in part if not batch.is_open]
        if not asked:
            return
        if len(producers) > 1:
            yield from self._refuse(asked, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
            return
        if len(asked) > self._coordinators.transaction_max_partitions:
            yield from self._refuse(asked, ErrorCode.POLICY_VIOLATION)
            return
        yield from self._guard(asked)
        member = Member(self._transactional_id, asked[0].producer_id, asked[0].epoch)
        if self._version >= ENLISTS_SINCE:
            yield from self._enlist(member, asked, own)
        else:
            yield from self._verify(member, asked, own)

    def _guard(self, asked: list[Batch]) -> Steps:
        """Set guards for the batches, in place of those that a marker has removed."""
        guards, pace = self._coordinators.guards, Pace(BATCHES_PER_STEP)
        for batch in asked:
            if pace.due():
                yield
            place = batch.partition.stream_id, batch.producer_id
            if place in self._guards:
                if guards.holds(*place, self._guards[place]):
                    continue
                guards.release(*place)
            self._guards[place] = guards.set(*place)

    def _is_guarded(self, partition: Partition, producer_id: int) -> bool:
        number = self._guards.get((partition.stream_id, producer_id))
        return number is not None and self._coordinators.guards.holds(
            partition.stream_id, producer_id, number
        )

    def _are_guarded(self, asked: list[Batch]) -> Steps:
        """Return whether all batches have guards."""
        for number, part in enumerate(chunks(asked, per_step=BATCHES_PER_STEP)):
            if number:
                yield
            if not all(self._is_guarded(batch.partition, batch.producer_id) for batch in part):
                return False
        return True

    def _enlist(
        self, member: Member, asked: list[Batch], own: Callable[[], None], client_version: int = TV2
    ) -> WaitingSteps:
        """Enlist the batches' partitions; again, if they have waited for the transaction before to end."""
        places = frozenset(batch.place for batch in asked)
        away = self._coordinators.transactions_elsewhere(member.transactional_id)
        while True:
            stored = _Answer()
            if away is not None:
                away.enlist(member, places, stored.take, client_version=client_version)
            else:
                now_ms = self._coordinators.now_ms
                with self._coordinators.transactions.step(now_ms) as machine:
                    machine.enlist(member, places, stored.take, now_ms, client_version=client_version)
            yield from self._await(stored, member, asked, own)
            if stored.code or (yield from self._are_guarded(asked)):
                return
            yield from self._guard(asked)

    def _verify(self, member: Member, asked: list[Batch], own: Callable[[], None]) -> WaitingSteps:
        away = self._coordinators.transactions_elsewhere(member.transactional_id)
        if away is not None:
            yield from self._verify_elsewhere(away, member, asked, own)
            return
        stored, allowed = _Answer(), list[Batch]()
        parts = list(chunks(asked, per_step=BATCHES_PER_STEP))
        for part in parts:
            if part is not parts[0]:
                yield None
            now_ms = self._coordinators.now_ms
            with self._coordinators.transactions.step(now_ms) as machine:
                for batch in part:
                    if code := machine.is_enlisted(member, batch.place):
                        self._refuse_one(batch, code)
                    else:
                        allowed.append(batch)
                if part is parts[-1] and allowed:
                    machine.after_writes(member.transactional_id, stored.take, now_ms)
        if allowed:
            yield from self._await(stored, member, allowed, own)

    def _verify_elsewhere(
        self, away: RemoteTransactions, member: Member, asked: list[Batch], own: Callable[[], None]
    ) -> WaitingSteps:
        own()
        places = frozenset(batch.place for batch in asked)

        def ask(take: Callable[[Codes], None]) -> None:
            away.verify(member, places, take)

        codes = yield from outcome_of(ask)
        for number, part in enumerate(chunks(asked, per_step=BATCHES_PER_STEP)):
            if number:
                yield None
            for batch in part:
                if code := codes[batch.place]:
                    self._refuse_one(batch, code)

    def _await(
        self, stored: _Answer, member: Member, asked: list[Batch], own: Callable[[], None]
    ) -> WaitingSteps:
        """Wait until the coordinator's record is durable, or at least earlier in the batches' own log."""
        if stored.code is None and not self._is_in_their_log(member, asked):
            own()
            yield Until(stored.when_taken)
        if stored.code:
            yield from self._refuse(asked, stored.code)

    def _is_in_their_log(self, member: Member, asked: list[Batch]) -> bool:
        vnode = asked[0].partition.vnode
        if len(asked) > BATCHES_PER_STEP or any(batch.partition.vnode is not vnode for batch in asked):
            return False
        home = self._coordinators.transactions.written_to(member, [batch.place for batch in asked])
        return home is vnode

    def _refuse(self, asked: list[Batch], code: ErrorCode) -> Steps:
        for number, part in enumerate(chunks(asked, per_step=BATCHES_PER_STEP)):
            if number:
                yield
            for batch in part:
                self._refuse_one(batch, code)

    def _refuse_one(self, batch: Batch, code: ErrorCode) -> None:
        self._refused[batch.place] = shown(code, self._version)


class _Answer:
    """The coordinator's answer, once it is there."""

    def __init__(self) -> None:
        self.code: ErrorCode | None = None
        self._resume: Callable[[], None] | None = None

    def take(self, code: ErrorCode) -> None:
        """Take the answer, and go on if it was waited for."""
        self.code = code
        if self._resume is not None:
            self._resume()

    def when_taken(self, resume: Callable[[], None]) -> None:
        """Call `resume` when the answer is there."""
        self._resume = resume
        if self.code is not None:
            resume()


def shown(code: ErrorCode, version: int) -> ErrorCode:
    """Return the code that a producer of this version understands."""
    if code == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code in _TRY_AGAIN or (code == ErrorCode.CONCURRENT_TRANSACTIONS and version < ENLISTS_SINCE):
        # Every client repeats this one, without looking for another leader.
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if code == ErrorCode.TRANSACTION_ABORTABLE and version < ABORTABLE_SINCE:
        return ErrorCode.INVALID_TXN_STATE
    return code
