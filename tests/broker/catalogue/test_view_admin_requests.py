"""Making, keeping and removing views by requests: what is refused, with which code and sentence."""

from __future__ import annotations

import json

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreatableReplicaAssignment, CreateTopicsRequest
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, creation, producing, send
from tests.broker.topic_requests import altered, asked, configs, deleted, partition_count

COLUMNS = "id bigint, delay int, city varchar(9) tag"


LATE = "SELECT id FROM flights WHERE delay > 15"


@pytest.fixture
def client() -> Client:
    made = Gateway().client()
    create(made, "flights", 3, kawal_columns=COLUMNS)
    return made


def made(client: Client, name: str = "late", sql: str = LATE) -> None:
    assert asked(client, name, sql) == (0, "")


@pytest.mark.parametrize(
    ("sql", "part"),
    [
        ("SELEC id FROM flights", "'SELEC' at line 1"),
        ("SELECT id FROM flight", "there is no topic 'flight' to read; did you mean 'flights'?"),
        ("SELECT nr FROM flights", "nr"),
        ("SELECT delay + 'x' FROM flights", "+ takes numbers"),
        ("SELECT count(id) FROM flights", "COUNT"),
        ("SELECT id FROM flights ORDER BY id", "ORDER BY"),
        ("SELECT id FROM flights LIMIT 1", "LIMIT"),
        ("SELECT DISTINCT id FROM flights", "DISTINCT"),
        ("SELECT id FROM flights GROUP BY id", "GROUP BY"),
        ("SELECT a.id FROM flights a JOIN flights b ON a.id = b.id", "JOIN"),
        ("SELECT id FROM (SELECT id FROM flights)", "sub-query"),
        ("SELECT id FROM flights INTERVAL(1m)", "INTERVAL"),
        ("STABLE flights WHERE delay > 1", "delay"),
        ("CREATE TOPIC other AS SELECT id FROM flights", "'other'"),
        ("SELECT id FROM __consumer_offsets", "there is no topic"),
        ("SELECT id FROM v", "there is no topic 'v'"),
        ("SELECT id FROM flights WHERE " + "(" * 200 + "1" + ")" * 200, "deep"),
        ("x" * 30_000, "characters"),
    ],
)
def test_a_statement_that_is_no_view_is_refused_with_the_part_at_fault(
    client: Client, sql: str, part: str
) -> None:
    code, message = asked(client, "v", sql)
    assert code == ErrorCode.INVALID_CONFIG
    assert message.startswith("kawal.sql: ")
    assert part in message


def test_a_view_over_a_view_is_refused_and_told_where_to_select_from(client: Client) -> None:
    made(client)
    code, message = asked(client, "later", "SELECT id FROM late")
    assert (code, "'late' is a view over 'flights'" in message) == (ErrorCode.INVALID_CONFIG, True)
    assert "select from 'flights'" in message


def test_a_whole_statement_of_the_same_name_is_taken(client: Client) -> None:
    made(client, sql=f"CREATE TOPIC IF NOT EXISTS late AS {LATE};")
    assert configs(client, "late")["kawal.sql"].value == LATE


@pytest.mark.parametrize(("partitions", "code"), [(-1, 0), (3, 0), (1, 37), (4, 37), (0, 37)])
def test_a_view_has_the_partitions_of_its_source(client: Client, partitions: int, code: int) -> None:
    assert asked(client, "late", LATE, partitions)[0] == code


def test_manual_assignments_must_fit_the_source_too(client: Client) -> None:
    topic = creation("late", -1, kawal_sql=LATE)
    topic.replication_factor = -1
    for count, code in ((2, ErrorCode.INVALID_PARTITIONS), (3, 0)):
        topic.assignments = [
            CreatableReplicaAssignment(partition_index=index, broker_ids=[1]) for index in range(count)
        ]
        (answer,) = client.call(CreateTopicsRequest(topics=[topic]), 7).topics
        assert answer.error_code == code


def test_a_name_that_exists_is_refused(client: Client) -> None:
    made(client)
    assert asked(client, "late", LATE)[0] == ErrorCode.TOPIC_ALREADY_EXISTS
    assert asked(client, "flights", LATE)[0] == ErrorCode.TOPIC_ALREADY_EXISTS


def test_replicas_are_those_of_any_topic(client: Client) -> None:
    for factor, code in ((-1, 0), (1, 0), (2, ErrorCode.INVALID_REPLICATION_FACTOR)):
        topic = creation(f"late-{factor + 1}", -1, kawal_sql=LATE)
        topic.replication_factor = factor
        (answer,) = client.call(CreateTopicsRequest(topics=[topic]), 7).topics
        assert answer.error_code == code


