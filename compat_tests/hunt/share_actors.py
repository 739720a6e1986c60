"""Turns of a player about share groups: members, sessions, acquired records, and settings that change."""

from __future__ import annotations

from random import Random
from typing import Any

from compat_tests.hunt.link import Link
from compat_tests.hunt.player import Player
from compat_tests.hunt.topic_actors import PARTITIONS, STORED
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.kawal_queue_changes import KawalQueueChangesRequest, QueueAction, QueueTopicItem
from protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from protocol.messages.share_fetch import AcknowledgementBatch as FetchAcknowledgement
from protocol.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

GROUPS = tuple(f"queue-{number}" for number in range(4))

GROUP_CONFIG = 32

RENEWALS_SINCE = 2
"""The version of ShareFetch since which a request may renew."""

SETTINGS: dict[str, tuple[str, ...]] = {
    "share.auto.offset.reset": ("earliest", "earliest", "latest", "by_duration:PT1H"),
    "share.isolation.level": ("read_committed", "read_uncommitted"),
    "share.record.lock.duration.ms": ("1000", "15000"),
    "share.delivery.count.limit": ("2", "5"),
    "errors.deadletterqueue.topic.name": ("dead", "plain", ""),
    "errors.deadletterqueue.copy.record.enable": ("true", "false"),
    "kawal.share.deadletter.headers.enable": ("true", "false"),
    "kawal.share.member.max.records": ("1", "10", "1000"),
    "kawal.share.partition.max.in.flight.bytes": ("1", "10000", "-1"),
    "kawal.share.auto.accept": ("true", "false"),
    "kawal.share.filter": ("", "a = 'b'", "NOT (a = 'b')", "(", f"{'(' * 900}a = 'b'{')' * 900}"),
    "kawal.share.avoid.last.member.ms": ("0", "500"),
    "kawal.share.steal.idle.ms": ("0", "100"),
    "kawal.share.rear.enable": ("true", "false"),
    "kawal.share.timing.enable": ("true", "false"),
    "kawal.consume.excluded": ("true", "false"),
}
"""Settings of share groups, right and wrong: they change while members have records."""


