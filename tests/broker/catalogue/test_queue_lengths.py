"""Queues of limited length, which a topic shares with its tail queue."""

from __future__ import annotations

from typing import Any

from broker.catalogue.queue_lengths import rear_of
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tests.broker.dead_letters import Tail, later, told
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send
from tests.broker.shares import REJECT, Member, acquired

POLICY_VIOLATION = 44


def queue(limit: int = 10, partitions: int = 1) -> Gateway:
    gateway = Gateway(kawal_vnodes=1)
    create(gateway.client(), "jobs", partitions, kawal_queue_max_records=str(limit))
    return gateway


def put(gateway: Gateway, name: str, count: int, index: int = 0, **more: Any) -> Any:
    return send(gateway.client(), name, batch(*[b"x"] * count, **more), index)


def delete_before(gateway: Gateway, name: str, offset: int) -> None:
    partition = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=name, partitions=[partition])], timeout_ms=1_000
    )
    assert gateway.client().call(request, 2).topics[0].partitions[0].error_code == 0


def test_a_topic_and_its_tail_share_their_length() -> None:
    gateway = queue()
    create(gateway.client(), "jobs.rear")
    assert put(gateway, "jobs", 6).error_code == 0
    assert put(gateway, "jobs.rear", 4).error_code == 0
    for name in ("jobs", "jobs.rear"):
        refused = put(gateway, name, 1)
        assert refused.error_code == POLICY_VIOLATION
        assert "the queue is too long: topic 'jobs' and 'jobs.rear' have 10 records" in refused.error_message


def test_a_batch_that_does_not_fit_is_refused_as_a_whole() -> None:
    gateway = queue(limit=3)
    assert put(gateway, "jobs", 4).error_code == POLICY_VIOLATION
    assert put(gateway, "jobs", 3).error_code == 0


def test_all_partitions_count_and_deletion_makes_room() -> None:
    gateway = queue(limit=4, partitions=2)
    put(gateway, "jobs", 2)
    put(gateway, "jobs", 2, index=1)
    assert put(gateway, "jobs", 1).error_code == POLICY_VIOLATION
    delete_before(gateway, "jobs", 2)
    assert put(gateway, "jobs", 2, index=1).error_code == 0


def test_cleaning_the_tail_makes_room_in_both_at_once() -> None:
    gateway = queue(limit=4)
    create(gateway.client(), "jobs.rear")
    put(gateway, "jobs", 1)
    put(gateway, "jobs.rear", 3)
    assert put(gateway, "jobs", 1).error_code == POLICY_VIOLATION
    delete_before(gateway, "jobs.rear", 2)
    assert put(gateway, "jobs", 1).error_code == put(gateway, "jobs.rear", 1).error_code == 0
    assert put(gateway, "jobs.rear", 1).error_code == POLICY_VIOLATION


def test_a_repeated_batch_is_answered_although_the_queue_is_full() -> None:
    gateway = queue(limit=2)
    assert put(gateway, "jobs", 2, producer=(7, 0, 0)).error_code == 0
    again = put(gateway, "jobs", 2, producer=(7, 0, 0))
    assert (again.error_code, again.base_offset) == (0, 0)


def test_other_topics_have_any_length() -> None:
    gateway = queue(limit=0)
    create(gateway.client(), "others")
    create(gateway.client(), "others.rear")
    assert put(gateway, "others", 5).error_code == put(gateway, "others.rear", 5).error_code == 0
    assert put(gateway, "jobs", 1).error_code == POLICY_VIOLATION
    assert rear_of("others") == "others.rear"


def rejected(tail: Tail) -> None:
    member = tail.member()
    tail.produce(b"a", b"b")
    member.fetch(tail.place)
    member.acknowledge(tail.place, (0, 1, [REJECT]))


def test_letters_go_to_the_tail_queue_which_is_made_for_them() -> None:
    tail = Tail(has_topic=False)
    tail.settings(errors_deadletterqueue_topic_name="", kawal_share_rear_enable="true")
    rejected(tail)
    assert [told(letter)["offset"] for letter in tail.letters(topic="jobs.rear")] == ["0", "1"]
    made = tail.gateway.broker.find_topic("jobs.rear")
    assert made.configs["errors.deadletterqueue.group.enable"] == "true"


def test_a_tail_queue_without_room_holds_records_back_until_it_has() -> None:
    tail = Tail(has_topic=False)
    tail.settings(errors_deadletterqueue_topic_name="", kawal_share_rear_enable="true")
    create(tail.gateway.client(), "short", kawal_queue_max_records="3")
    member = Member(tail.gateway, "m1", "short")
    topic_id = tail.gateway.broker.find_topic("short").topic_id
    put(tail.gateway, "short", 2)
    assert acquired(member.fetch((topic_id, 0))) == [(0, 1, 1)]
    member.acknowledge((topic_id, 0), (0, 1, [REJECT]))
    later(tail)
    assert tail.gateway.broker.stats.dead_letters_held == 1
    assert tail.letters(topic="short.rear") == []
    delete_before(tail.gateway, "short", 2)
    later(tail)
    assert len(tail.letters(topic="short.rear")) == 2
    assert tail.gateway.broker.stats.dead_letters_held == 0
