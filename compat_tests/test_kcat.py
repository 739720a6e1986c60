"""kcat 1.7 on Debian's librdkafka 2.0: the oldest client that must work unchanged."""

from __future__ import annotations

import json

import pytest

from compat_tests.batches import CODECS
from compat_tests.broker import Broker
from compat_tests.confluent import open_consumer, read
from compat_tests.conftest import MakeTopic
from compat_tests.kcat import kcat
from compat_tests.requests import fetched_batches
from compat_tests.times import START_MS
from compat_tests.wire import RawClient


def consume(broker: Broker, topic: str, *arguments: str) -> list[str]:
    """Read partition 0 to its end and return the lines printed."""
    return kcat(broker, "-C", "-q", "-e", "-t", topic, "-p", "0", *arguments).stdout.decode().splitlines()


def test_lines_produced_are_lines_consumed(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    lines = [f"line {i}" for i in range(1_000)]
    kcat(broker, "-P", "-t", topic, "-p", "0", stdin="\n".join(lines).encode())
    assert consume(broker, topic, "-o", "beginning") == lines


@pytest.mark.parametrize("codec", ["none", *CODECS])
def test_every_codec_really_compresses_and_round_trips(
    broker: Broker, raw: RawClient, make_topic: MakeTopic, codec: str
) -> None:
    topic = make_topic()
    lines = [f"{codec} " * 50 for _ in range(200)]
    arguments = ["-P", "-t", topic, "-p", "0", "-z", codec, "-X", "linger.ms=100"]
    kcat(broker, *arguments, stdin="\n".join(lines).encode())
    assert consume(broker, topic, "-o", "beginning") == lines
    # librdkafka before 2.11 silently stops compressing when a broker's version table has no Produce v0.
    assert {batch.codec for batch in fetched_batches(raw, topic)} == {CODECS.get(codec, 0)}
    with open_consumer(broker) as consumer:
        assert [m.value().decode() for m in read(consumer, topic, 200)] == lines


def test_keys_headers_and_nulls(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    kcat(
        broker,
        "-P",
        "-t",
        topic,
        "-p",
        "0",
        "-K:",
        "-Z",
        "-H",
        "a=1",
        "-H",
        "b=2",
        stdin=b"k1:v1\nk2:\n:v3\n",
    )
    printed = consume(broker, topic, "-o", "beginning", "-Z", "-f", "%o|%k|%s|%S|%h\\n")
    assert printed == ["0|k1|v1|2|a=1,b=2", "1|k2|NULL|-1|a=1,b=2", "2|NULL|v3|2|a=1,b=2"]


def test_json_output_names_topic_partition_offset_and_timestamp(
    broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=2)
    kcat(broker, "-P", "-t", topic, "-p", "1", "-K:", stdin=b"k:v\n")
    printed = kcat(broker, "-C", "-q", "-e", "-J", "-t", topic, "-o", "beginning").stdout
    record = json.loads(printed)
    assert {name: record[name] for name in ("topic", "partition", "offset", "tstype", "key", "payload")} == {
        "topic": topic,
        "partition": 1,
        "offset": 0,
        "tstype": "create",
        "key": "k",
        "payload": "v",
    }
    assert record["ts"] > START_MS


def test_offsets_absolute_from_the_end_and_counted(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    kcat(broker, "-P", "-t", topic, "-p", "0", stdin=b"".join(b"%d\n" % i for i in range(100)))
    assert consume(broker, topic, "-o", "97") == ["97", "98", "99"]
    assert consume(broker, topic, "-o", "-2") == ["98", "99"]
    assert consume(broker, topic, "-o", "beginning", "-c", "3") == ["0", "1", "2"]
    assert consume(broker, topic, "-o", "end") == []


def test_offsets_between_two_timestamps(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    stamps: list[int] = []
    for value in (b"a", b"b", b"c"):
        kcat(broker, "-P", "-t", topic, "-p", "0", stdin=value)
        stamps.append(int(consume(broker, topic, "-o", "-1", "-f", "%T\\n")[-1]))
    assert consume(broker, topic, "-o", f"s@{stamps[1]}") == ["b", "c"]
    assert consume(broker, topic, "-o", f"s@{stamps[0]}", "-o", f"e@{stamps[1]}") == ["a"]


def test_query_mode_answers_offsets_for_timestamps(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    kcat(broker, "-P", "-t", topic, "-p", "0", stdin=b"a\nb\n")
    queries = ["-t", f"{topic}:0:-1", "-t", f"{topic}:0:-2", "-t", f"{topic}:0:{START_MS}"]
    answers = [kcat(broker, "-Q", *queries[i : i + 2]).stdout.decode().strip() for i in (0, 2, 4)]
    assert answers == [f"{topic} [0] offset {offset}" for offset in (2, 0, 0)]


def test_metadata_lists_the_broker_and_the_topics_partitions(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=3)
    listing = json.loads(kcat(broker, "-L", "-J", "-t", topic).stdout)
    (node,) = listing["brokers"]
    assert node["name"] == broker.bootstrap
    assert listing["controllerid"] == node["id"]
    (described,) = listing["topics"]
    assert described["topic"] == topic
    assert [(p["partition"], p["leader"], p["replicas"]) for p in described["partitions"]] == [
        (i, node["id"], [{"id": node["id"]}]) for i in range(3)
    ]
    assert topic in {entry["topic"] for entry in json.loads(kcat(broker, "-L", "-J").stdout)["topics"]}


def test_an_idempotent_producer_delivers(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    lines = b"".join(b"%d\n" % i for i in range(5_000))
    kcat(broker, "-P", "-t", topic, "-p", "0", "-X", "enable.idempotence=true", stdin=lines)
    assert consume(broker, topic, "-o", "beginning") == lines.decode().splitlines()


def test_producing_creates_the_topic_with_four_partitions(broker: Broker, topic: str) -> None:
    kcat(broker, "-P", "-t", topic, "-p", "3", stdin=b"v\n")
    (described,) = json.loads(kcat(broker, "-L", "-J", "-t", topic).stdout)["topics"]
    assert len(described["partitions"]) == 4


def test_consuming_an_unknown_topic_fails(broker: Broker, topic: str) -> None:
    result = kcat(broker, "-C", "-e", "-t", topic, "-X", "allow.auto.create.topics=false", succeed=False)
    assert result.returncode != 0
    assert b"Unknown topic" in result.stderr
