"""The new part of a batch, by the names and numbers that its records carry (kawal.dedup=seqno).

    number up to the producer's last one in the topic       a repetition: dropped, and answered as stored
    above                                                   stored; the new last number is durable with it

The last numbers lie in the logs of the topic's vnodes (wal/named_producers.py); a producer that moves to
another partition leaves one behind in each log, and the greatest counts. Two cases cannot be decided yet, and
answer NOT_ENOUGH_REPLICAS, which every client repeats:

    a transaction in which the producer has written is open, and the batch is not part of it
    the producer's last number is in another log and not durable: it might be taken back alone
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from broker.config.kawal_topic_keys import BINDING_MAX_KEY, DEDUP_KEY, ROUTING_KEY
from broker.config.topic_settings import TopicSettings
from broker.errors import RequestError, storage_error
from broker.storage.inspection import NO_KEYS, Inspection
from broker.storage.numbered_records import NumberedRecords
from broker.storage.partition import Partition
from broker.storage.routing import Router, targets_by_key
from broker.storage.vnode import Vnode
from protocol.error_codes import ErrorCode
from protocol.records import BatchHeader
from wal.named_producers import NONE, NamedState, NamedWrite, weight_of

NAMES_PER_TRANSACTION_MAX: Final = 1_000
"""The most producers in one transaction and partition, as its marker settles all of them at once."""

EXPIRED_PER_BATCH: Final = 16
"""Bindings that a batch with new producers may remove beyond what it adds."""


class Placement(NamedTuple):
    """The partition that takes a batch, and the logs that know the numbers of its topic."""

    partition: Partition
    vnodes: Sequence[Vnode]
    settings: TopicSettings
    settled_ms: int
    """The time of day by which bindings expire: not that of a clock that has just jumped."""
    router: Router | None = None
    """In topics whose partitions split: what says where a producer's records go."""

    @property
    def scope(self) -> int:
        """The scope of the topic's names in the logs."""
        return scope_of(self.partition)

    @property
    def since_ms(self) -> int:
        """The time of the oldest batch whose number still counts."""
        return self.settled_ms - self.settings.kawal_producer_binding_ttl_ms

    def check_logs(self) -> None:
        """Refuse while the end of a log is damaged: the last number of a producer may be in what is unknown.

        Raises: RequestError.
        """
        for vnode in self.vnodes:
            if (damage := vnode.log.damaged_end) is not None:
                raise storage_error(damage)

    def target_of(self, name: bytes, state: NamedState | None) -> Partition:
        """Return the partition that takes a producer's records, where it is bound or not."""
        if self.router is None:
            return self.partition
        bound = None if state is None else index_of(self.partition, state.stream_id)
        index = self.router.of_name(name, self.partition.index, bound)
        return self.partition if index == self.partition.index else self.router.partition(index)

    def remembers(self, state: NamedState) -> bool:
        """Whether a producer's state has not expired; it does not as long as a transaction has written it."""
        return state.is_undecided or state.written_ms >= self.since_ms


class Judged(NamedTuple):
    """The verdict on a batch."""

    dropped: frozenset[int]
    """The records, by index, that are repetitions."""
    write: NamedWrite | None
    """The numbers to be stored with the others; None when there are no others."""
    moved: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """The records, by index, that go to other partitions."""
    moved_writes: Mapping[int, NamedWrite] = {}
    """By such a partition: the numbers to be stored with them. `write` has those of the rest."""

    @property
    def is_new(self) -> bool:
        """Whether anything is to be stored."""
        return self.write is not None or bool(self.moved)


class _Target:
    """The part of a batch for one partition."""

    __slots__ = ("added", "added_bytes", "indexes", "partition", "seqnos")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.seqnos: dict[bytes, tuple[int, int]] = {}
        # Producers that are new in the partition.
        self.added = self.added_bytes = 0
        # The records, unless it is the partition that the batch was sent to.
        self.indexes: list[int] = []


class _Known(NamedTuple):
    """The facts about one producer, from all logs."""

    state: NamedState | None
    """Where it wrote last."""
    decided: int
    last: int
    is_locked: bool


def scope_of(partition: Partition) -> int:
    """Return the number under which logs keep the names of a partition's topic."""
    return partition.topic.stream_id(0)


def judge(numbered: NumberedRecords, header: BatchHeader, place: Placement) -> Judged:
    """Return which records of a batch are new.  Raises: RequestError, and nothing may be appended."""
    if numbered.errors:
        raise RequestError(
            ErrorCode.INVALID_RECORD,
            "One or more records have been rejected",
            record_errors=numbered.errors,
        )
    place.check_logs()
    transaction = header.producer_id if header.is_transactional else NONE
    dropped = set(numbered.repeated)
    by_target: dict[int, _Target] = {}
    for name, run in numbered.runs.items():
        known = _known(name, transaction, place)
        partition = place.target_of(name, known.state)
        if known.state is not None and place.router is None:
            _check_binding(name, known.state, place)
        repeated = run.repeated(known.last)
        dropped.update(repeated)
        if len(repeated) < len(run.indexes):
            if known.is_locked:
                raise _try_again(name, "an open transaction has written with this id")
            target = by_target.get(partition.index)
            if target is None:
                target = by_target[partition.index] = _Target(partition)
            target.seqnos[name] = (known.decided, run.seqnos[-1])
            if known.state is None or known.state.stream_id != partition.stream_id:
                target.added += 1
                target.added_bytes += weight_of(name)
            if partition is not place.partition:
                target.indexes.extend(run.indexes[len(repeated) :])
    for target in by_target.values():
        if target.added:
            _check_room(target, place)
        if transaction != NONE:
            _check_transaction(target.seqnos, transaction, target.partition)
    return _judged(frozenset(dropped), by_target, place)


