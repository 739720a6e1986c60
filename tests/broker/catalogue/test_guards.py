"""Guards through a whole broker: limits for administrative requests, protection from deletion."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol.messages.kawal_databases import DatabaseAction
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.databases import ask, create_database, drop_database
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import beating
from tests.broker.kit import batch, create, creation, read, send
from tests.broker.topic_requests import altered, asked, deleted, partition_count

POLICY = ErrorCode.POLICY_VIOLATION


def made(client: Client, **topics: int) -> list[tuple[int, str]]:
    request = CreateTopicsRequest(topics=[creation(name, count) for name, count in topics.items()])
    return [(answer.error_code, answer.error_message or "") for answer in client.call(request, 7).topics]


def grown(client: Client, **topics: int) -> list[tuple[int, str]]:
    request = CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(name=name, count=count, assignments=None) for name, count in topics.items()
        ],
        timeout_ms=1_000,
        validate_only=False,
    )
    return [(answer.error_code, answer.error_message or "") for answer in client.call(request, 3).results]


def delete_records(client: Client, topic: str) -> int:
    asked = DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=-1)])
    answer = client.call(DeleteRecordsRequest(topics=[asked], timeout_ms=1_000), 2)
    code: int = answer.topics[0].partitions[0].error_code
    return code


def test_a_request_for_too_many_partitions_is_refused_as_a_whole() -> None:
    client = Gateway(kawal_max_partitions_per_request=10, num_partitions=4).client()
    # -1 counts as num.partitions, and a count that is refused anyway does not make room for others.
    answers = made(client, a=7, b=-1, c=-5)
    assert [code for code, _ in answers] == [POLICY] * 3
    assert answers[0][1].startswith("Excessively large number of partitions per request")
    assert "11 were asked for, and kawal.max.partitions.per.request=10" in answers[0][1]
    assert partition_count(client, "a") == 0
    assert [code for code, _ in made(client, a=6, b=-1)] == [0, 0]


def test_growth_counts_the_partitions_that_are_added() -> None:
    client = Gateway(kawal_max_partitions_per_request=10).client()
    made(client, a=6, b=4)
    assert [code for code, _ in grown(client, a=16, b=5)] == [POLICY] * 2
    assert (partition_count(client, "a"), partition_count(client, "b")) == (6, 4)
    assert [code for code, _ in grown(client, a=15, b=5, none=1_000_000)] == [
        0,
        0,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


def test_what_one_metadata_request_creates_is_bounded_and_the_rest_stays_unknown() -> None:
    gateway = Gateway(kawal_max_partitions_per_request=8, num_partitions=4)
    client = gateway.client()
    names = ("a", "b", "c")
    asked = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=True
    )
    first, second = (
        [topic.error_code for topic in client.call(asked, 12).topics],
        [topic.error_code for topic in client.call(asked, 12).topics],
    )
    assert first == [0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert second == [0, 0, 0]


def test_a_database_has_a_limit_of_its_own(gateway: Gateway, client: Client) -> None:
    create_database(client, "small", max_partitions="3")
    create(client, "inside", 2, kawal_database="small")
    request = CreateTopicsRequest(topics=[creation("more", 2, kawal_database="small")])
    (answer,) = client.call(request, 7).topics
    assert (answer.error_code, answer.error_message) == (
        POLICY,
        "2 more partitions would exceed max.partitions=3 of database 'small' (2 exist).",
    )
    assert grown(client, inside=4)[0][0] == POLICY
    assert grown(client, inside=3)[0][0] == 0
    create(client, "outside", 50)
    gateway.crash()
    assert grown(gateway.client(), inside=4)[0][0] == POLICY
    assert ask(gateway.client(), DatabaseAction.ALTER, "small", max_partitions="4").error_code == 0
    assert grown(gateway.client(), inside=4)[0][0] == 0


def test_partitions_are_counted_by_database_through_deletions(gateway: Gateway, client: Client) -> None:
    create_database(client, "small", max_partitions="3")
    create(client, "inside", 3, kawal_database="small")
    deleted(client, "inside")
    create(client, "inside", 3, kawal_database="small")
    assert gateway.broker.catalogue.partitions_of["small"] == 3


def test_a_protected_topic_and_its_records_are_not_deleted(gateway: Gateway, client: Client) -> None:
    create(client, "t", kawal_deletion_protected="true")
    send(client, "t", batch(b"a"))
    assert deleted(client, "t")["t"] == (
        POLICY,
        "topic 't' is protected from deletion by its kawal.deletion.protected=true; set that to false first",
    )
    assert delete_records(client, "t") == POLICY
    gateway.crash()
    client = gateway.client()
    assert deleted(client, "t")["t"][0] == POLICY
    assert read(client, "t") == [b"a"]
    assert altered(client, "t", "kawal.deletion.protected", "false") == (0, "")
    assert delete_records(client, "t") == 0
    assert deleted(client, "t")["t"][0] == 0


def test_the_nearest_setting_counts_topic_then_database_then_server() -> None:
    client = Gateway(kawal_deletion_protected=True).client()
    create_database(client, "open", deletion_protected="false")
    create(client, "by_server")
    create(client, "by_itself", kawal_deletion_protected="false")
    create(client, "by_database", kawal_database="open")
    create(client, "kept", kawal_database="open", kawal_deletion_protected="true")
    outcome = deleted(client, "by_server", "by_itself", "by_database", "kept")
    assert {name: code for name, (code, _) in outcome.items()} == {
        "by_server": POLICY,
        "by_itself": 0,
        "by_database": 0,
        "kept": POLICY,
    }
    assert "kawal.deletion.protected=true of the server" in outcome["by_server"][1]
    assert "give the topic kawal.deletion.protected=false" in outcome["by_server"][1]


def test_a_protected_database_is_not_dropped(client: Client) -> None:
    create_database(client, "precious", deletion_protected="true")
    create(client, "t", kawal_database="precious")
    assert "of database 'precious'" in deleted(client, "t")["t"][1]
    refusal = drop_database(client, "precious")
    assert refusal.error_code == POLICY
    assert refusal.error_message is not None
    assert refusal.error_message.startswith("database 'precious' is protected from deletion by")
    assert ask(client, DatabaseAction.ALTER, "precious", deletion_protected="false").error_code == 0
    assert deleted(client, "t")["t"][0] == 0
    assert drop_database(client, "precious").error_code == 0


@pytest.mark.parametrize("value", ["yes", "1", ""])
def test_protection_is_true_or_false(client: Client, value: str) -> None:
    create(client, "t")
    assert altered(client, "t", "kawal.deletion.protected", value)[0] == ErrorCode.INVALID_CONFIG


# --- kawal.drop.policy --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("server", "of_database", "of_topic", "kept"),
    [
        ("always", None, None, False),
        ("refuse", None, None, True),
        ("always", "refuse", None, True),
        ("refuse", "always", None, False),
        ("always", "refuse", "always", False),
        ("always", "always", "refuse", True),
    ],
)
def test_the_nearest_drop_policy_counts(
    server: str, of_database: str | None, of_topic: str | None, kept: bool
) -> None:
    client = Gateway(kawal_drop_policy=server, kawal_rebalance_interval_ms=0).client()
    create_database(client, "d", **({"drop_policy": of_database} if of_database else {}))
    own = {"kawal.drop.policy": of_topic} if of_topic else {}
    create(client, "t", 1, **{"kawal.database": "d", **own})
    client.call(beating("g", "m", topics=["t"]), 1)
    assert deleted(client, "t")["t"][0] == (POLICY if kept else 0)


def test_a_view_has_the_drop_policy_of_the_database_that_it_shows() -> None:
    client = Gateway(kawal_rebalance_interval_ms=0).client()
    create_database(client, "d", drop_policy="refuse")
    create(client, "t", 1, **{"kawal.database": "d"})
    create(client, "view", -1, kawal_sql="SELECT * FROM t")
    create(client, "all", -1, kawal_sql="DATABASE d")
    client.call(beating("g", "m", topics=["view", "all"]), 1)
    for name in ("view", "all"):
        code, sentence = deleted(client, name)[name]
        assert code == POLICY
        assert "drop.policy of database 'd'" in sentence


# --- kawal.max.views ----------------------------------------------------------------------------------------


def test_no_more_views_are_created_than_the_server_allows() -> None:
    client = Gateway(kawal_max_views=1).client()
    create(client, "t", 1, **{"kawal.columns": "a int"})
    create(client, "v", -1, kawal_sql="SELECT * FROM t")
    code, sentence = asked(client, "w", "SELECT * FROM t")
    assert code == POLICY
    assert "kawal.max.views=1" in sentence
    assert altered(client, "t", "kawal.quarantine", "t.unfit")[0] == POLICY
    create(client, "plain", 1)
    assert deleted(client, "v")["v"][0] == 0
    create(client, "w", -1, kawal_sql="SELECT * FROM t")