class Member:
    """A member of a share group as a client knows it."""

    def __init__(self, player: Player, link: Link) -> None:
        self.player = player
        self.link = link
        self.chance: Random = player.chance
        self.group = self.chance.choice(GROUPS)
        self.id = f"worker-{self.chance.randrange(12)}"
        self.epoch = self.session_epoch = 0
        self.topics = [self.chance.choice(STORED) for _ in range(self.chance.choice((1, 2, 5)))]
        self.acquired: list[tuple[Any, int, int, int]] = []
        """Topic id, partition, first and last offset."""

    def ask(self, message: Any, version: int) -> Any:
        """Return the answer, if there is one."""
        answers = self.player.ask(self.link, self.player.request(message, version))
        return answers[0] if answers else None

    def beat(self) -> None:
        """Join, stay, or say something odd."""
        answer = self.ask(
            ShareGroupHeartbeatRequest(
                group_id=self.group,
                member_id=self.id,
                member_epoch=self.epoch if self.chance.random() < 0.9 else self.player.world.epoch(),
                subscribed_topic_names=self.topics * self.chance.choice((1, 1, 1, 1_000)),
            ),
            1,
        )
        if answer is not None:
            self.epoch = answer.member_epoch if not answer.error_code else 0

    def fetch(self) -> None:
        """Acquire records, acknowledging some of those before in the same request."""
        given = self.acknowledgements()
        ids = list(self.player.world.topic_ids.values()) or [self.player.world.topic_id()]
        wanted = {(self.chance.choice(ids), index) for index in range(PARTITIONS)} | set(given)
        topics = [
            FetchTopic(
                topic_id=topic_id,
                partitions=[
                    FetchPartition(
                        partition_index=index,
                        acknowledgement_batches=[
                            FetchAcknowledgement(
                                first_offset=first, last_offset=last, acknowledge_types=kinds
                            )
                            for first, last, kinds in given.get((topic_id, index), [])
                        ],
                    )
                ],
            )
            for topic_id, index in wanted
        ]
        request = ShareFetchRequest(
            group_id=self.group,
            member_id=self.id,
            share_session_epoch=self.session_epoch,
            max_wait_ms=self.chance.choice((0, 0, 50)),
            min_bytes=self.chance.choice((0, 1, 10_000)),
            max_bytes=self.chance.choice((0, 1_000, 1 << 20)),
            max_records=self.chance.choice((1, 10, 500, 2**31 - 1, 0, -1)),
            batch_size=self.chance.choice((1, 10, 500, 0)),
            share_acquire_mode=self.chance.choice((0, 1, 2)),
            is_renew_ack=self.chance.random() < 0.1,
            topics=topics,
            forgotten_topics_data=[],
        )
        answer = self.ask(request, RENEWALS_SINCE if request.is_renew_ack else self.chance.choice((1, 2)))
        if answer is None or answer.error_code:
            self.session_epoch = 0
            return
        self.session_epoch += 1
        for topic in answer.responses:
            for part in topic.partitions:
                for found in part.acquired_records:
                    place = topic.topic_id, part.partition_index
                    self.acquired.append((*place, found.first_offset, found.last_offset))

    def acknowledgements(self) -> dict[tuple[Any, int], list[tuple[int, int, list[int]]]]:
        """Return outcomes for some of what was acquired, by partition; some of them are wrong."""
        given: dict[tuple[Any, int], list[tuple[int, int, list[int]]]] = {}
        while self.acquired and self.chance.random() < 0.8:
            topic_id, index, first, last = self.acquired.pop()
            if self.chance.random() < 0.1:
                first, last = self.chance.choice(((last, first), (first - 1, last), (first, 2**63 - 1)))
            count = min(max(0, last - first + 1), 1_000)
            one_for_all = self.chance.random() < 0.6
            kinds = [
                self.chance.choice((0, 1, 1, 2, 3, 4, 5, -1)) for _ in range(1 if one_for_all else count)
            ]
            given.setdefault((topic_id, index), []).append((first, last, kinds))
        return given

    def acknowledge(self) -> None:
        """Say what became of records, without asking for more."""
        topics = [
            AcknowledgeTopic(
                topic_id=topic_id,
                partitions=[
                    AcknowledgePartition(
                        partition_index=index,
                        acknowledgement_batches=[
                            AcknowledgementBatch(
                                first_offset=first, last_offset=last, acknowledge_types=kinds
                            )
                            for first, last, kinds in batches
                        ],
                    )
                ],
            )
            for (topic_id, index), batches in self.acknowledgements().items()
        ]
        request = ShareAcknowledgeRequest(
            group_id=self.group, member_id=self.id, share_session_epoch=self.session_epoch, topics=topics
        )
        answer = self.ask(request, self.chance.choice((1, 2)))
        self.session_epoch = self.session_epoch + 1 if answer is not None and not answer.error_code else 0

    def configure(self) -> None:
        """Change settings of the group while it works."""
        changes = [
            AlterableConfig(
                name=name,
                config_operation=self.chance.choice((0, 0, 0, 1)),
                value=self.chance.choice(SETTINGS[name]),
            )
            for name in self.chance.sample(list(SETTINGS), self.chance.choice((1, 3)))
        ]
        resource = AlterConfigsResource(resource_type=GROUP_CONFIG, resource_name=self.group, configs=changes)
        self.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)

    def change_queue(self) -> None:
        """Do what an operator does to a queue, to a working one."""
        item = QueueTopicItem(topic_name=self.chance.choice(STORED), partitions=list(range(PARTITIONS)))
        request = KawalQueueChangesRequest(
            group_id=self.group,
            action=self.chance.choice([*map(int, QueueAction), -1]),
            member_id=self.chance.choice((None, self.id)),
            offset=self.chance.choice((-1, 0, 5, 2**62)),
            topics=self.chance.choice((None, [item])),
        )
        self.ask(request, 0)

    def leave(self) -> None:
        """Leave the group, or only close the session."""
        if self.chance.random() < 0.5:
            self.session_epoch = -1
            self.acknowledge()
            return
        self.ask(ShareGroupHeartbeatRequest(group_id=self.group, member_id=self.id, member_epoch=-1), 1)
        self.epoch = 0


def _fetch_batch(first: int, last: int, kinds: list[int]) -> FetchAcknowledgement:
    return FetchAcknowledgement(first_offset=first, last_offset=last, acknowledge_types=kinds)


def _batch(first: int, last: int, kinds: list[int]) -> AcknowledgementBatch:
    return AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=kinds)


STEPS = (
    *(Member.fetch,) * 8,
    *(Member.acknowledge,) * 4,
    *(Member.beat,) * 2,
    Member.configure,
    Member.change_queue,
    Member.leave,
)


def share_group(player: Player) -> None:
    """Be a member of a share group: acquire, accept, release, renew, repeat, and vanish with records."""
    link = player.link()
    try:
        member = Member(player, link)
        member.beat()
        for _ in range(25):
            player.chance.choice(STEPS)(member)
    finally:
        link.close()
