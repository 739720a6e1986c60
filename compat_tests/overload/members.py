"""Loads of members that name very many existing topics."""

from __future__ import annotations

from typing import Any

from compat_tests.overload.load import Target, create_topics, frame, load, repeated
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

TOPICS = 19_000
"""A request of this API may have 20,000 elements in all."""

LEAVES = -1


def _names(target: Target) -> list[str]:
    return [f"m{number}" for number in range(target.dose(TOPICS))]


def _make(target: Target) -> None:
    create_topics(target, _names(target))


def _in_turn(target: Target, requests: list[Any]) -> str:
    return repeated(target, [frame(request, 1) for request in requests])


@load("wide-consumers", prepare=_make)
def wide_consumers(target: Target) -> str:
    """Members of a consumer group with 19,000 topics each join, take over, want fewer, and leave."""

    def beat(
        member_id: str, epoch: int = 0, topics: list[str] | None = None
    ) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(
            group_id="wide",
            member_id=member_id,
            member_epoch=epoch,
            rebalance_timeout_ms=30_000,
            subscribed_topic_names=topics,
            topic_partitions=[],
        )

    names = _names(target)
    joins = [beat("b", topics=names), beat("a", topics=names), beat("b", topics=names)]
    return _in_turn(target, [*joins, beat("a", topics=names[1:]), beat("b", LEAVES), beat("a", LEAVES)])


@load("wide-shares", prepare=_make)
def wide_shares(target: Target) -> str:
    """Members of a share group with 19,000 topics each join, want fewer, and leave."""

    def beat(member_id: str, epoch: int = 0, topics: list[str] | None = None) -> ShareGroupHeartbeatRequest:
        return ShareGroupHeartbeatRequest(
            group_id="wide-share", member_id=member_id, member_epoch=epoch, subscribed_topic_names=topics
        )

    names = _names(target)
    joins = [beat("b", topics=names), beat("a", topics=names), beat("b", topics=names[1:])]
    return _in_turn(target, [*joins, beat("b", LEAVES), beat("a", LEAVES)])
