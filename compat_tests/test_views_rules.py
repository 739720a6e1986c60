"""The rules of views for every client: refusals with codes and sentences, columns, values, times, changes.

Numbers in names are those of TDengine's own tests, in the list of docs/groups.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import duckdb
import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, produce, read, take
from compat_tests.conftest import StartBroker
from compat_tests.test_console import kawal
from compat_tests.topics import create_topic, delete_topic
from compat_tests.views import admin_client, make_view
from console.database_admin import do
from protocol.messages.kawal_databases import DatabaseAction

pytestmark = pytest.mark.only_kawal("Apache Kafka has no views")

INVALID_CONFIG, INVALID_PARTITIONS = KafkaError.INVALID_CONFIG, KafkaError.INVALID_PARTITIONS
POLICY_VIOLATION, EXISTS = KafkaError.POLICY_VIOLATION, KafkaError.TOPIC_ALREADY_EXISTS

SOURCE = "ruled"
COLUMNS = "id bigint, delay int, carrier varchar(8), city varchar(20) tag"

IN_HEADERS = {"m2": b"Porto", "m3": b"Faro"}
"""The tags that two keys have from headers."""

REFUSED: dict[str, tuple[int, str]] = {
    "SELEC id FROM ruled": (INVALID_CONFIG, "'SELEC' at line 1"),
    "SELECT COUNT(*) FROM ruled": (INVALID_CONFIG, "COUNT"),
    "SELECT PERCENTILE(delay, 90) FROM ruled": (INVALID_CONFIG, "PERCENTILE"),
    "SELECT LAST(delay) FROM ruled": (INVALID_CONFIG, "LAST"),
    "SELECT a.id FROM ruled a JOIN ruled b ON a.id = b.id": (INVALID_CONFIG, "JOIN"),
    "SELECT id FROM ruled, rule": (INVALID_CONFIG, "several topics in FROM"),
    "SELECT id FROM ruled ORDER BY id": (INVALID_CONFIG, "ORDER BY"),
    "SELECT id FROM ruled LIMIT 1": (INVALID_CONFIG, "LIMIT"),
    "SELECT DISTINCT id FROM ruled": (INVALID_CONFIG, "DISTINCT"),
    "SELECT id FROM ruled GROUP BY id": (INVALID_CONFIG, "GROUP BY"),
    "SELECT id FROM ruled PARTITION BY id": (INVALID_CONFIG, "PARTITION BY"),
    "SELECT id FROM ruled INTERVAL(1m)": (INVALID_CONFIG, "INTERVAL"),
    "SELECT id FROM (SELECT id FROM ruled)": (INVALID_CONFIG, "sub-query"),
    "SELECT id FROM ruled WHERE id IN (SELECT id FROM ruled)": (INVALID_CONFIG, "sub-query"),
    "SELECT id FROM ruled UNION SELECT id FROM ruled": (INVALID_CONFIG, "UNION"),
    "SELECT id FROM ruld": (INVALID_CONFIG, "there is no topic 'ruld' to read; did you mean 'ruled'?"),
    "SELECT nr FROM ruled": (INVALID_CONFIG, "'nr'"),
    "SELECT frobnicate(id) FROM ruled": (INVALID_CONFIG, "FROBNICATE"),
    "SELECT NOW() FROM ruled": (INVALID_CONFIG, "NOW"),
    "SELECT delay + carrier FROM ruled": (INVALID_CONFIG, "+ takes numbers"),
    "SELECT id FROM ruled WHERE delay = 'x'": (INVALID_CONFIG, "= cannot compare a int with a string"),
    "SELECT id FROM ruled WHERE delay": (INVALID_CONFIG, "WHERE"),
    "SELECT * FROM `rule`": (INVALID_CONFIG, "'rule' is a view over 'ruled'"),
    "SELECT * FROM itself": (INVALID_CONFIG, "there is no topic 'itself'"),
    "STABLE ruled WHERE delay > 1": (INVALID_CONFIG, "'delay'"),
    "STABLE ruled WHERE COUNT(*) > 1": (INVALID_CONFIG, "COUNT"),
    "SELECT other.id FROM ruled": (INVALID_CONFIG, "'other' is not the source of this view"),
    "STABLE ruled WHERE nr = 1": (INVALID_CONFIG, "'nr'"),
    "DATABASE nowhere": (INVALID_CONFIG, "'nowhere'"),
    "CREATE TOPIC other AS STABLE ruled": (INVALID_CONFIG, "'other'"),
    "SELECT id FROM ruled WHERE " + "(" * 200 + "TRUE" + ")" * 200: (INVALID_CONFIG, "deep"),
    "SELECT id FROM ruled WHERE id IN (" + "1," * 9_000 + "1)": (INVALID_CONFIG, "characters"),
    "SELECT id FROM ruled WHERE id = 1" + "0" * 400: (INVALID_CONFIG, "larger than a bigint"),
}
"""Statements that are no view: the code and the part that the sentence names."""

STABLE: dict[str, list[int]] = {
    "city = 'Porto'": [0, 2, 4],
    "city LIKE 'F%' OR tbname = 'm3'": [1, 3],
    "LENGTH(city) = 4 AND header('n') <> '9'": [1, 3],
    "city IN ('Porto', 'Faro') IS NOT TRUE": [],
    "2 > 1": [0, 1, 2, 3, 4],
    "FALSE": [],
    "city > 'b' AND city < 'a'": [],
}
"""What a supertable's view may ask for, and the ids that it shows."""


