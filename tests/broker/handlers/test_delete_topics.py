"""DeleteTopics: topics are deleted for good, with their records, and only once that is durable."""

from __future__ import annotations

import errno
from uuid import UUID

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.metadata import MetadataRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import beating
from tests.broker.kit import batch, create, fetch, offset_of, producing, read, send
from wal.memory_faults import failing


def by_name(*names: str) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topic_names=list(names), timeout_ms=1_000)


def by_any(*topics: str | UUID) -> DeleteTopicsRequest:
    states = [
        DeleteTopicState(name=topic) if isinstance(topic, str) else DeleteTopicState(topic_id=topic)
        for topic in topics
    ]
    return DeleteTopicsRequest(topics=states, timeout_ms=1_000)


def names(client: Client) -> list[str]:
    return sorted(topic.name for topic in client.call(MetadataRequest(topics=None), 12).topics)


@pytest.mark.parametrize("version", range(1, 6))
def test_topics_go_by_name(client: Client, version: int) -> None:
    create(client, "t")
    create(client, "u")
    results = client.call(by_name("t", "none"), version).responses
    assert [(result.name, result.error_code) for result in results] == [
        ("t", 0),
        ("none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert names(client) == ["u"]


def test_topics_go_by_id_and_the_answer_names_them(client: Client) -> None:
    topic_id = create(client, "t")
    (result,) = client.call(by_any(topic_id), 6).responses
    assert (result.error_code, result.name, result.topic_id) == (0, "t", topic_id)
    (again,) = client.call(by_any(topic_id), 6).responses
    assert (again.error_code, again.name) == (ErrorCode.UNKNOWN_TOPIC_ID, None)


def test_items_that_name_nothing_or_too_much_are_refused(client: Client) -> None:
    topic_id = create(client, "t")
    both = DeleteTopicState(name="t", topic_id=topic_id)
    neither = DeleteTopicState()
    answer = client.call(DeleteTopicsRequest(topics=[both, neither], timeout_ms=1_000), 6)
    assert [result.error_code for result in answer.responses] == [ErrorCode.INVALID_REQUEST] * 2
    assert names(client) == ["t"]


def test_a_topic_named_twice_is_kept(client: Client) -> None:
    topic_id = create(client, "t")
    create(client, "u")
    create(client, "v")
    results = client.call(by_any("t", topic_id, "u", "v", "v"), 6).responses
    codes = {result.name or result.topic_id: result.error_code for result in results}
    assert codes["u"] == 0
    assert sorted(codes.values()) == [0, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST]
    assert names(client) == ["t", "v"]


def test_a_name_that_no_topic_can_have_is_unknown(client: Client) -> None:
    (result,) = client.call(by_name("a/b"), 5).responses
    assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_deletion_can_be_switched_off() -> None:
    client = Gateway(delete_topic_enable=False).client()
    create(client, "t")
    (result,) = client.call(by_name("t"), 5).responses
    assert result.error_code == ErrorCode.TOPIC_DELETION_DISABLED
    assert names(client) == ["t"]


def test_a_topic_made_again_is_another_one(gateway: Gateway, client: Client) -> None:
    first = create(client, "t")
    send(client, "t", batch(b"old", producer=(7, 0, 0)))
    client.call(by_name("t"), 5)
    assert create(client, "t") != first
    assert offset_of(client, "t", -1).offset == 0
    assert send(client, "t", batch(b"new", producer=(7, 0, 3))).base_offset == 0
    gateway.crash()
    assert read(gateway.client(), "t") == [b"new"]


def test_an_answered_deletion_survives_a_crash(gateway: Gateway, client: Client) -> None:
    create(client, "t", 3)
    create(client, "kept")
    send(client, "t", batch(b"a"), 2)
    send(client, "kept", batch(b"k"))
    client.call(by_name("t"), 5)
    gateway.crash()
    client = gateway.client()
    assert names(client) == ["kept"]
    gateway.settle()
    assert sum(len(list(vnode.log.streams())) for vnode in gateway.broker.vnodes["default"]) == 1
    assert read(client, "kept") == [b"k"]


def test_a_deletion_lost_in_a_crash_loses_no_record(gateway: Gateway, client: Client) -> None:
    """Streams must not go before the catalogue says so; here the streams' log syncs but meta does not."""
    create(client, "t")
    send(client, "t", batch(b"a"))
    client.send(by_name("t"), 5)
    for _ in range(3):
        others = [pair for pair in gateway.broker.take_jobs(gateway.now_ms) if pair[0].database != "meta"]
        gateway.finish(others)
    gateway.crash()
    client = gateway.client()
    assert names(client) == ["t"]
    assert read(client, "t") == [b"a"]


def test_a_deletion_that_the_disk_refuses_leaves_everything_as_it_was(
    gateway: Gateway, client: Client
) -> None:
    topic_id = create(client, "t", 2)
    send(client, "t", batch(b"a"), 1)
    client.send(by_name("t"), 5)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="meta"))
    gateway.run_jobs()
    (answer,) = client.answers()
    assert answer.responses[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    gateway.settle()
    (shown,) = client.call(MetadataRequest(topics=None), 12).topics
    assert (shown.name, shown.topic_id) == ("t", topic_id)
    assert read(client, "t", partition=1) == [b"a"]
    assert send(client, "t", batch(b"b"), 1).base_offset == 1


def test_streams_on_a_log_that_has_failed_are_dropped_later() -> None:
    gateway = Gateway(kawal_vnodes=1, log_retention_check_interval_ms=5_000)
    client = gateway.client()
    create(client, "t")
    create(client, "u")
    send(client, "t", batch(b"a"))
    client.send(producing(("u", 0, batch(b"lost"))), 9)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode-0"))
    gateway.run_jobs()
    gateway.disk.faults.append(failing("open", errno.EIO, path="vnode-0"))
    client.send(by_name("t"), 5)
    gateway.run_jobs()
    assert client.answers()[-1].responses[0].error_code == 0
    gateway.advance(20_000)
    assert len(list(gateway.broker.vnodes["default"][0].log.streams())) <= 1
    assert fetch(client, "t").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# --- kawal.drop.policy --------------------------------------------------------------------------------------


def test_topics_with_subscribers_go_as_in_kafka(client: Client) -> None:
    create(client, "t")
    client.call(beating("g", "m", topics=["t"]), 1)
    assert client.call(by_name("t"), 5).responses[0].error_code == 0


def test_topics_with_subscribers_are_kept_where_the_policy_says_so() -> None:
    gateway = Gateway(kawal_drop_policy="refuse", kawal_rebalance_interval_ms=0)
    client = gateway.client()
    for name in ("t", "other"):
        create(client, name)
    epoch = client.call(beating("g", "m", topics=["t"]), 1).member_epoch
    kept, gone = client.call(by_name("t", "other"), 5).responses
    assert (kept.error_code, gone.error_code) == (ErrorCode.POLICY_VIOLATION, 0)
    assert "topic 't' has subscribers in groups g;" in kept.error_message
    assert epoch > 0
    client.call(beating("g", "m", -1), 1)
    assert client.call(by_name("t"), 5).responses[0].error_code == 0
