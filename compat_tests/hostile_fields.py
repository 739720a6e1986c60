"""Hostile texts in every field that a client may write and the web console shows.

The names of topics, of static members (KIP-345) and of clients' software (KIP-511) have an alphabet of their
own, which the broker keeps: there the texts are refused, and only the refusal can be shown.
"""

from __future__ import annotations

import uuid
from contextlib import ExitStack
from typing import Any, Final

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer
from compat_tests.hostile_texts import TEXTS
from compat_tests.wire import RawClient, raw_client
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

TOPIC: Final = "orders"
CROWD: Final = "crowd"
"""A group with a member of each client id."""

QUEUE: Final = "queue"
"""A share group with a member of each client id."""

SESSIONS: Final = "sessions"
"""A topic that gives the records of a producer each text as a header of its own."""

COLUMNS: Final = "columns"
"""A topic with a column of each name that may be one."""


def refused_name(raw: RawClient, text: str) -> bool:
    """Return whether the broker refuses the text as the name of a topic."""
    return _create(raw, {text: {}}) == [17]


def fill(broker: Broker, stack: ExitStack) -> None:
    """Write the texts everywhere; members stay until the stack ends."""
    raw = stack.enter_context(raw_client(broker))
    assert set(_create(raw, {TOPIC: {"kawal.columns": "id bigint, note string"}})) == {0}
    _records(broker)
    _views(raw)
    _columns(raw)
    for text in TEXTS:
        _commit(raw, text)
        answer = raw.call(InitProducerIdRequest(transactional_id=text, transaction_timeout_ms=60_000), 4)
        assert answer.error_code in (0, 14, 15, 16), answer
    for text in TEXTS:
        member = stack.enter_context(raw_client(broker))
        member.send(_join(CROWD), 3, client_id=text)
        heartbeat = ShareGroupHeartbeatRequest(
            group_id=QUEUE,
            member_id=str(uuid.uuid4()),
            member_epoch=0,
            rack_id=text if text.strip() else None,  # blanks alone are refused, as by Kafka
            subscribed_topic_names=[TOPIC],
        )
        assert raw.call(heartbeat, 1, client_id=text).error_code == 0
    _sessions(broker, raw)


def _sessions(broker: Broker, raw: RawClient) -> None:
    """Have each text that may be one be a header of a producer's session, of which each has 1,024 bytes."""
    texts = [text for text in TEXTS if not set(text) & set(',"\r\n\x00') and len(text) < 200]
    clients = [f"app{at // 12}" for at in range(len(texts))]
    headers = [f"client:{client}:h{at}={texts[at]}" for at, client in enumerate(clients)]
    (made,) = _answers(raw, {SESSIONS: {"kawal.session.headers": ",".join(headers)}})
    assert made.error_code == 0, made.error_message
    for client in dict.fromkeys(clients):
        producer = make_producer(broker, client_id=client)
        producer.produce(SESSIONS, b"x")
        assert producer.flush(60) == 0


def _records(broker: Broker) -> None:
    producer = make_producer(broker)
    for text in TEXTS:
        data = text.encode()
        name = text.replace("\x00", "")  # librdkafka ends a name there
        producer.produce(TOPIC, data, key=data, headers=[(name, data)])
        producer.produce(TOPIC, b'{"id":1,"note":%s}' % _json(text), key=data)
    assert producer.flush(60) == 0


def _json(text: str) -> bytes:
    escaped = "".join(f"\\u{ord(sign):04x}" if sign in '"\\' or sign < " " else sign for sign in text)
    return f'"{escaped}"'.encode()


def _views(raw: RawClient) -> None:
    """Make a view of each text as a literal of its statement, but of those that no statement may have."""
    wanted = {}
    for index, text in enumerate(TEXTS):
        literal = text.replace("'", "''")
        wanted[f"view-{index}"] = {"kawal.sql": f"SELECT id, '{literal}' AS note FROM {TOPIC}"}
    made = _create(raw, wanted)
    assert made.count(0) > len(TEXTS) * 0.9, made


def _columns(raw: RawClient) -> None:
    names = [text for text in TEXTS if text.isprintable() and not set(text) & set('`"\\') and len(text) < 100]
    columns = ", ".join(f"`{name}` string" for name in dict.fromkeys(names))
    assert len(names) > 40
    (made,) = _answers(raw, {COLUMNS: {"kawal.columns": columns}})
    assert made.error_code == 0, made.error_message


def _create(raw: RawClient, topics: dict[str, dict[str, str]]) -> list[int]:
    return [topic.error_code for topic in _answers(raw, topics)]


def _answers(raw: RawClient, topics: dict[str, dict[str, str]]) -> Any:
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=name,
                num_partitions=-1,
                replication_factor=-1,
                assignments=[],
                configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
            )
            for name, configs in topics.items()
        ],
        timeout_ms=20_000,
    )
    return raw.call(request, 5).topics


def _commit(raw: RawClient, group: str) -> Any:
    request = OffsetCommitRequest(
        group_id=group,
        member_id="",
        topics=[
            OffsetCommitRequestTopic(
                name=TOPIC,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=0, committed_offset=1, committed_metadata=group
                    )
                ],
            )
        ],
    )
    answer = raw.call(request, 8)
    assert answer.topics[0].partitions[0].error_code == 0, (group, answer)


def _join(group: str) -> JoinGroupRequest:
    subscription = b"\x00\x00\x00\x00\x00\x01\x00\x06orders\xff\xff\xff\xff"
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=120_000,
        rebalance_timeout_ms=120_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription)],
    )