@pytest.fixture(scope="module")
def source(group_broker: Broker) -> str:
    """Produce records with tags in values, in headers, and known by key; make the view `rule` over them."""
    create_topic(group_broker, SOURCE, 2, {"kawal.columns": COLUMNS})
    producer = make_producer(group_broker)
    for number, (key, city) in enumerate(
        (("m0", "Porto"), ("m1", "Faro"), ("m2", ""), ("m3", ""), ("m0", ""))
    ):
        value = {"id": number, "delay": 0, "carrier": "TP", **({"city": city} if city else {})}
        headers = [("n", b"%d" % number)]
        if key in IN_HEADERS:
            headers.append(("kawal.tag.city", IN_HEADERS[key]))
        producer.produce(SOURCE, json.dumps(value), key, partition=0, headers=headers)
    assert producer.flush(60) == 0
    make_view(group_broker, "rule", f"SELECT id FROM {SOURCE} WHERE delay > 15")
    return SOURCE


def refusal(broker: Broker, name: str, configs: dict[str, str], partitions: int = -1) -> tuple[int, str]:
    """Return the code and the sentence with which CreateTopics is answered."""
    new = NewTopic(name, num_partitions=partitions, replication_factor=-1, config=configs)
    admin = admin_client(broker)
    with pytest.raises(KafkaException) as refused:
        admin.create_topics([new])[name].result(timeout=60)
    error = refused.value.args[0]
    return error.code(), error.str()


@pytest.mark.parametrize("sql", list(REFUSED), ids=lambda sql: sql[:40])
def test_29_what_is_no_view_is_refused_with_the_part_at_fault(
    group_broker: Broker, source: str, sql: str
) -> None:
    code, sentence = refusal(group_broker, "itself", {"kawal.sql": sql})
    assert (code, REFUSED[sql][1] in sentence) == (REFUSED[sql][0], True), sentence


@pytest.mark.parametrize(
    ("name", "configs", "partitions", "code", "part"),
    [
        ("v", {"kawal.sql": "STABLE ruled"}, 3, INVALID_PARTITIONS, "2 partition(s) of 'ruled'"),
        ("rule", {"kawal.sql": "STABLE ruled"}, -1, EXISTS, "'rule'"),
        ("v", {"kawal.alias.of": "rule"}, -1, INVALID_CONFIG, "'rule' is a view over 'ruled'"),
        ("v", {"kawal.sql": "STABLE ruled", "retention.ms": "1"}, -1, INVALID_CONFIG, "retention.ms"),
        ("v", {"kawal.sql": "STABLE ruled", "kawal.from": "tomorrow"}, -1, INVALID_CONFIG, "'tomorrow'"),
        ("v", {"kawal.alias.of": "ruled", "kawal.replay.speed": "0"}, -1, INVALID_CONFIG, "'0'"),
        ("v", {"kawal.from": "offset 1"}, 2, INVALID_CONFIG, "kawal.from"),
    ],
)
def test_what_does_not_go_with_a_view_is_refused(
    group_broker: Broker,
    source: str,
    name: str,
    configs: dict[str, str],
    partitions: int,
    code: int,
    part: str,
) -> None:
    found, sentence = refusal(group_broker, name, configs, partitions)
    assert (found, part in sentence) == (code, True), sentence