def _judged(dropped: frozenset[int], by_target: dict[int, _Target], place: Placement) -> Judged:
    writes = {
        index: NamedWrite(place.scope, target.seqnos, place.settled_ms) for index, target in by_target.items()
    }
    write = writes.pop(place.partition.index, None)
    moved = tuple((index, tuple(sorted(by_target[index].indexes))) for index in sorted(writes))
    return Judged(dropped, write, moved, writes)


def targets_of(inspection: Inspection, place: Placement) -> set[int]:
    """Return the partitions that the records of a batch belong to; none for those without a key."""
    assert place.router is not None
    if inspection.numbered is None:
        return targets_by_key(inspection.keys or NO_KEYS, place.router.tree)
    return _targets_by_name(inspection.numbered.runs, place)


def _targets_by_name(names: Iterable[bytes], place: Placement) -> set[int]:
    return {place.target_of(name, _newest(name, place)).index for name in names}


def _newest(name: bytes, place: Placement) -> NamedState | None:
    """Return where a producer wrote last, from all logs."""
    known = (vnode.log.named_producers.of(place.scope, name) for vnode in place.vnodes)
    states = [state for state in known if state is not None and place.remembers(state)]
    return max(states, key=lambda state: state.last_seqno, default=None)


def _known(name: bytes, transaction: int, place: Placement) -> _Known:
    newest: NamedState | None = None
    decided = last = NONE
    is_locked = False
    scope, own = place.scope, place.partition.vnode
    for vnode in place.vnodes:
        named = vnode.log.named_producers
        state = named.of(scope, name)
        if state is None or not place.remembers(state):
            continue
        if vnode is not own and not named.is_durable(scope, name):
            raise _try_again(name, "its last records, in another partition, are not durable yet")
        if newest is None or state.last_seqno > newest.last_seqno:
            newest = state
        decided = max(decided, state.seqno)
        foreign = state.is_undecided and state.transaction != transaction
        is_locked |= foreign
        last = max(last, state.seqno if foreign else state.last_seqno)
    return _Known(newest, decided, last, is_locked)


def _check_binding(name: bytes, state: NamedState, place: Placement) -> None:
    partition = place.partition
    if not place.settings.binds or state.stream_id == partition.stream_id:
        return
    bound = index_of(partition, state.stream_id)
    # Without errors of single records, for which librdkafka shows INVALID_RECORD whatever the code.
    raise RequestError(
        ErrorCode.POLICY_VIOLATION,
        f"producer {shown(name)} is bound to partition {bound} of topic {partition.topic.name!r}, and wrote"
        f" to partition {partition.index} ({ROUTING_KEY.name}=producer-bind); write to partition {bound}",
    )


def _check_room(target: _Target, place: Placement) -> None:
    limit = place.settings.kawal_producer_binding_max
    partition, added = target.partition, target.added
    named = partition.vnode.log.named_producers
    named.forget_idle(place.scope, place.since_ms, at_most=added + EXPIRED_PER_BATCH)
    count = named.count(partition.stream_id)
    if count + added > limit:
        raise RequestError(
            ErrorCode.POLICY_VIOLATION,
            f"partition {partition.index} of topic {partition.topic.name!r} remembers {count} producers, and"
            f" {added} more are above {BINDING_MAX_KEY.name}={limit}; use fewer ids, or more partitions",
        )
    if not named.has_room(target.added_bytes):
        raise RequestError(
            ErrorCode.POLICY_VIOLATION,
            f"there is no memory for {added} more producers of {DEDUP_KEY.name}=seqno in topic"
            f" {partition.topic.name!r}; use fewer ids, or raise kawal.named.producers.max.bytes",
        )


def _check_transaction(seqnos: dict[bytes, tuple[int, int]], transaction: int, partition: Partition) -> None:
    names = partition.vnode.log.named_producers.undecided(partition.stream_id, transaction)
    if len(names | seqnos.keys()) > NAMES_PER_TRANSACTION_MAX:
        raise RequestError(
            ErrorCode.POLICY_VIOLATION,
            f"a transaction writes to a partition with at most {NAMES_PER_TRANSACTION_MAX} producer ids",
        )


def _try_again(name: bytes, why: str) -> RequestError:
    return RequestError(ErrorCode.NOT_ENOUGH_REPLICAS, f"producer {shown(name)}: {why}; try again")


def shown(name: bytes) -> str:
    """Return a producer's name for a sentence."""
    return repr(name.decode("utf-8", "backslashreplace"))


def index_of(partition: Partition, stream_id: int) -> int:
    """Return the number of the partition, of the same topic, that a stream holds."""
    return partition.topic.partition_of(stream_id)
