"""One ShareFetch or ShareAcknowledge on its way: its acknowledgements, what it acquires, and its answer.

    acknowledgements --to the log----------------durable--+
    (closing) release --to the log---------------durable--+--> one answer
    acquire and read, or wait for records and read again--+

Acknowledgements of one partition are refused or applied together, but long ones in parts of RUNS_PER_STEP: if
a lock runs out in between, the parts before count, and the others are refused.
Source: KIP-932; Kafka 4.3's KafkaApis.handleShareFetchRequest and SharePartitionManager.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from broker.coordinators.group_settings import share_reading
from broker.coordinators.shares import limits_of
from broker.errors import RequestError
from broker.fetching.share_denials import ShareDenials
from broker.fetching.share_queues import ShareQueues
from broker.fetching.share_reader import Place, ReadSteps, find_partition
from broker.loop.loop import Loop
from groups.errors import GroupError, InvalidRecordState, InvalidRequest
from groups.share.sessions import SessionKey, is_member_id
from groups.share.share_partition import Acknowledgement, acknowledgement
from groups.share.state_records import ShareKey
from groups.share.states import RENEW_TYPE
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata

RUNS_PER_STEP: Final = 100
"""The ranges acknowledged between two looks at the time, in about 1 ms."""

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
        self._answered = answered
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
            self._answered()

    # --- acknowledgements -----------------------------------------------------------------------------------

    def acknowledge(self, topics: Sequence[Any], *, renews: bool) -> ReadSteps:
        """Apply all acknowledgements of a request; yield where there are many."""
        may_renew = share_reading(self._metadata, self.member.group_id).may_renew
        runs = 0
        for topic in topics:
            for asked in topic.partitions:
                if not asked.acknowledgement_batches:
                    continue
                place = (topic.topic_id, asked.partition_index)
                self.acknowledged[place] = (ErrorCode.NONE, None)
                runs += 1
                try:
                    if self._denials.denies(topic.topic_id):
                        _refuse(asked.acknowledgement_batches, renews=renews)
                    find_partition(self._metadata, place)
                    for part in _parts(asked.acknowledgement_batches, renews=renews, may_renew=may_renew):
                        runs += sum(len(batch.events) for batch in part)
                        self._apply(place, part)
                        if runs >= RUNS_PER_STEP:
                            runs = 0
                            yield None
                except RequestError as error:
                    self.acknowledged[place] = (error.code, None)
                except GroupError as error:
                    self.acknowledged[place] = (error.code, error.message)
                if runs >= RUNS_PER_STEP:
                    runs = 0
                    yield None

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

    def close(self) -> None:
        """Close the session, giving back what its member still has."""
        session = self.queues.sessions.find(self.member)
        if session is not None:
            self.queues.close(self.member, [self.begin() for _ in session.partitions])

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


def _refuse(batches: Sequence[Any], *, renews: bool) -> None:
    """Refuse acknowledgements in a topic that may not be read; Kafka looks at their form first.

    Raises: InvalidRequest, RequestError.
    """
    next(_parts(batches, renews=renews, may_renew=True), None)
    raise RequestError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def _parts(batches: Sequence[Any], *, renews: bool, may_renew: bool) -> Iterator[list[Acknowledgement]]:
    """Return the acknowledgements of one partition in parts of RUNS_PER_STEP, all of them checked.

    Raises: InvalidRequest, InvalidRecordState.
    """
    checked: list[Acknowledgement] = []
    first = before = -1
    for batch in batches:
        if batch.first_offset < first:
            raise InvalidRequest(f"offset {batch.first_offset} is acknowledged after offset {first}")
        if batch.first_offset <= before:
            raise InvalidRecordState(f"offset {batch.first_offset} is acknowledged twice")
        first, before = batch.first_offset, batch.last_offset
        if RENEW_TYPE in batch.acknowledge_types:
            if not renews:
                raise InvalidRequest("records are renewed only by a request that says so (IsRenewAck)")
            if not may_renew:
                raise InvalidRecordState("the group does not renew locks (share.renew.acknowledge.enable)")
        found = acknowledgement(batch.first_offset, batch.last_offset, batch.acknowledge_types)
        checked += _cut(found)
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


def _cut(whole: Acknowledgement) -> Iterator[Acknowledgement]:
    """Yield an acknowledgement in parts that one step can apply."""
    if len(whole.events) <= RUNS_PER_STEP:
        yield whole
        return
    for start in range(0, len(whole.events), RUNS_PER_STEP):
        events = whole.events[start : start + RUNS_PER_STEP]
        yield Acknowledgement(whole.first + start, whole.first + start + len(events) - 1, events)
