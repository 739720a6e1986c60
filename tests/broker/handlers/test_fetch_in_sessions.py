"""Fetch within sessions: requests and answers contain only changes."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.fetch import FetchRequest, ForgottenTopic
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, fetched, fetching, send, values

TOPICS = {"t": 3}


def opened(client: Client, offsets: dict[tuple[str | UUID, int], int], version: int = 12) -> Any:
    answer = client.call(fetching(offsets, session=(0, 0), min_bytes=0), version)
    assert answer.session_id > 0
    return answer


def test_an_incremental_answer_leaves_out_what_has_not_changed(client: Client) -> None:
    first = opened(client, {("t", index): 0 for index in range(3)})
    assert len(fetched(first)) == 3
    send(client, "t", batch(b"a"), 1)
    answer = client.call(fetching({}, session=(first.session_id, 1)), 12)
    assert list(fetched(answer)) == [("t", 1)]
    assert values(fetched(answer)["t", 1].records) == [b"a"]
    moved = client.call(fetching({("t", 1): 1}, session=(first.session_id, 2), min_bytes=0), 12)
    assert fetched(moved) == {}


def test_records_that_were_not_fetched_are_sent_again(client: Client) -> None:
    first = opened(client, {("t", 0): 0})
    send(client, "t", batch(b"a"))
    for epoch in (1, 2):
        answer = client.call(fetching({}, session=(first.session_id, epoch)), 12)
        assert values(fetched(answer)["t", 0].records) == [b"a"]


def test_forgotten_partitions_are_told_no_more(client: Client) -> None:
    first = opened(client, {("t", 0): 0, ("t", 1): 0})
    send(client, "t", batch(b"a"), 0)
    send(client, "t", batch(b"b"), 1)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        session_id=first.session_id,
        session_epoch=1,
        topics=[],
        forgotten_topics_data=[ForgottenTopic(topic="t", partitions=[0])],
    )
    assert list(fetched(client.call(request, 12))) == [("t", 1)]


def test_wrong_ids_and_epochs_have_their_codes_and_end_no_session(client: Client) -> None:
    first = opened(client, {("t", 0): 0})
    wrong_epoch = client.call(fetching({}, session=(first.session_id, 7)), 12)
    assert (wrong_epoch.error_code, wrong_epoch.session_id) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0)
    unknown = client.call(fetching({}, session=(first.session_id ^ 1, 1)), 12)
    assert unknown.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert client.call(fetching({}, session=(first.session_id, 1), min_bytes=0), 12).error_code == 0


def test_a_closed_session_is_unknown(client: Client) -> None:
    first = opened(client, {("t", 0): 0})
    closing = client.call(fetching({("t", 0): 0}, session=(first.session_id, -1), min_bytes=0), 12)
    assert (closing.error_code, closing.session_id) == (0, 0)
    gone = client.call(fetching({}, session=(first.session_id, 1)), 12)
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_topic_deleted_during_a_session_is_gone_and_unknown_to_a_full_fetch(client: Client) -> None:
    topic_id = create(client, "gone")
    first = opened(client, {(topic_id, 0): 0}, version=13)
    client.call(DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=topic_id)], timeout_ms=1_000), 6)
    during = client.call(fetching({}, session=(first.session_id, 1)), 13)
    assert fetched(during)[topic_id, 0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    afresh = client.call(fetching({(topic_id, 0): 0}), 13)
    assert fetched(afresh)[topic_id, 0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_names_in_a_session_of_ids_are_refused(client: Client) -> None:
    topic_id = create(client, "named")
    first = opened(client, {(topic_id, 0): 0}, version=13)
    answer = client.call(fetching({}, session=(first.session_id, 1)), 12)
    assert answer.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_waiting_fetch_of_a_session_answers_what_changed(gateway: Gateway, client: Client) -> None:
    consumer = gateway.client()
    first = opened(consumer, {("t", index): 0 for index in range(3)})
    consumer.send(fetching({}, session=(first.session_id, 1), max_wait_ms=30_000), 12)
    assert consumer.answers() == []
    send(client, "t", batch(b"a"), 2)
    (answer,) = consumer.answers()
    assert list(fetched(answer)) == [("t", 2)]


def test_a_session_that_has_nothing_to_tell_answers_empty_at_its_deadline(
    gateway: Gateway, client: Client
) -> None:
    first = opened(client, {("t", 0): 0})
    client.send(fetching({}, session=(first.session_id, 1), max_wait_ms=100), 12)
    gateway.advance(100)
    (answer,) = client.answers()
    assert (answer.error_code, answer.session_id, answer.responses) == (0, first.session_id, [])


def test_partitions_that_gave_records_have_the_others_served_first_next_time(client: Client) -> None:
    for index in range(3):
        send(client, "t", batch(b"x" * 500), index)
    first = client.call(fetching({("t", index): 0 for index in range(3)}, session=(0, 0), max_bytes=1), 12)
    served = [index for (_, index), data in fetched(first).items() if len(data.records)]
    for epoch in (1, 2):
        answer = client.call(fetching({}, session=(first.session_id, epoch), max_bytes=1), 12)
        served += [index for (_, index), data in fetched(answer).items() if len(data.records)]
    assert served == [0, 1, 2]


def test_sessions_end_with_the_server(gateway: Gateway, client: Client) -> None:
    first = opened(client, {("t", 0): 0})
    gateway.restart()
    answer = gateway.client().call(fetching({}, session=(first.session_id, 1)), 12)
    assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_server_without_slots_answers_session_0_for_ever() -> None:
    gateway = Gateway(max_incremental_fetch_session_cache_slots=0)
    client = gateway.client()
    create(client, "t")
    for _ in range(2):
        answer = client.call(fetching({("t", 0): 0}, session=(0, 0), min_bytes=0), 12)
        assert (answer.error_code, answer.session_id, len(answer.responses)) == (0, 0, 1)


def test_a_session_that_is_evicted_while_a_fetch_of_it_waits_is_answered_and_not_found_afterwards() -> None:
    gateway = Gateway(max_incremental_fetch_session_cache_slots=1)
    client, other = gateway.client(), gateway.client()
    create(client, "t", partitions=3)
    first = opened(client, {("t", 0): 0})
    client.send(fetching({}, session=(first.session_id, 1), max_wait_ms=10_000), 12)
    opened(other, {("t", index): 0 for index in range(3)})
    gateway.advance(10_000)
    (answer,) = client.answers()
    assert (answer.error_code, fetched(answer)) == (ErrorCode.NONE, {})
    again = client.call(fetching({}, session=(first.session_id, 2)), 12)
    assert again.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_the_session_of_a_client_that_has_left_makes_room() -> None:
    gateway = Gateway(max_incremental_fetch_session_cache_slots=1)
    client, other = gateway.client(), gateway.client()
    create(client, "t", partitions=3)
    opened(client, {("t", index): 0 for index in range(3)})
    unserved = other.call(fetching({("t", 0): 0}, session=(0, 0), min_bytes=0), 12)
    assert (unserved.error_code, unserved.session_id) == (ErrorCode.NONE, 0)
    client.close()
    opened(other, {("t", 0): 0})