def test_internal_topics_are_read_by_no_view(group_broker: Broker, source: str) -> None:
    with open_consumer(group_broker) as consumer:
        consumer.commit(offsets=[TopicPartition(source, 0, 1)], asynchronous=False)
    code, sentence = refusal(group_broker, "v", {"kawal.sql": "STABLE __consumer_offsets"})
    assert code == INVALID_CONFIG
    assert "'__consumer_offsets' is an internal topic, which no view may read" in sentence
    code, sentence = refusal(group_broker, "v", {"kawal.alias.of": "__consumer_offsets"})
    assert (code, "internal topic" in sentence) == (INVALID_CONFIG, True)


def values_of(broker: Broker, view: str, count: int) -> list[Any]:
    """Return the values of `count` records, and no more, on partition 0."""
    with open_consumer(broker, enable_partition_eof=True, fetch_wait_max_ms=50) as consumer:
        consumer.assign([TopicPartition(view, 0, 0)])
        found = []
        while (message := consumer.poll(60)) is not None and message.error() is None:
            found.append(json.loads(message.value()))
        assert message is not None, f"no end of {view} after 60 s"
        assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
    assert len(found) == count, found
    return found


def test_29_a_supertable_is_asked_for_tags_keys_headers_and_constants(
    group_broker: Broker, source: str
) -> None:
    for number, (condition, wanted) in enumerate(STABLE.items()):
        view = make_view(group_broker, f"stable-{number}", f"STABLE {source} WHERE {condition}")
        assert [value["id"] for value in values_of(group_broker, view, len(wanted))] == wanted, condition


def altered(broker: Broker, topic: str, key: str, value: str) -> tuple[int, str] | None:
    """Set a configuration; return the code and sentence of a refusal."""
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = admin_client(broker)
    error = admin.incremental_alter_configs([resource])[resource].exception(timeout=60)
    return None if error is None else (error.args[0].code(), error.args[0].str())


def test_26_columns_in_use_are_kept_and_new_ones_show_where_values_are_whole(group_broker: Broker) -> None:
    create_topic(group_broker, "wide", 1, {"kawal.columns": "a int, b int, c int"})
    sums = make_view(group_broker, "wide.sum", "SELECT a + b AS s FROM wide WHERE a > 0")
    star = make_view(group_broker, "wide.star", "SELECT *, a AS again FROM wide")
    whole = make_view(group_broker, "wide.whole", "STABLE wide")
    for columns in ("a int, c int", "a int, b varchar(3), c int"):
        code, sentence = altered(group_broker, "wide", "kawal.columns", columns) or (0, "")
        assert (code, "column 'b' of 'wide'" in sentence) == (POLICY_VIOLATION, True), sentence
        assert "'wide.sum'" in sentence
    assert altered(group_broker, "wide", "kawal.columns", "a int, b int, c int, d int") is None
    record = {"a": 1, "b": 2, "c": 3, "d": 4}
    produce(make_producer(group_broker), "wide", [json.dumps(record).encode()])
    assert values_of(group_broker, sums, 1) == [{"s": 3}]
    assert values_of(group_broker, star, 1) == [{"a": 1, "b": 2, "c": 3, "again": 1}]
    assert values_of(group_broker, whole, 1) == [record]


def test_what_has_readers_is_not_dropped(group_broker: Broker, source: str) -> None:
    """27: databases with views over them, and topics with views over them."""
    (made,) = do(group_broker.bootstrap, DatabaseAction.CREATE, ["held"], {"vnodes": "1"})
    assert not made.error_code
    make_view(group_broker, "held.all", "DATABASE held")
    (dropped,) = do(group_broker.bootstrap, DatabaseAction.DROP, ["held"])
    assert dropped.error_code == POLICY_VIOLATION
    assert "'held.all'" in (dropped.error_message or "")
    admin = admin_client(group_broker)
    # librdkafka asks in a version without sentences.
    error = admin.delete_topics([source])[source].exception(timeout=60).args[0]
    assert error.code() == POLICY_VIOLATION
    for name in ("held.all", "rule"):
        assert name in admin.list_topics(timeout=60).topics
    delete_topic(group_broker, "held.all")
    (dropped,) = do(group_broker.bootstrap, DatabaseAction.DROP, ["held"])
    assert not dropped.error_code


