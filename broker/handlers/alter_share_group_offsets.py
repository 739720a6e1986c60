"""AlterShareGroupOffsets: v0.

Behaviour: sets where a share group without members goes on; all that is known of its records in these
partitions is dropped.  A group that does not exist is made.  Answered when that is durable.  Each partition
has its own outcome.
Differences from Apache Kafka: there topics are answered in an order by chance, and some requests that name a
partition that does not exist get UNKNOWN_SERVER_ERROR.
Version notes: none.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Final
from uuid import UUID

# Imported on the loop, the coordinators would take 100 ms of a turn.
from broker.coordinators.cluster_states import ClusterStates
from broker.coordinators.groups import Groups as Groups
from broker.coordinators.local_states import LocalStates
from broker.coordinators.shares import Shares as Shares
from broker.errors import RequestError
from broker.fetching.share_places import Place, find_partition, leader_elsewhere
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import Pace, Until, WaitingSteps, begun
from groups.errors import GroupError
from groups.share.membership import InitOrder
from groups.share.service import ShareService as ShareService
from groups.share.state_records import ShareKey
from protocol.error_codes import ErrorCode
from protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from protocol.wire import ZERO_UUID

if TYPE_CHECKING:
    from broker.core import Broker

PER_STEP: Final = 10
"""The partitions that are set between two looks at the time: each is a record, 50 us."""


def handle(
    broker: Broker, call: Call[AlterShareGroupOffsetsRequest]
) -> AlterShareGroupOffsetsResponse | Parked | WaitingSteps:
    """Set the offsets of an empty group."""
    try:
        with broker.groups.step(call.received_ms) as coordinator:
            coordinator.share(call.received_ms).make_empty_group(call.request.group_id)
    except GroupError as error:
        return AlterShareGroupOffsetsResponse(
            error_code=error.code, error_message=error.message, responses=[]
        )
    found: Parked | WaitingSteps = begun(_Alteration(broker, call).steps())
    return found


class _Alteration:
    """One request on its way."""

    def __init__(self, broker: Broker, call: Call[AlterShareGroupOffsetsRequest]) -> None:
        self._broker = broker
        self._call = call
        self._response = AlterShareGroupOffsetsResponse(responses=[])
        # In order, each once: a request may name one partition 100,000 times.
        self._set: dict[Place, None] = {}
        self._left = 1
        # What other nodes are to set, as they lead the partitions.
        self._away: dict[Place, tuple[int, Callable[[ErrorCode], None]]] = {}

    def steps(self) -> WaitingSteps:
        """Set all offsets; the answer leaves with the last outcome."""
        request = self._call.request
        pace = Pace(PER_STEP)
        for topic in request.topics:
            if pace.due():
                yield None
            if not topic.partitions:
                continue
            known = self._broker.catalogue.find(topic.topic_name)
            topic_id = ZERO_UUID if known is None else known.topic_id
            answers = AlterShareGroupOffsetsResponseTopic(
                topic_name=topic.topic_name, topic_id=topic_id, partitions=[]
            )
            self._response.responses.append(answers)
            for partition in topic.partitions:
                answer = AlterShareGroupOffsetsResponsePartition(partition_index=partition.partition_index)
                answers.partitions.append(answer)
                self._begin(topic_id, partition.start_offset, answer)
                if pace.due():
                    yield None
        if self._away:
            yield from self._set_elsewhere()
        self._done()
        return PARKED

    def _set_elsewhere(self) -> Generator[Until | None, None, None]:
        """Have the leaders set these offsets."""
        broker = self._broker
        local = LocalStates(broker, broker, lambda: broker.coordinators.shares)
        starts = {place: start for place, (start, _) in self._away.items()}
        codes = yield from ClusterStates(broker, broker, local).set(self._call.request.group_id, starts)
        for place, (_, told) in self._away.items():
            told(codes.get(place, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))

    def _begin(self, topic_id: UUID, start: int, answer: AlterShareGroupOffsetsResponsePartition) -> None:
        place = (topic_id, answer.partition_index)
        now_ms = self._broker.clock.turn_ms
        self._left += 1

        def told(code: ErrorCode) -> None:
            if code == ErrorCode.NONE:
                self._set[place] = None
            else:
                answer.error_code, answer.error_message = code, code.text
            self._done()

        try:
            if topic_id == ZERO_UUID:
                raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            if place in self._away:
                # Named twice: the last one counts, and both are answered.
                earlier = self._away[place][1]

                def both(code: ErrorCode) -> None:
                    earlier(code)
                    told(code)

                self._away[place] = start, both
                return
            if leader_elsewhere(self._broker, place) is not None:
                self._away[place] = start, told
                return
            find_partition(self._broker, place)
            with self._broker.coordinators.shares.step(now_ms) as machine:
                machine.reset(ShareKey(self._call.request.group_id, *place), start, told, now_ms)
        except (RequestError, GroupError) as error:
            told(error.code)

    def _done(self) -> None:
        self._left -= 1
        if self._left:
            return
        now_ms = self._broker.clock.turn_ms
        if self._set:
            order = InitOrder(self._call.request.group_id, tuple(self._set))
            with self._broker.groups.step(now_ms) as coordinator:
                coordinator.share(now_ms).membership.initialized(order, now_ms)
        self._call.reply_in_thread(self._response, self._broker.scheduler.offload)
