"""Fetch sessions (KIP-227): only what changed is asked for and answered."""

from __future__ import annotations

from typing import Any

import pytest

from compat_tests.batches import Batch, stored_batches
from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic
from compat_tests.requests import fetch_request, produce, topic_id
from compat_tests.topics import delete_topic
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient, raw_client
from protocol.messages.fetch import FetchRequest, ForgottenTopic

SESSION_NOT_FOUND, INVALID_SESSION_EPOCH, UNKNOWN_TOPIC = 70, 71, 3


def follow_up(session_id: int, epoch: int, **fields: Any) -> FetchRequest:
    """Return a request of an existing session that changes nothing unless told."""
    return FetchRequest(
        max_wait_ms=0, min_bytes=1, topics=[], session_id=session_id, session_epoch=epoch, **fields
    )


def opened(raw: RawClient, topic: str, *offsets: int, version: int = 12) -> int:
    """Open a session on some partitions and return its id."""
    answer = raw.call(fetch_request(topic, *offsets, session_epoch=0), version)
    assert answer.error_code == 0
    assert answer.session_id > 0
    assert len(answer.responses[0].partitions) == len(offsets)
    session_id: int = answer.session_id
    return session_id


def partitions(answer: Any) -> list[int]:
    assert answer.error_code == 0
    return [part.partition_index for response in answer.responses for part in response.partitions]


def test_a_session_answers_only_partitions_with_news(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=3)
    session = opened(raw, topic, 0, 0, 0)
    assert partitions(raw.call(follow_up(session, 1), 12)) == []
    produce(raw, topic, Batch(), partition=1)
    answer = raw.call(follow_up(session, 2), 12)
    assert partitions(answer) == [1]
    assert answer.session_id == session
    assert stored_batches(answer.responses[0].partitions[0].records)[0].base_offset == 0


def test_positions_are_moved_and_partitions_forgotten(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    for partition in (0, 1):
        produce(raw, topic, Batch(), partition=partition)
    session = opened(raw, topic, 0, 0)
    moved = follow_up(session, 1)
    moved.topics = fetch_request(topic, 1).topics
    assert partitions(raw.call(moved, 12)) == [1]
    forgotten = follow_up(session, 2)
    forgotten.forgotten_topics_data = [ForgottenTopic(topic=topic, partitions=[1])]
    assert partitions(raw.call(forgotten, 12)) == []
    added = follow_up(session, 3)
    added.topics = fetch_request(topic, 0, 0).topics
    assert partitions(raw.call(added, 12)) == [0, 1]


def test_a_session_waits_and_is_woken(broker: Broker, raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    session = opened(raw, topic, 0, 0)
    waiting = follow_up(session, 1)
    waiting.max_wait_ms = 1_000_000
    raw.send(waiting, 12)
    with raw_client(broker) as other:
        produce(other, topic, Batch(), partition=1)
    assert partitions(raw.receive()) == [1]


def test_unknown_sessions_and_wrong_epochs_are_told_apart(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    session = opened(raw, topic, 0)
    assert raw.call(follow_up(session ^ 0x55, 1), 12).error_code == SESSION_NOT_FOUND
    for epoch in (2, 9):
        assert raw.call(follow_up(session, epoch), 12).error_code == INVALID_SESSION_EPOCH
    assert raw.call(follow_up(session, 1), 12).error_code == 0


def test_a_closed_session_is_gone(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    session = opened(raw, topic, 0)
    closing = raw.call(follow_up(session, -1), 12)
    assert (closing.error_code, closing.session_id) == (0, 0)
    assert raw.call(follow_up(session, 1), 12).error_code == SESSION_NOT_FOUND


def test_without_a_session_every_partition_is_answered(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    for _ in range(2):
        answer = raw.call(fetch_request(topic, 0, 0), 12)
        assert (answer.session_id, partitions(answer)) == (0, [0, 1])


@pytest.mark.parametrize("version", [7, 11, 12])
def test_a_session_outlives_its_connection_and_serves_another(
    broker: Broker, make_topic: MakeTopic, version: int
) -> None:
    topic = make_topic()
    with raw_client(broker) as raw:
        session = opened(raw, topic, 0, version=version)
    with raw_client(broker) as raw:
        produce(raw, topic, Batch())
        assert partitions(raw.call(follow_up(session, 1), version)) == [0]


def test_sessions_by_topic_id_work_the_same(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    identity = topic_id(raw, topic)
    first = raw.call(fetch_request(identity, 0, 0, session_epoch=0), 17)
    assert (first.error_code, partitions(first)) == (0, [0, 1])
    produce(raw, topic, Batch(), partition=1)
    answer = raw.call(follow_up(first.session_id, 1), 17)
    assert (answer.responses[0].topic_id, partitions(answer)) == (identity, [1])


def test_a_topic_deleted_during_a_session_becomes_unknown(
    broker: Broker, raw: RawClient, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    session = opened(raw, topic, 0)
    delete_topic(broker, topic)
    epochs = iter(range(1, 1_000))

    def error_code() -> int:
        answer = raw.call(follow_up(session, next(epochs)), 12)
        return answer.responses[0].partitions[0].error_code if answer.responses else 0

    assert eventually(error_code, waiting_for="an error of the deleted topic") == UNKNOWN_TOPIC
