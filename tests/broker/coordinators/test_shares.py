"""The share coordinator at work: its topic, its settings, and what a crash leaves on the disk."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from broker.coordinators.shares import Shares
from groups.share.acknowledgements import acknowledgement
from groups.share.delivery import AcquireMode, Wish
from groups.share.found import Acquired, Found
from groups.share.share_partition import SharePartition
from groups.share.state_records import ShareKey
from protocol.error_codes import ErrorCode
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.gateway import Gateway
from tests.broker.kit import create

ACCEPT, RELEASE = 1, 2

LOG_END = 1_000


class Sharing:
    """A broker with a share coordinator, and short requests to it."""

    def __init__(self, **settings: Any) -> None:
        self.gateway = Gateway(kawal_vnodes=2, **settings)
        create(self.gateway.client(), "jobs")
        topic = self.gateway.broker.find_topic("jobs")
        self.key = ShareKey("g", topic.topic_id, 0)

    @property
    def shares(self) -> Shares:
        return self.gateway.broker.coordinators.shares

    def crash(self) -> None:
        self.gateway.crash()
        self.gateway.tick()
        self.gateway.settle()

    def initialize(self) -> list[ErrorCode]:
        answers: list[ErrorCode] = []
        with self.shares.step(self.gateway.now_ms) as machine:
            machine.initialize(self.key, 0, answers.append, self.gateway.now_ms)
        return answers

    def acquire(self, member_id: str, count: int) -> list[Acquired]:
        with self.shares.step(self.gateway.now_ms) as machine:
            first = self.partition.next_fetch_offset()
            wish = Wish(member_id, count, count, AcquireMode.RECORD_LIMIT)
            found = Found(first, [(offset, offset) for offset in range(first, LOG_END)], LOG_END)
            return machine.acquire(self.key, wish, found, self.gateway.now_ms)

    def say(self, member_id: str, first: int, last: int, kind: int) -> list[ErrorCode]:
        answers: list[ErrorCode] = []
        with self.shares.step(self.gateway.now_ms) as machine:
            said = [acknowledgement(first, last, [kind])]
            machine.acknowledge(self.key, member_id, said, answers.append, self.gateway.now_ms)
        return answers

    @property
    def partition(self) -> SharePartition:
        with self.shares.step(self.gateway.now_ms) as machine:
            found = machine.find(self.key)
        assert found is not None
        return found


def test_the_topic_is_made_with_the_first_state_and_keeps_every_record() -> None:
    sharing = Sharing()
    assert "__share_group_state" not in sharing.gateway.broker.catalogue.by_name
    sharing.initialize()
    sharing.gateway.settle()
    topic = sharing.gateway.broker.find_topic("__share_group_state")
    assert (topic.partition_count, topic.internal) == (50, True)
    assert (topic.configs["cleanup.policy"], topic.configs["retention.ms"]) == ("delete", "-1")


def test_a_client_that_asks_for_the_topic_gets_it_as_the_coordinator_makes_it() -> None:
    gateway = Gateway()
    asked = [MetadataRequestTopic(name="__share_group_state")]
    gateway.client().call(MetadataRequest(topics=asked, allow_auto_topic_creation=True), 12)
    topic = gateway.broker.find_topic("__share_group_state")
    assert (topic.partition_count, topic.configs["retention.ms"]) == (50, "-1")


def test_an_acknowledgement_is_answered_after_the_sync_and_survives_a_crash() -> None:
    sharing = Sharing()
    sharing.initialize()
    sharing.gateway.settle()
    sharing.acquire("m1", 10)
    answers = sharing.say("m1", 0, 4, ACCEPT)
    assert answers == []
    sharing.gateway.settle()
    assert answers == [ErrorCode.NONE]
    sharing.crash()
    assert (sharing.partition.start, sharing.partition.next_fetch_offset()) == (5, 5)
    assert sharing.acquire("m2", 1) == [Acquired(5, 5, 1)]


@pytest.mark.parametrize("seed", range(4))
def test_whatever_was_answered_survives_a_crash_at_any_moment(seed: int) -> None:
    sharing, chance = Sharing(), Random(seed)
    sharing.initialize()
    sharing.gateway.settle()
    finished: set[int] = set()
    asked: list[tuple[range, int, list[ErrorCode]]] = []
    for _ in range(150):
        match chance.randrange(12):
            case 0:
                sharing.crash()
                asked.clear()
            case 1 | 2 | 3:
                sharing.gateway.run_jobs()
            case _:
                member_id, kind = f"m{chance.randrange(3)}", chance.choice([ACCEPT, RELEASE])
                for part in sharing.acquire(member_id, chance.randrange(1, 6)):
                    offsets = range(part.first, part.last + 1)
                    assert not finished & set(offsets), f"seed {seed}: delivered again"
                    asked.append((offsets, kind, sharing.say(member_id, part.first, part.last, kind)))
        for offsets, kind, answers in asked:
            if answers == [ErrorCode.NONE] and kind == ACCEPT:
                finished.update(offsets)
    sharing.crash()
    rest = [sharing.acquire("last", 500) for _ in range(60)]
    left = {offset for parts in rest for part in parts for offset in range(part.first, part.last + 1)}
    assert finished
    assert not left & finished