def test_validation_alone_makes_nothing(client: Client) -> None:
    request = CreateTopicsRequest(topics=[creation("late", -1, kawal_sql=LATE)], validate_only=True)
    (answer,) = client.call(request, 7).topics
    assert (answer.error_code, answer.num_partitions) == (0, 3)
    assert client.gateway.broker.catalogue.find("late") is None


def test_settings_of_stored_records_make_no_sense_for_a_view(client: Client) -> None:
    code, message = asked(client, "late", LATE, retention_ms="1")
    assert code == ErrorCode.INVALID_CONFIG
    assert "'retention.ms' cannot be set for it" in message


def test_unknown_keys_of_ours_name_the_nearest(client: Client) -> None:
    request = CreateTopicsRequest(topics=[creation("t", kawal_colums="id int")])
    (answer,) = client.call(request, 7).topics
    assert answer.error_code == ErrorCode.INVALID_CONFIG
    assert "did you mean 'kawal.columns'?" in answer.error_message


@pytest.mark.parametrize(
    ("text", "part"), [("id", "column 1, 'id'"), ("id number", "unknown type 'number'"), ("id int,", "empty")]
)
def test_columns_that_cannot_be_read_are_refused(client: Client, text: str, part: str) -> None:
    request = CreateTopicsRequest(topics=[creation("t", kawal_columns=text)])
    (answer,) = client.call(request, 7).topics
    assert (answer.error_code, part in answer.error_message) == (ErrorCode.INVALID_CONFIG, True)


def test_a_view_is_described_by_its_statement_source_and_schema(client: Client) -> None:
    made(client)
    shown = configs(client, "late")
    assert (shown["kawal.sql"].value, shown["kawal.source"].value) == (LATE, "flights")
    assert json.loads(shown["kawal.schema"].value)["columns"] == [{"name": "id", "type": "bigint"}]
    assert all(shown[name].read_only for name in ("kawal.sql", "kawal.source", "kawal.schema"))
    assert "kawal.sql" not in configs(client, "flights")


def test_nothing_can_be_written_to_a_view(client: Client) -> None:
    made(client)
    answer = send(client, "late", batch(b"x"))
    assert answer.error_code == ErrorCode.POLICY_VIOLATION
    assert answer.error_message == "'late' is a view over 'flights' and read-only; write to 'flights'"
    client.send_unanswered(producing(("late", 0, batch(b"x")), acks=0), 9)
    assert client.connection.close_reason is not None


def test_records_of_a_view_cannot_be_deleted(client: Client) -> None:
    made(client)
    topic = DeleteRecordsTopic(name="late", partitions=[DeleteRecordsPartition(partition_index=0, offset=-1)])
    (answer,) = client.call(DeleteRecordsRequest(topics=[topic], timeout_ms=1), 2).topics
    assert answer.partitions[0].error_code == ErrorCode.POLICY_VIOLATION


def test_a_view_grows_with_its_source_and_not_by_itself(client: Client) -> None:
    made(client)

    def grow(name: str) -> tuple[int, str | None]:
        topic = CreatePartitionsTopic(name=name, count=5, assignments=None)
        (answer,) = client.call(
            CreatePartitionsRequest(topics=[topic], timeout_ms=1, validate_only=False), 3
        ).results
        return answer.error_code, answer.error_message

    assert grow("late") == (
        ErrorCode.POLICY_VIOLATION,
        "'late' is a view over 'flights': it grows with its source",
    )
    assert grow("flights")[0] == 0
    assert partition_count(client, "late") == 5
    send(client, "flights", batch(b'{"id":1,"delay":20}'), partition=4)
    assert client.gateway.partition("late", 4).high_watermark == 1


def test_a_view_that_was_on_its_way_while_its_source_grew_has_all_partitions(client: Client) -> None:
    topic = CreatePartitionsTopic(name="flights", count=5, assignments=None)
    client.send(CreatePartitionsRequest(topics=[topic], timeout_ms=1, validate_only=False), 3)
    client.send(CreateTopicsRequest(topics=[creation("late", -1, kawal_sql=LATE)]), 7)
    client.gateway.settle()
    assert [answer is not None for answer in client.answers()] == [True, True]
    assert partition_count(client, "late") == 5
    client.gateway.restart()
    assert partition_count(client.gateway.client(), "late") == 5


def test_a_definition_cannot_be_altered(client: Client) -> None:
    made(client)
    for key, value in (("kawal.sql", "SELECT id FROM flights"), ("retention.ms", "1")):
        code, message = altered(client, "late", key, value)
        assert (code, "definition is settled" in message) == (ErrorCode.POLICY_VIOLATION, True)
    assert altered(client, "late", "kawal.source", "x")[0] == ErrorCode.INVALID_CONFIG


