"""A store with all that a log keeps beside plain records: groups, ids, named producers, splits, transactions.

Damage in one place must be told or harmless for each fact that a client can ask for.  After a repair a fact
is the one of before, or not known, or, of what only grows, an earlier one; and no id of a message is given
out again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from protocol.error_codes import ErrorCode
from protocol.messages.kawal_producers import KawalProducersRequest
from protocol.record_reader import iter_records
from protocol.records import iter_batches, read_batch_header
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.groups import commit, fetching_offsets
from tests.broker.identified import Id, identified, located
from tests.broker.kit import batch, fetched, fetching, offsets_of, send
from tests.broker.numbered import dedup_topic, numbered
from tests.broker.splits import keyed, split, split_topic
from tests.broker.txn import Producer
from tests.sim.damage import STALE_AFTER, End
from tests.sim.damage_states import State
from wal.disk_errors import DiskError
from wal.errors import MetadataLost, StoreError
from wal.memory_disk import MemoryDisk
from wal.memory_image import KEEP_ALL
from wal.store_repair import repair_store

SETTINGS: dict[str, Any] = {
    "kawal_vnodes": 2,
    "kawal_segment_bytes": 4_096,
    "kawal_min_free_bytes": 0,
    "offsets_topic_num_partitions": 2,
    "transaction_state_log_num_partitions": 2,
}
ROUNDS = 8
PLACES = [("ids", 0), ("ids", 1), ("names", 0), ("tree", 0), ("tree", 1), ("moved", 0)]
"""All partitions; the second one of the tree was split off the first."""

Fact = tuple[Any, ...]
"""Kind and keys of a fact: a record at an offset, the offset of a group, an id of a message, …"""

Facts = dict[Fact, Any]

UNKNOWN = "unknown"
"""The value of a fact of which a client is told that it is not known, or gets an error."""


class FullStore(NamedTuple):
    """The store, as `tests.sim.damage.Made` with facts in the place of records."""

    disk: MemoryDisk
    expected: Facts
    earlier: MemoryDisk
    """The disk in the middle of its life."""


def made_full(end: End, start_ms: int = START_MS) -> FullStore:
    """Return a store that was begun at that time and ended in this way, and what its clients were told."""
    gateway = Gateway(start_ms=start_ms, **SETTINGS)
    client = gateway.client()
    identified(client, "ids", 2)
    dedup_topic(client, "names")
    split_topic(client, "tree")
    send(client, "tree", keyed((b"d", b"before"), (b"a", b"before")))
    assert split(client, 0, "tree")[0] == 0
    identified(client, "moved", 1)
    producer = Producer(gateway)
    for number in range(ROUNDS):
        _write(client, number)
        _move(producer, number)
        gateway.advance(150)
        if number == STALE_AFTER:
            earlier = gateway.disk.crash(KEEP_ALL)
    gateway.advance(3_000)
    expected = facts_of(gateway.client(), {})
    assert UNKNOWN not in expected.values()
    if end == "stopped":
        gateway.broker.begin_stop(gateway.now_ms)
        gateway.settle()
        gateway.broker.close(gateway.now_ms)
    else:
        gateway.disk = gateway.disk.crash(KEEP_ALL)
        if end == "killed and started":
            gateway.open_again()
            gateway.disk = gateway.disk.crash(KEEP_ALL)
    return FullStore(gateway.disk.crash(KEEP_ALL), expected, earlier)


def _write(client: Client, number: int) -> None:
    value = b"%d" % number * 60
    answers = [
        send(client, "ids", batch(value), partition=number % 2),
        send(client, "ids", batch(value, value), partition=number % 2),
        send(client, "names", numbered(2 * number, 2 * number + 1)),
        send(client, "tree", keyed((b"d", value)), partition=1),
        send(client, "tree", keyed((b"a", value)), partition=0),
    ]
    assert [answer.error_code for answer in answers] == [0] * 5, answers
    commit(client, "g", ("ids", number % 2, number + 1))


def _move(producer: Producer, number: int) -> None:
    """Copy something in a transaction; every third one is aborted."""
    assert producer.write("moved", 0, b"moved %d" % number) == 0
    assert producer.commit_offset(number + 1, group_id="mover", topic="names") == 0
    assert (producer.commit() if number % 3 else producer.abort()) == 0


# --- facts -----------------------------------------------------------------------------------------------


def facts_of(client: Client, asked: Facts) -> Facts:
    """Return what a client is told; of ids also where those `asked` for lead."""
    found: Facts = {}
    for place in PLACES:
        found |= _records(client, place)
    for group, places in (("g", [("ids", 0), ("ids", 1)]), ("mover", [("names", 0)])):
        for topic, index in places:
            found["group", group, topic, index] = _group_offset(client, group, topic, index)
    found["name", b"sensor"] = _last_number(client)
    found |= _ids(client, [key for key in found if key[:2] in (("record", "ids"), ("record", "moved"))])
    ids = {(key[1], value) for key, value in found.items() if key[0] == "id" and value != UNKNOWN}
    ids |= {(key[1], key[2]) for key in asked if key[0] == "place"}
    return found | _places(client, sorted(ids))


def _records(client: Client, place: tuple[str, int]) -> Facts:
    """Return the committed records of a partition by offset, and its end, or that it cannot be read on."""
    (end,) = offsets_of(client, [place], -1)
    if end.error_code:
        return {("end", *place): UNKNOWN}
    found: Facts = {("end", *place): end.offset}
    offset = offsets_of(client, [place], -2)[0].offset
    aborted: set[tuple[int, int]] = set()
    while offset < end.offset:
        answer = fetched(client.call(fetching({place: offset}, isolation_level=1), 12))[place]
        batches = [] if answer.error_code else list(iter_batches(answer.records))
        if not batches:
            found["end", *place] = UNKNOWN
            return found
        aborted |= {(gone.producer_id, gone.first_offset) for gone in answer.aborted_transactions or ()}
        for data in batches:
            header = read_batch_header(data)
            offset = header.last_offset + 1
            is_aborted = (header.producer_id, header.base_offset) in aborted
            if not header.is_control and not (header.is_transactional and is_aborted):
                for record in iter_records(data):
                    found["record", *place, record.offset] = record.value
    return found


def _group_offset(client: Client, group: str, topic: str, index: int) -> Any:
    (answer,) = client.call(fetching_offsets(group, (topic, index)), 9).groups
    if answer.error_code or not answer.topics or answer.topics[0].partitions[0].error_code:
        return UNKNOWN
    return answer.topics[0].partitions[0].committed_offset


def _last_number(client: Client) -> Any:
    answer = client.call(KawalProducersRequest(topic="names", names=[b"sensor"]), 0)
    if answer.error_code:
        return UNKNOWN
    return answer.producers[0].last_seqno if answer.producers else -1


def _ids(client: Client, records: list[Fact]) -> Facts:
    found: Facts = {}
    for _, topic, index, offset in records:
        (answer,) = located(client, offset, name=topic, partition=index)
        message_id = answer.ledger, answer.entry, answer.partition, answer.batch_index
        found["id", topic, index, offset] = UNKNOWN if answer.error_code else message_id
    return found


def _places(client: Client, ids: Iterable[tuple[str, Id]]) -> Facts:
    found: Facts = {}
    for topic, message_id in ids:
        (answer,) = located(client, ids=(message_id,), name=topic)
        found["place", topic, message_id] = UNKNOWN if answer.error_code else answer.offset
    return found


# --- verdicts --------------------------------------------------------------------------------------------


class Verdict(NamedTuple):
    """The outcome of a damage state."""

    outcome: str
    """ "refused", "as it was", or the kinds of facts that are not known."""
    damaged: frozenset[tuple[str, int]] = frozenset()
    """The partitions whose log is known to be damaged."""


def full_verdict(disk: MemoryDisk, expected: Facts, start_ms: int = START_MS) -> Verdict:
    """Start on a copy of a damaged disk, and return what came of it.

    Raises: AssertionError when a fact is another one, without an error.
    """
    return next(full_verdicts(disk, expected, start_ms))


def full_verdicts(disk: MemoryDisk, expected: Facts, start_ms: int = START_MS) -> Iterator[Verdict]:
    """Start on a copy again and again, each time as the server before has left it that was killed.

    Only the first start after a clean stop knows where a log ended whose last frames are damaged.
    Raises: AssertionError when a fact is another one, without an error.
    """
    while True:
        disk = disk.crash(KEEP_ALL)
        try:
            gateway = Gateway(disk, start_ms=start_ms, **SETTINGS)
        except (StoreError, DiskError):
            yield Verdict("refused")
            continue
        found = facts_of(gateway.client(), expected)
        damaged = {place for place in PLACES if gateway.partition(*place).vnode.log.damage is not None}
        yield Verdict(judged(found, expected, damaged), frozenset(damaged))


def judged(found: Facts, expected: Facts, damaged: Collection[tuple[str, int]]) -> str:
    """Return "as it was", or the kinds of facts that are not known; some partitions are known to be damaged.

    Raises: AssertionError when a fact is another one, without an error.
    """
    untold = set()
    for fact, value in expected.items():
        now = found.get(fact, UNKNOWN)
        if now == value:
            continue
        is_told = fact[0] == "end" and now != UNKNOWN and now < value and fact[1:3] in damaged
        if fact not in found and fact[0] in ("record", "id"):
            # A reader that comes there gets an error, or the log refuses writes and is named.
            is_told = found["end", *fact[1:3]] == UNKNOWN or fact[1:3] in damaged
        assert now == UNKNOWN or is_told, f"{fact} is {now} instead of {value}"
        assert fact in found or is_told, f"{fact} is missing without an error"
        untold.add(fact[0])
    made_up = {fact: value for fact, value in found.items() if fact not in expected and value != UNKNOWN}
    assert not made_up, f"{made_up} never were"
    return f"{', '.join(sorted(untold))} unknown" if untold else "as it was"


def full_repair(disk: MemoryDisk, expected: Facts, *, damaged: str, start_ms: int = START_MS) -> str:
    """Repair with loss, start and look; return what came of it.

    Raises: AssertionError when a client is told anything that is not true, or the server does not start.
    """
    disk.locks.clear()
    try:
        for _ in repair_store(disk, "/data", now_ms=0, accept_loss=True):
            pass
    except StoreError:
        return "not repaired"  # the marker is lost, which only a backup has
    try:
        gateway = Gateway(disk, start_ms=start_ms, **SETTINGS)
    except MetadataLost as error:
        if "the catalogue is empty" in str(error) and "/meta/" in damaged and ".wal" in damaged:
            return "without a catalogue"
        raise
    lost = {topic for topic, _ in PLACES if topic not in gateway.broker.catalogue.by_name}
    assert not lost or ("/meta/" in damaged and ".wal" in damaged), f"{lost} were lost"
    if lost:
        return "repaired, without topics"
    judge_repaired(gateway.client(), expected)
    return "repaired"


def judge_repaired(client: Client, expected: Facts) -> None:
    """Compare what a client of a repaired store is told with what it was told before, and write to it.

    Raises: AssertionError when that is not true, when a write fails, or when an id is given out again.
    """
    found = facts_of(client, expected)
    for fact, value in expected.items():
        _compare(fact, found.get(fact, UNKNOWN), value)
    _write_again(client, expected)


def _compare(fact: Fact, now: Any, value: Any) -> None:
    if fact[0] in ("group", "name", "end") and now != UNKNOWN:
        assert now <= value, f"{fact} is {now} after the repair, beyond {value}"
    else:
        assert now in (UNKNOWN, value), f"{fact} is {now} after the repair instead of {value}"


def _write_again(client: Client, expected: Facts) -> None:
    """Write to partitions whose messages have ids; none of them may be one of before."""
    before = {(fact[1], fact[2]) for fact in expected if fact[0] == "place"}
    for topic, index in [place for place in PLACES if place[0] in ("ids", "moved")]:
        for _ in range(4):
            answer = send(client, topic, batch(b"after"), partition=index)
            assert answer.error_code == 0, answer
            (found,) = located(client, answer.base_offset, name=topic, partition=index)
            assert found.error_code == 0, found
            message_id = found.ledger, found.entry, found.partition, found.batch_index
            assert (topic, message_id) not in before, f"{topic}: {message_id} is given out again"
    answer = send(client, "names", numbered(1_000))
    assert answer.error_code in (0, ErrorCode.NONE), answer


def try_full(store: FullStore, state: State) -> str:
    """Try a damage state, and the repair when it is told; return what came of it.

    Raises: AssertionError, which names the state, when it is neither told nor harmless.
    """
    try:
        disk = state.disk()
        outcome = full_verdict(disk, store.expected).outcome
        if outcome != "as it was":
            outcome += f", {full_repair(disk, store.expected, damaged=state.what)}"
    except Exception as error:
        raise AssertionError(f"{state.what}: {error!r}") from error
    return outcome
