"""Dead letters: records that a share group gives up are written into its dead-letter topic (KIP-1191).

    ARCHIVING, durable --> read, if records are copied --> letters, ARCHIVED      in one frame, on one vnode
                                                       --> letters --durable--> ARCHIVED             else

The state that says that letters are due is durable before they are written, and ends with them or after them.
So a crash loses none.  If the letters' partition and the group's state lie on one vnode, it repeats none
either: both are in one frame of that log.  If they do not, letters may be written twice.

While a letter cannot be written its record is neither delivered nor finished: it is tried again, ever more
rarely, and the window of its share-partition fills until that is held back.  Others go on.
Source: KIP-1191; Kafka 4.4 archives after five attempts, with or without the letter.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from broker.catalogue.metadata import Metadata
from broker.catalogue.queue_lengths import check_length, has_length, rear_of
from broker.coordinators.group_settings import DeadLetterSettings, dead_letter_settings
from broker.errors import RequestError
from broker.fetching.answers_elsewhere import Ends, SourceElsewhere
from broker.fetching.dead_letter_batches import Letters, Origin, letters_of
from broker.fetching.dead_letter_topics import DeadLetterTopics
from broker.fetching.letters_elsewhere import Unwritable, produce_elsewhere
from broker.fetching.negative_answers import (
    PARTITIONS_MAX,
    NegativeAnswer,
    Source,
    SourceHere,
    Subject,
    answers_of,
)
from broker.fetching.originals import originals_of
from broker.fetching.share_places import leader_elsewhere
from broker.loop.loop import Loop
from broker.loop.slices import Until, WaitingSteps
from broker.storage.partition import Partition
from broker.storage.produce_guards import check_produce
from broker.storage.vnode import Vnode
from groups.errors import GroupError
from groups.share.record_range import StoredRange
from groups.share.state_records import ShareKey
from protocol.error_codes import ErrorCode
from protocol.record_reader import Record
from protocol.records import patch_append_time, read_batch_header
from wal.disk import DiskError
from wal.errors import WalError

if TYPE_CHECKING:
    from broker.catalogue.topic import Topic
    from broker.coordinators.shares import Shares

logger = logging.getLogger("kawal.broker")

WRITERS_MAX: Final = 8
"""The share-partitions whose letters are written at a time; each has a batch of them in memory."""

LETTERS_MAX: Final = 200
"""The letters in one batch, made in about 1 ms."""

BACKOFF_MS: Final = 1_000
BACKOFF_MAX_MS: Final = 30_000
"""The delay of another attempt, which doubles each time.  Source: Kafka 4.4's ShareGroupDLQStateManager."""

STATE_BYTES_MAX: Final = 256 << 10
"""The most that the record of a share-partition's state takes: 10,000 ranges in a snapshot."""

Steps = Generator[Until | None, None, None]


@dataclass(slots=True)
class _Held:
    """A share-partition whose letters could not be written."""

    attempts: int
    reason: str