def test_a_topic_that_stores_records_cannot_become_a_view(client: Client) -> None:
    code, message = altered(client, "flights", "kawal.sql", "SELECT 1 FROM flights")
    assert code == ErrorCode.INVALID_CONFIG
    assert "kawal.sql" in message, message


def test_a_topic_is_kept_as_long_as_views_read_it(client: Client) -> None:
    made(client)
    made(client, "all", "STABLE flights")
    assert deleted(client, "flights") == {
        "flights": (
            ErrorCode.POLICY_VIOLATION,
            "'flights' is read by the views 'late', 'all'; delete them first",
        )
    }
    assert deleted(client, "flights", "late", "all") == {
        "flights": (0, ""),
        "late": (0, ""),
        "all": (0, ""),
    }


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ("id bigint, city varchar(9) tag", "column 'delay' of 'flights' cannot be dropped"),
        ("id bigint, delay bigint, city varchar(9) tag", "column 'delay' of 'flights' cannot be changed"),
        (None, "cannot be dropped"),
        ("id bigint, delay int", ""),
        ("delay int, id bigint, city varchar(9) tag, more int", ""),
    ],
)
def test_columns_in_use_are_kept_and_others_are_free(
    client: Client, columns: str | None, problem: str
) -> None:
    made(client)
    code, message = altered(client, "flights", "kawal.columns", columns)
    assert (code, problem in message) == (ErrorCode.POLICY_VIOLATION if problem else 0, True)
    if problem:
        assert "used by the view 'late'" in message


def test_columns_added_later_are_no_part_of_the_view(client: Client) -> None:
    made(client, "both", "SELECT id, delay FROM flights")
    assert altered(client, "flights", "kawal.columns", COLUMNS + ", gate int")[0] == 0
    client.gateway.restart()
    schema = json.loads(configs(client.gateway.client(), "both")["kawal.schema"].value)
    assert [column["name"] for column in schema["columns"]] == ["id", "delay"]


def test_a_view_has_no_size_and_no_producers(client: Client) -> None:
    made(client)
    send(client, "flights", batch(b"x", producer=(5, 0, 0)))
    (directory,) = client.call(DescribeLogDirsRequest(topics=None), 4).results
    sizes = {topic.name: [part.partition_size for part in topic.partitions] for topic in directory.topics}
    assert sizes["late"] == [0, 0, 0]
    assert sizes["flights"][0] > 0
    asked_of = TopicRequest(name="late", partition_indexes=[0])
    (topic,) = client.call(DescribeProducersRequest(topics=[asked_of]), 0).topics
    assert (topic.partitions[0].error_code, topic.partitions[0].active_producers) == (0, [])


def test_epochs_of_a_view_end_where_it_ends(client: Client) -> None:
    made(client)
    send(client, "flights", batch(b"x", b"y"))
    partition = OffsetForLeaderPartition(partition=0, current_leader_epoch=0, leader_epoch=0)
    topic = OffsetForLeaderTopic(topic="late", partitions=[partition])
    (answer,) = client.call(OffsetForLeaderEpochRequest(replica_id=-1, topics=[topic]), 4).topics
    assert (answer.partitions[0].error_code, answer.partitions[0].end_offset) == (0, 2)


def test_the_source_may_be_made_and_read_in_one_turn(client: Client) -> None:
    client.send(CreateTopicsRequest(topics=[creation("t", 2)]), 7)
    client.send(CreateTopicsRequest(topics=[creation("v", -1, kawal_sql="STABLE t")]), 7)
    client.gateway.settle()
    assert [answer.topics[0].error_code for answer in client.answers()] == [0, 0]
    assert partition_count(client, "v") == 2


@pytest.mark.parametrize("text", ["", "  ", ";", "-- nothing"])
def test_an_empty_statement_makes_no_plain_topic(client: Client, text: str) -> None:
    code, message = asked(client, "empty", text)
    assert (code, "the statement is empty" in message) == (ErrorCode.INVALID_CONFIG, True)
    assert asked(client, "empty", text, partitions=3)[0] == ErrorCode.INVALID_CONFIG


def test_an_empty_name_is_no_alias(gateway: Gateway) -> None:
    request = CreateTopicsRequest(topics=[creation("empty", 1, **{"kawal.alias.of": " "})])
    (result,) = gateway.client().call(request, 7).topics
    assert (result.error_code, "'kawal.alias.of' is empty" in result.error_message) == (40, True)
    assert "empty" not in gateway.broker.catalogue.by_name
