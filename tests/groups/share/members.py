"""The driver of share groups' members in these tests: a log, a clock, topics, and short heartbeats.

Everything is durable at once, and states are made at once, unless `hold` or `hold_states` is set.
"""

from __future__ import annotations

from collections import deque
from random import Random
from uuid import UUID

from groups.config import GroupConfig
from groups.context import Context, every_offset, no_settings
from groups.effects import Effects, EncodedRecord
from groups.offload import run_here
from groups.share.config import ShareGroupConfig
from groups.share.group_records import decode_share_record
from groups.share.membership import InitOrder, ShareMembership
from groups.share.share_group import ShareGroup
from groups.topics import Client
from protocol.error_codes import ErrorCode
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from tests.groups.share.driver import WALL_MS, Topics

JOBS, MORE = UUID(int=1), UUID(int=2)

GROUP = "g"


class Members:
    """Share groups and the world around them."""

    def __init__(self, config: ShareGroupConfig | None = None) -> None:
        self.config = config or ShareGroupConfig()
        self.topics = Topics()
        self.topics.add("jobs", JOBS)
        self.now_ms = 0
        self.log: list[EncodedRecord] = []
        self.hold = self.hold_states = False
        self.in_flight: deque[Effects] = deque()
        self.orders: list[InitOrder] = []
        self.start()

    def start(self) -> None:
        """Start with what the log has."""
        self.in_flight.clear()
        self.context = Context(
            config=GroupConfig(offsets_topic_num_partitions=1),
            topics=self.topics,
            random=Random(0),
            wall_ms=lambda now_ms: WALL_MS + now_ms,
            settings=no_settings,
            rows_between=every_offset,
            offload=run_here,
            weight_max=1_000,
        )
        self.machine = ShareMembership(self.context, lambda _: self.config)
        self.replay()
        self.context.loaded.add(0)
        self.context.now_ms = self.now_ms
        self.machine.loaded(self.machine.table.groups)

    def replay(self) -> None:
        """Apply what the log has."""
        for key, value in self.log:
            decoded = decode_share_record(key, value)
            assert decoded is not None
            self.machine.table.replay(*decoded)

    def pump(self) -> None:
        """Store what the machine wants stored, and make states."""
        while True:
            effects = self.context.journal.take()
            self.in_flight.extend(effects)
            self.orders += [order for order in self.machine.take_orders() if isinstance(order, InitOrder)]
            if not effects and (self.hold_states or not self.orders):
                return
            if not self.hold:
                self.store()
            if self.orders and not self.hold_states:
                self.machine.initialized(self.orders.pop(0), self.now_ms)

    def store(self) -> None:
        """Make what is in flight durable."""
        while self.in_flight:
            effects = self.in_flight.popleft()
            self.log += effects.records
            self.context.journal.durable(effects, self.now_ms)

    def lose(self) -> None:
        """Fail all that is in flight."""
        while self.in_flight:
            effects = self.in_flight.popleft()
            if not effects.settled:
                self.context.journal.failed(effects, ErrorCode.KAFKA_STORAGE_ERROR, self.now_ms)
        self.pump()

    def advance(self, duration_ms: int) -> None:
        """Let time pass."""
        self.now_ms += duration_ms
        self.context.timers.run_due(self.now_ms)
        self.pump()

    def beat(
        self,
        member_id: str,
        epoch: int,
        *topics: str,
        group_id: str = GROUP,
        rack_id: str | None = None,
    ) -> list[ShareGroupHeartbeatResponse]:
        """Send a heartbeat and return its answers so far."""
        answers: list[ShareGroupHeartbeatResponse] = []
        request = ShareGroupHeartbeatRequest(
            group_id=group_id,
            member_id=member_id,
            member_epoch=epoch,
            rack_id=rack_id,
            subscribed_topic_names=list(topics) or None,
        )
        self.context.now_ms = self.now_ms
        self.machine.heartbeat(request, Client(1, "client", "/127.0.0.1"), answers.append)
        self.pump()
        return answers

    def join(self, member_id: str, *topics: str) -> ShareGroupHeartbeatResponse:
        """Join and return the answer."""
        (answer,) = self.beat(member_id, 0, *(topics or ("jobs",)))
        return answer

    @property
    def group(self) -> ShareGroup:
        return self.machine.table.groups[GROUP]


def assigned(response: ShareGroupHeartbeatResponse) -> dict[UUID, list[int]] | None:
    """Return the assignment that an answer shows."""
    if response.assignment is None:
        return None
    return {topic.topic_id: topic.partitions for topic in response.assignment.topic_partitions}