def test_31_updates_come_again_and_deletions_take_nothing_back(group_broker: Broker) -> None:
    create_topic(group_broker, "updates", 1, {"kawal.columns": "v int"})
    query = make_view(group_broker, "updates.query", "SELECT v FROM updates WHERE v > 0 OR v IS NULL")
    whole = make_view(group_broker, "updates.whole", "SELECT * FROM updates WHERE tbname = 'k'")
    producer = make_producer(group_broker)
    for value in (b'{"v":1}', b'{"v":2}', None, b'{"v":1}'):
        producer.produce("updates", value, b"k", partition=0)
    assert producer.flush(60) == 0
    with open_consumer(group_broker) as consumer:
        shown = [message.value() for message in read(consumer, query, 4)]
        assert shown == [b'{"v":1}', b'{"v":2}', b'{"v":null}', b'{"v":1}']
        assert [message.value() for message in read(consumer, whole, 4)] == [
            b'{"v":1}',
            b'{"v":2}',
            None,
            b'{"v":1}',
        ]


def test_32_milliseconds_microseconds_and_nanoseconds_stay_what_they_are(group_broker: Broker) -> None:
    columns = "ms timestamp, us timestamp(us), ns timestamp(ns)"
    create_topic(group_broker, "precise", 1, {"kawal.columns": columns})
    numbers = {"ms": 1_795_275_526_765, "us": 1_795_275_526_765_432, "ns": 1_795_275_526_765_432_198}
    texts = dict.fromkeys(numbers, "2026-11-21T15:38:46.765432198Z")
    make_view(group_broker, "precise.all", "SELECT ms, us, ns FROM precise WHERE us > ms OR ns IS NULL")
    iso = "SELECT TO_ISO8601(ms) AS ms, TO_ISO8601(us) AS us, TO_ISO8601(ns) AS ns FROM precise WHERE ns > us"
    make_view(group_broker, "precise.iso", iso)
    values = [json.dumps(value).encode() for value in (numbers, texts)]
    produce(make_producer(group_broker), "precise", values)
    assert values_of(group_broker, "precise.all", 2) == [numbers, numbers]
    stamp = "2026-11-21T15:38:46.765"
    iso_texts = {"ms": f"{stamp}Z", "us": f"{stamp}432Z", "ns": f"{stamp}432198Z"}
    assert values_of(group_broker, "precise.iso", 2) == [iso_texts, iso_texts]


SAME_AS_SQL = (
    "id, carrier FROM sample WHERE delay > 30 AND carrier LIKE 'A%'",
    "id, UPPER(carrier) AS c, delay * 2 - 1 AS d FROM sample WHERE delay IS NOT NULL AND id % 7 = 3",
    "id, CASE WHEN delay > 30 THEN 'late' ELSE 'no' END AS how FROM sample WHERE NOT delay BETWEEN 5 AND 50",
    "id, carrier || '-' || city AS place FROM sample WHERE city IN ('Porto', 'Faro') OR city IS NULL",
    "id, COALESCE(delay, -1) AS delay, delay IS NULL AS unknown FROM sample WHERE id >= 0",
)
"""Filters, tags and functions; DuckDB understands them as they are."""


def test_33_views_give_what_the_same_statement_gives_over_a_table(group_broker: Broker) -> None:
    create_topic(group_broker, "sample", 1, {"kawal.columns": COLUMNS})
    rows = [
        {
            "id": number,
            "delay": None if number % 11 == 0 else number * 37 % 60,
            "carrier": ("AA", "BA", "aa", "Á")[number % 4],
            "city": ("Porto", "Faro", None, "Lagos")[number % 4],
        }
        for number in range(300)
    ]
    producer = make_producer(group_broker, compression_type="zstd")
    for row in rows:
        producer.produce("sample", json.dumps(row), f"k{row['id']}", partition=0)
    assert producer.flush(60) == 0
    with duckdb.connect(config={"threads": 1}) as table:
        table.execute("CREATE TABLE sample (id BIGINT, delay INT, carrier VARCHAR, city VARCHAR)")
        table.executemany("INSERT INTO sample VALUES (?, ?, ?, ?)", [list(row.values()) for row in rows])
        for number, selected in enumerate(SAME_AS_SQL):
            wanted = table.sql(f"SELECT {selected} ORDER BY id").fetchall()
            view = make_view(group_broker, f"sample.{number}", f"SELECT {selected}")
            found = values_of(group_broker, view, len(wanted))
            assert [tuple(row.values()) for row in found] == wanted, selected