class DeadLetters:
    """The writer of dead letters of all share groups."""

    def __init__(self, metadata: Metadata, loop: Loop, shares: Callable[[], Shares]) -> None:
        self._metadata = metadata
        self._loop = loop
        self._shares = shares
        self._topics = DeadLetterTopics(metadata, loop)
        self._queue: dict[ShareKey, None] = {}
        # Share-partitions being written, and whether more is due there since then.
        self._at_work: dict[ShareKey, bool] = {}
        self._held: dict[ShareKey, _Held] = {}

    def write(self, keys: Collection[ShareKey]) -> None:
        """Write the letters that are due in these share-partitions; those held back wait for their moment."""
        for key in keys:
            if key in self._at_work:
                self._at_work[key] = True
            elif key not in self._held:
                self._queue[key] = None
        self._begin()

    def _begin(self) -> None:
        while self._queue and len(self._at_work) < WRITERS_MAX and not self._loop.stopping:
            key = next(iter(self._queue))
            del self._queue[key]
            self._at_work[key] = False
            self._loop.scheduler.add_work(self._work(key))

    def _work(self, key: ShareKey) -> WaitingSteps:
        try:
            yield from self._write_all(key)
        except GroupError as error:
            # It is being loaded, which tells of it again, or was deleted.
            logger.info("dead letters of %s: %s", key, error)
            self._freed(key)
        except (Unwritable, RequestError, WalError, DiskError) as error:
            self._hold(key, str(error))
        else:
            self._freed(key)
        finally:
            if self._at_work.pop(key) and key not in self._held:
                self._queue[key] = None
            self._begin()

    # --- attempts that failed -------------------------------------------------------------------------------

    def _hold(self, key: ShareKey, reason: str) -> None:
        """Try again later."""
        held = self._held.setdefault(key, _Held(0, ""))
        self._loop.stats.dead_letter_failures += 1
        self._loop.stats.dead_letters_held = len(self._held)
        delay_ms = min(BACKOFF_MS << min(held.attempts, 10), BACKOFF_MAX_MS)
        held.attempts += 1
        if reason != held.reason:
            held.reason = reason
            logger.error("%s waits for its dead letters: %s", self._name(key), reason)
        self._loop.timers.add(self._loop.clock.turn_ms + delay_ms, partial(self._again, key))

    def _again(self, key: ShareKey, _now_ms: int) -> None:
        if key not in self._at_work:
            self._queue[key] = None
            self._begin()

    def _freed(self, key: ShareKey) -> None:
        if self._held.pop(key, None) is not None:
            self._loop.stats.dead_letters_held = len(self._held)
            logger.info("%s waits for no dead letters any more", self._name(key))

    def _name(self, key: ShareKey) -> str:
        topic = self._metadata.catalogue.find_id(key.topic_id)
        name = str(key.topic_id) if topic is None else topic.name
        return f"share group {key.group_id!r} in partition {key.partition} of topic {name!r}"

    # --- one share-partition --------------------------------------------------------------------------------

    def _write_all(self, key: ShareKey) -> Steps:
        """Write all letters that are due, a batch at a time.  Raises: Unwritable and others."""
        while not self._loop.stopping and (ranges := list(_first(self._due(key), LETTERS_MAX))):
            settings = dead_letter_settings(self._metadata, key.group_id)
            topic = self._metadata.catalogue.find_id(key.topic_id)
            if topic is None:
                return
            name = settings.topic or (rear_of(topic.name) if settings.has_rear else "")
            if not name:
                count = sum(part.last - part.first + 1 for part in ranges)
                logger.warning("%s gives up %d records without dead letters", self._name(key), count)
                yield from self._archived(key, [(part.first, part.last) for part in ranges])
                continue
            source = self._metadata.topics.partition(topic, key.partition)
            target = yield from self._topics.topic(name, topic.name)
            yield from self._write_some(key, ranges, source, target, settings)

    def _due(self, key: ShareKey) -> list[StoredRange]:
        with self._shares().step(self._loop.clock.turn_ms) as machine:
            return machine.archiving(key)

    def _write_some(
        self,
        key: ShareKey,
        ranges: list[StoredRange],
        source: Partition,
        target: Topic,
        settings: DeadLetterSettings,
    ) -> Steps:
        """Write some letters into the target's partition of the source's number, modulo their count."""
        of_target = self._metadata.topics.settings(target)
        index = key.partition % target.partition_count
        originals: dict[int, Record] = {}
        if settings.copies_records:
            ranges, originals = yield from originals_of(
                source, ranges, of_target.max_message_bytes, self._loop
            )
        origin = Origin(key.group_id, source.topic.name, key.partition)
        answers = yield from self._answers(origin, settings.answers_topic)
        wall_ms = self._loop.clock.wall_ms(self._loop.clock.turn_ms)
        letters = letters_of(
            origin,
            ranges,
            originals,
            wall_ms=wall_ms,
            max_bytes=of_target.max_message_bytes,
            copies_headers=settings.copies_headers,
            answers=answers,
        )
        leader = leader_elsewhere(self._metadata, (target.topic_id, index))
        if leader is None:
            if of_target.append_time:
                patch_append_time(memoryview(letters.batch), wall_ms)
            partition = self._metadata.topics.partition(target, index)
            check_produce(partition, read_batch_header(letters.batch), of_target)
            if has_length(self._metadata, target):
                check_length(self._metadata, target, letters.letter_count)
        if self._loop.stopping:
            # The state that ends with them would not be stored any more, and the next start write them again.
            return
        if leader is None:
            yield from self._store(key, letters, partition)
        else:
            place = (target.name, index)
            yield from produce_elsewhere(self._metadata, self._loop, leader, place, bytes(letters.batch))
            yield from self._archived(key, letters.ranges)
        self._loop.stats.dead_letters_written += letters.letter_count

    def _answers(
        self, origin: Origin, topic_name: str
    ) -> Generator[Until | None, None, dict[int, NegativeAnswer]]:
        """Return what workers have said of records; without such a topic nothing."""
        topic = self._metadata.catalogue.find(topic_name) if topic_name else None
        if topic is None:
            return {}
        ends: Ends = {}
        sources: list[Source] = []
        for index in range(min(topic.partition_count, PARTITIONS_MAX)):
            leader = self._metadata.topics.leader(topic, index)[0]
            if leader == self._metadata.nodes.own_id:
                sources.append(SourceHere(self._metadata.topics.partition(topic, index), self._loop))
            else:
                place = topic.name, index
                sources.append(SourceElsewhere(self._metadata, self._loop, place, leader=leader, ends=ends))
        return (yield from answers_of(Subject(*origin), sources, self._loop))

    def _store(self, key: ShareKey, letters: Letters, target: Partition) -> Steps:
        """Append letters and the state that ends with them; wait until both are durable."""
        vnode = target.vnode
        if self._shares().state_vnode(key) is vnode:
            size_bytes = len(letters.batch) + STATE_BYTES_MAX
            vnode.log.keep_together(size_bytes, entries=2, records=letters.letter_count + 1)
            self._append(letters, target)
        else:
            self._append(letters, target)
            yield from self._durable(vnode)
        yield from self._archived(key, letters.ranges)

    def _append(self, letters: Letters, target: Partition) -> None:
        appended = target.vnode.log.append(target.stream_id, letters.batch)
        target.vnode.last_version = appended.version

    def _durable(self, vnode: Vnode) -> Steps:
        """Wait until all that was appended to a vnode is durable.  Raises: Unwritable if it was lost."""
        outcome: list[ErrorCode | None] = []
        now_ms = self._loop.clock.turn_ms
        version = vnode.last_version
        yield Until(lambda resume: vnode.wait_durable(version, _Waiter(outcome, resume), now_ms))
        if outcome[0] is not None:
            raise Unwritable(f"vnode {vnode.name} has lost them ({outcome[0].name})")

    def _archived(self, key: ShareKey, ranges: list[tuple[int, int]]) -> Steps:
        """Archive records; wait until that is durable.  Raises: Unwritable if it is lost, GroupError."""
        outcome: list[ErrorCode] = []
        told: list[Callable[[], None]] = []

        def answer(code: ErrorCode) -> None:
            outcome.append(code)
            for resume in told:
                resume()

        with self._shares().step(self._loop.clock.turn_ms) as machine:
            machine.archive(key, ranges, answer, self._loop.clock.turn_ms)
        if not outcome:
            yield Until(told.append)
        if outcome[0] != ErrorCode.NONE:
            raise Unwritable(f"the state of the group could not be stored ({outcome[0].name})")


class _Waiter:
    """A waiter that notes the outcome and resumes the steps that wait for it."""

    __slots__ = ("_outcome", "_resume")

    def __init__(self, outcome: list[ErrorCode | None], resume: Callable[[], None]) -> None:
        self._outcome = outcome
        self._resume = resume

    def appended(self, _vnode: Vnode, error: ErrorCode | None, _now_ms: int) -> None:
        """Note the outcome."""
        self._outcome.append(error)
        self._resume()


def _first(ranges: list[StoredRange], count: int) -> Iterator[StoredRange]:
    """Yield the first records of these ranges, so many of them."""
    for part in ranges:
        last = min(part.last, part.first + count - 1)
        yield part._replace(last=last)
        count -= last - part.first + 1
        if not count:
            return
