"""One ShareFetch or ShareAcknowledge on its way: its acknowledgements, what it acquires, and its answer.

    acknowledgements --to the log----------------durable--+
    (closing) release --to the log---------------durable--+--> one answer
    acquire and read, or wait for records and read again--+

Acknowledgements of one partition are refused or applied together, but long ones in parts of RUNS_PER_STEP: if
a lock runs out in between, the parts before count, and the others are refused.
Source: KIP-932; Kafka 4.3's KafkaApis.handleShareFetchRequest and SharePartitionManager.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from broker.coordinators.share_settings import limits_of, share_settings
from broker.errors import RequestError
from broker.fetching.share_denials import ShareDenials
from broker.fetching.share_places import Place, find_partition
from broker.fetching.share_queues import ShareQueues
from broker.fetching.share_reader import ReadSteps
from broker.loop.loop import Loop
from broker.loop.slices import ITEMS_PER_STEP, PLAIN_ITEMS_PER_STEP, Steps
from groups.errors import GroupError, InvalidRecordState, InvalidRequest
from groups.share.acknowledgements import Acknowledgement, acknowledgement
from groups.share.sessions import SessionKey, is_member_id
from groups.share.state_records import ShareKey
from groups.share.states import Event
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from protocol.messages.share_fetch import PartitionData

RUNS_PER_STEP: Final = 100
"""The ranges acknowledged between two looks at the time, in about 1 ms."""

LOOKUP_COST: Final = 10
"""The cost of finding a partition, if that of looking at a field is 1."""

Outcome = tuple[ErrorCode, str | None]


class ShareExchange:
    """The part that ShareFetch and ShareAcknowledge have in common; `answered` is called once."""

    def __init__(
        self,
        metadata: Metadata,
        loop: Loop,
        queues: ShareQueues,
        member: SessionKey,
        denials: ShareDenials,
        answered: Callable[[], None],
    ) -> None:
        self._metadata = metadata
        self._loop = loop
        self.queues = queues
        self.member = member
        self._denials = denials
        self.answered: Callable[[], None] | None = answered
        """Its owner's, so each names the other.  None while the owner waits, and from the answer on: the
        collector would not find them, and with them the records of an answer."""
        # What is still to come before the answer may leave.
        self._left = 1
        self.acknowledged: dict[Place, Outcome] = {}

    def begin(self) -> Callable[[ErrorCode], None]:
        """Have the answer wait for one more outcome; return what tells it."""
        self._left += 1
        return self._told

    def _told(self, _: ErrorCode) -> None:
        self.done()

    def done(self) -> None:
        """Note that one part is done; the answer leaves with the last."""
        self._left -= 1
        if not self._left:
            answered, self.answered = self.answered, None
            assert answered is not None, "the owner does not wait for its last part"
            answered()

    # --- acknowledgements -----------------------------------------------------------------------------------

    def acknowledge(self, topics: Sequence[Any], *, renews: bool) -> ReadSteps:
        """Apply all acknowledgements of a request; yield where there are many."""
        settings = share_settings(self._metadata, self.member.group_id)
        may_renew, auto_accepts = settings.reading.may_renew, settings.queue.auto_accepts
        runs = 0
        for found in _acknowledging(topics):
            if found is None:
                yield None
                continue
            place, batches = found
            self.acknowledged[place] = (ErrorCode.NONE, None)
            try:
                self._check_place(place, batches, renews=renews)
                for part in _parts(batches, renews=renews, may_renew=may_renew):
                    runs += sum(len(batch.events) for batch in part) or RUNS_PER_STEP
                    if part:
                        self._apply(place, part)
                    if runs >= RUNS_PER_STEP:
                        runs = 0
                        yield None
            except RequestError as error:
                self.acknowledged[place] = (error.code, None)
            except GroupError as error:
                # What was accepted when it was delivered may be acknowledged once more, without effect.
                if not (auto_accepts and isinstance(error, InvalidRecordState)):
                    self.acknowledged[place] = (error.code, error.message)

    def accept(self, found: Mapping[Place, PartitionData]) -> Steps:
        """Accept what is about to be delivered, as the group wants it; what cannot be stored is not."""
        for number, (place, data) in enumerate(found.items(), start=1):
            if data.acquired_records:
                self._accept_place(place, data)
            if not number % ITEMS_PER_STEP:
                yield

    def _accept_place(self, place: Place, data: PartitionData) -> None:
        now_ms = self._loop.clock.turn_ms
        batches = [
            Acknowledgement(part.first_offset, part.last_offset, [Event.ACCEPT])
            for part in data.acquired_records
        ]
        self._left += 1

        def told(code: ErrorCode) -> None:
            if code != ErrorCode.NONE:
                data.error_code, data.records, data.acquired_records = code, b"", []
            self.done()

        with self.queues.shares.step(now_ms) as machine:
            key = ShareKey(self.member.group_id, *place)
            try:
                machine.acknowledge(key, self.member.member_id, batches, told, now_ms)
            except GroupError as error:
                told(error.code)

    def _check_place(self, place: Place, batches: Sequence[Any], *, renews: bool) -> None:
        """Refuse acknowledgements in a place that may not be read or does not exist.

        Their form comes after an unknown topic, and before all else.
        Raises: InvalidRequest, InvalidRecordState, RequestError.
        """
        if self._metadata.catalogue.find_id(place[0]) is None:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_ID)
        try:
            if self._denials.denies(place[0]):
                raise RequestError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            find_partition(self._metadata, place)
        except RequestError:
            next(_parts(batches, renews=renews, may_renew=True), None)
            raise

    def _apply(self, place: Place, batches: Sequence[Acknowledgement]) -> None:
        """Apply some acknowledgements.  Raises: GroupError."""
        now_ms = self._loop.clock.turn_ms
        self._left += 1

        def told(code: ErrorCode) -> None:
            if code != ErrorCode.NONE:
                self.acknowledged[place] = (code, None)
            self.done()

        with self.queues.shares.step(now_ms) as machine:
            key = ShareKey(self.member.group_id, *place)
            try:
                machine.acknowledge(key, self.member.member_id, batches, told, now_ms)
            except GroupError:
                self._left -= 1
                raise

    def close(self) -> Steps:
        """Close the session, giving back what its member still has."""
        return self.queues.close(self.member, self.begin)

    @property
    def lock_ms(self) -> int:
        """The duration of locks that members are told."""
        return limits_of(self._metadata, self.member.group_id).lock_ms


def member_of(request: Any) -> SessionKey:
    """Return the member that fetches or acknowledges.  Raises: InvalidRequest."""
    if request.group_id is None:
        raise InvalidRequest("Invalid group id in the request.")
    if not is_member_id(request.member_id):
        raise InvalidRequest("Invalid member id in the request.")
    return SessionKey(request.group_id, request.member_id)


def _parts(batches: Sequence[Any], *, renews: bool, may_renew: bool) -> Iterator[list[Acknowledgement]]:
    """Return the acknowledgements of one partition in parts of RUNS_PER_STEP, all of them checked.

    While many are checked, there are empty parts.
    Raises: InvalidRequest, InvalidRecordState.
    """
    checked: list[Acknowledgement] = []
    for found in _checked(batches, renews=renews, may_renew=may_renew):
        checked.append(found)
        if not len(checked) % RUNS_PER_STEP:
            yield []
    part: list[Acknowledgement] = []
    size = 0
    for found in checked:
        part.append(found)
        size += len(found.events)
        if size >= RUNS_PER_STEP:
            yield part
            part, size = [], 0
    if part:
        yield part


def _checked(batches: Sequence[Any], *, renews: bool, may_renew: bool) -> Iterator[Acknowledgement]:
    """Yield the acknowledgements of one partition, each of a size that one step can apply.

    What is no fault of form is refused at the end.
    Raises: InvalidRequest, InvalidRecordState.
    Source: the order of Kafka 4.3's KafkaApis.validateAcknowledgementBatches and SharePartition.acknowledge.
    """
    refusal: InvalidRecordState | None = None
    before = -1
    for number, batch in enumerate(batches):
        if batch.first_offset < before:
            raise InvalidRequest(f"offset {batch.first_offset} is acknowledged after offset {before}")
        if number and batch.first_offset == before:
            refusal = InvalidRecordState(f"offset {before} is acknowledged twice")
        before = batch.last_offset
        for found in _cut(batch):
            if Event.RENEW in found.events:
                if not renews:
                    raise InvalidRequest("records are renewed only by a request that says so (IsRenewAck)")
                if not may_renew:
                    text = "the group does not renew locks (share.renew.acknowledge.enable)"
                    refusal = InvalidRecordState(text)
            yield found
    if refusal is not None:
        raise refusal


def _acknowledging(topics: Sequence[Any]) -> Iterator[tuple[Place, Any] | None]:
    """Yield places and what is acknowledged there; None when it is time to look at the time.

    Of a place that is named twice the last acknowledgements count.
    Source: Kafka 4.3's KafkaApis, which puts them into a map.
    """
    found: dict[Place, Any] = {}
    looked_at = 0
    for topic in topics:
        looked_at += 1
        for asked in topic.partitions:
            if asked.acknowledgement_batches:
                found[topic.topic_id, asked.partition_index] = asked.acknowledgement_batches
            looked_at += 1
            if looked_at >= PLAIN_ITEMS_PER_STEP:
                looked_at = 0
                yield None
        if looked_at >= PLAIN_ITEMS_PER_STEP:
            looked_at = 0
            yield None
    for number, item in enumerate(found.items(), start=1):
        yield item
        if not number % (PLAIN_ITEMS_PER_STEP // LOOKUP_COST):
            yield None


def _cut(batch: Any) -> Iterator[Acknowledgement]:
    """Yield a batch of acknowledgements in parts that one step can apply.  Raises: InvalidRequest."""
    first, last, types = batch.first_offset, batch.last_offset, batch.acknowledge_types
    if len(types) <= RUNS_PER_STEP or len(types) != last - first + 1 or first < -1:
        yield acknowledgement(first, last, types)
        return
    for start in range(0, len(types), RUNS_PER_STEP):
        some = types[start : start + RUNS_PER_STEP]
        yield acknowledgement(first + start, first + start + len(some) - 1, some)