def test_35_changes_and_records_make_the_same_topics_on_an_empty_server(start_broker: StartBroker) -> None:
    first, second = start_broker(), start_broker()
    kawal(first, "databases create", "power", "--vnodes", "1")
    make_view(first, "power.all", "WITH META AS DATABASE power")
    in_power = {"kawal.database": "power"}
    create_topic(first, "meters", 2, {**in_power, "kawal.columns": "v int"})
    create_topic(first, "plants", 1, in_power)
    create_topic(first, "gone", 1, in_power)
    delete_topic(first, "gone")
    assert altered(first, "meters", "kawal.columns", "v int, w int") is None
    written = {
        topic: [f"{topic} {number}".encode() for number in range(10)] for topic in ("meters", "plants")
    }
    for topic, values in written.items():
        produce(make_producer(first), topic, values, partition=0)
    with open_consumer(first) as consumer:
        consumer.assign([TopicPartition("power.all", 0, 0)])
        replay(second, take(consumer, 5 + 20))
    with open_consumer(second) as consumer:
        for topic, values in written.items():
            assert [message.value() for message in read(consumer, topic, 10)] == values
    asking = admin_client(second)
    topics = asking.list_topics(timeout=60).topics
    assert {name: len(topic.partitions) for name, topic in topics.items() if name[0] != "_"} == {
        "meters": 2,
        "plants": 1,
    }
    shown = kawal(second, "topics describe", "meters").stdout.decode()
    assert re.search(r"kawal\.columns\W+v int, w int", shown), shown


def replay(broker: Broker, records: Sequence[Any]) -> None:
    """Do on an empty server what a view with changes says."""
    producer = make_producer(broker)
    for record in records:
        headers = dict(record.headers())
        if headers.get("kawal.kind") != b"meta":
            topic, partition = headers["kawal.topic"].decode(), int(headers["kawal.partition"])
            producer.produce(topic, record.value(), record.key(), partition=partition)
            continue
        assert producer.flush(60) == 0
        change = json.loads(record.value())
        name = change["topic"]
        if change["type"] == "create":
            configs = {key: text for key, text in change["configs"].items() if key != "kawal.database"}
            create_topic(broker, name, change["partitions"], configs)
        elif change["type"] == "drop":
            delete_topic(broker, name)
        else:
            assert change["type"] == "alter"
            for key, text in change["configs"].items():
                if key != "kawal.database":
                    assert altered(broker, name, key, text) is None
    assert producer.flush(60) == 0


BAD_VALUES = (
    b"no JSON",
    b"\xff\xfe",
    b'{"id":1',
    b"[1]",
    b'{"id":"text","delay":99}',
    b'{"id":1,"delay":99.5}',
    b'{"id":1,"delay":' + b"9" * 4_000 + b"}",
    b'{"id":1,"delay":99,"deep":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    b'{"id":1,"delay":99,"carrier":"longer than eight"}',
)


def test_records_that_do_not_fit_are_left_out_and_hold_up_nobody(group_broker: Broker) -> None:
    create_topic(group_broker, "odd", 1, {"kawal.columns": COLUMNS})
    view = make_view(group_broker, "odd.late", "SELECT id, carrier FROM odd WHERE delay > 15")
    good = [b'{"id":%d,"delay":99,"carrier":"TP"}' % number for number in range(len(BAD_VALUES))]
    mixed = [value for pair in zip(BAD_VALUES, good, strict=True) for value in pair]
    produce(make_producer(group_broker, linger_ms=50, compression_type="lz4"), "odd", mixed)
    shown = values_of(group_broker, view, len(good))
    assert shown == [{"id": number, "carrier": "TP"} for number in range(len(good))]
