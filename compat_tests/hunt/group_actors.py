"""Turns of a player about groups: members of both protocols with odd contents, and hand-written records."""

from __future__ import annotations

from typing import Any

from compat_tests.hunt.link import Link
from compat_tests.hunt.player import Player
from compat_tests.hunt.records import odd_batch, offsets_pairs
from compat_tests.hunt.world import TOPICS
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

SUBSCRIPTION = b"\0\1\0\0\0\1\0\5plain\xff\xff\xff\xff"
OFFSETS_PARTITIONS = 50
WAIT_SECONDS = 4.0


def old_group(player: Player) -> None:
    """Join a classic group with odd metadata, synchronise, commit, and leave or vanish."""
    chance, world = player.chance, player.world
    link = player.link()
    group = world.group()
    try:
        version = chance.randint(0, 9)
        protocols = [
            JoinGroupRequestProtocol(name=name, metadata=_metadata(player))
            for name in chance.choice((["range"], ["range", "roundrobin"], ["tdengine", "range"], ["x"], []))
        ]
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=6_000,
            rebalance_timeout_ms=chance.choice((200, 1_000)),
            member_id=world.member() if chance.random() < 0.3 else "",
            protocol_type="consumer",
            protocols=protocols,
        )
        joined = _ask(player, link, request, version)
        if joined is not None and joined.error_code == 79:
            request.member_id = joined.member_id
            joined = _ask(player, link, request, version)
        if joined is None or joined.error_code:
            return
        member, generation = joined.member_id, joined.generation_id
        world.members.append((group, member, generation))
        sync = SyncGroupRequest(
            group_id=group,
            generation_id=generation,
            member_id=member,
            protocol_type="consumer" if chance.random() < 0.9 else "other",
            protocol_name=joined.protocol_name or "range",
            assignments=[
                SyncGroupRequestAssignment(member_id=other, assignment=_metadata(player))
                for other in (member, "nobody", member)
            ],
        )
        _ask(player, link, sync, chance.randint(0, 5))
        _commit(player, link, group, member, generation)
        beat = HeartbeatRequest(group_id=group, generation_id=generation, member_id=member)
        _ask(player, link, beat, chance.randint(0, 4))
        if chance.random() < 0.5:
            leave = LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id=member)])
            _ask(player, link, leave, chance.randint(3, 5))
    finally:
        link.close()


def consumer_group(player: Player) -> None:
    """Join a consumer group, hold what it never got, change the subscription, commit, leave or vanish."""
    chance, world = player.chance, player.world
    link = player.link()
    group = world.group()
    member, epoch = "" if chance.random() < 0.5 else f"member-{chance.randrange(20)}", 0
    try:
        for _ in range(chance.choice((1, 3, 6))):
            version = chance.choice((0, 1))
            request = ConsumerGroupHeartbeatRequest(
                group_id=group,
                member_id=member,
                member_epoch=epoch if chance.random() < 0.9 else world.epoch(),
                rebalance_timeout_ms=chance.choice((200, 1_000)),
                subscribed_topic_names=[chance.choice(TOPICS) for _ in range(chance.choice((0, 1, 3, 500)))],
                subscribed_topic_regex=chance.choice((None, None, ".*", "fl.*|(", "(a*)*b", ""))
                if version
                else None,
                server_assignor=chance.choice((None, "uniform", "range", "tdengine", "nearest")),
                topic_partitions=_held(player),
            )
            answer = _ask(player, link, request, version)
            if answer is not None and answer.error_code == 0:
                member, epoch = answer.member_id or member, answer.member_epoch
                world.members.append((group, member, epoch))
                _commit(player, link, group, member, epoch)
        if chance.random() < 0.5:
            leave = ConsumerGroupHeartbeatRequest(
                group_id=group, member_id=member, member_epoch=chance.choice((-1, -2))
            )
            _ask(player, link, leave, 1)
    finally:
        link.close()


def offsets_records(player: Player) -> None:
    """Write records of __consumer_offsets as an administrator's client may: the next load reads them."""
    chance = player.chance
    link = player.link()
    try:
        for _ in range(5):
            parts = [
                PartitionProduceData(
                    index=chance.randrange(OFFSETS_PARTITIONS),
                    records=odd_batch(chance, [(-1, -1)], offsets_pairs(chance)),
                )
                for _ in range(3)
            ]
            topic = TopicProduceData(name="__consumer_offsets", partition_data=parts)
            request = ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=[topic])
            player.ask(link, player.request(request, 9, client_id="__admin_client"))
    finally:
        link.close()


def _metadata(player: Player) -> bytes:
    chance = player.chance
    if chance.random() < 0.5:
        return SUBSCRIPTION
    if chance.random() < 0.5:
        spoiled = bytearray(SUBSCRIPTION)
        spoiled[chance.randrange(len(spoiled))] = chance.randrange(256)
        return bytes(spoiled)
    return chance.choice((b"", b"\0", b"\0\x7f", SUBSCRIPTION * 1_000, chance.randbytes(40), bytes(1 << 20)))


def _held(player: Player) -> list[TopicPartitions] | None:
    chance = player.chance
    if chance.random() < 0.4:
        return None
    return [
        TopicPartitions(topic_id=player.world.topic_id(), partitions=[0, 1, -1, 0][: chance.randrange(5)])
        for _ in range(chance.choice((0, 1, 3)))
    ]


def _commit(player: Player, link: Link, group: str, member: str, generation: int) -> None:
    chance = player.chance
    parts = [
        OffsetCommitRequestPartition(
            partition_index=chance.choice((0, 1, 2, -1, 7)),
            committed_offset=player.world.integer(64),
            committed_metadata=chance.choice((None, "", "m" * 4_097, "ü")),
        )
        for _ in range(chance.choice((1, 3, 200)))
    ]
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        topics=[OffsetCommitRequestTopic(name=chance.choice(TOPICS), partitions=parts)],
    )
    _ask(player, link, request, chance.randint(2, 9))


def _ask(player: Player, link: Link, message: Any, version: int) -> Any:
    (answer,) = player.ask(link, player.request(message, version), within_seconds=WAIT_SECONDS * 5)
    return answer
