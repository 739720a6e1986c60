"""KawalDatabases: databases are created, described, altered and dropped while the server runs."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.kawal_databases import DatabaseAction, DatabaseItem, KawalDatabasesRequest
from tests.broker.databases import ask, asking, create_database, drop_database, listed
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, creation, read, send

ALTER, CREATE, DESCRIBE, DROP = (
    DatabaseAction.ALTER,
    DatabaseAction.CREATE,
    DatabaseAction.DESCRIBE,
    DatabaseAction.DROP,
)


def topic_configs(client: Client, name: str) -> dict[str, str | None]:
    asked = DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=None)
    (result,) = client.call(DescribeConfigsRequest(resources=[asked]), 4).results
    return {entry.name: entry.value for entry in result.configs}


def test_a_new_database_serves_when_the_answer_leaves_and_after_a_restart() -> None:
    gateway = Gateway()
    client = gateway.client()
    made = create_database(client, "telemetry", VGROUPS="3", WAL_RETENTION_PERIOD="3600")
    assert (made.vnodes, made.topic_count, made.view_count) == (3, 0, 0)
    assert made.directory.startswith("db-")
    create(client, "meters", 6, **{"kawal.database": "telemetry"})
    for partition in range(6):
        send(client, "meters", batch(b"%d" % partition), partition)
    assert listed(client) == ["default", "telemetry"]
    for _ in range(2):
        logs = [vnode.log for vnode in gateway.broker.vnodes["telemetry"]]
        assert [log.next_version > 0 for log in logs] == [True] * 3
        assert [read(client, "meters", partition=index) for index in range(6)] == [
            [b"%d" % index] for index in range(6)
        ]
        gateway.restart()
        client = gateway.client()


def test_a_database_says_what_its_topics_do_not() -> None:
    client = Gateway().client()
    create_database(client, "d", retention_ms="60000", segment_bytes="2000000")
    create(client, "a", 1, **{"kawal.database": "d"})
    create(client, "b", 1, **{"kawal.database": "d", "retention.ms": "7"})
    create(client, "c")
    assert topic_configs(client, "a")["retention.ms"] == "60000"
    assert topic_configs(client, "b")["retention.ms"] == "7"
    assert topic_configs(client, "b")["segment.bytes"] == "2000000"
    assert topic_configs(client, "c")["retention.ms"] == str(168 * 3_600_000)
    assert ask(client, ALTER, "d", retention_ms="90000").error_code == 0
    assert topic_configs(client, "a")["retention.ms"] == "90000"
    settings = client.gateway.broker.topics.settings(client.gateway.broker.find_topic("a"))
    assert settings.retention_ms == 90_000
    assert ask(client, ALTER, "d", retention_ms=None).error_code == 0
    assert topic_configs(client, "a")["retention.ms"] == str(168 * 3_600_000)


def test_the_durability_class_is_shown_and_changes_at_once() -> None:
    gateway = Gateway()
    client = gateway.client()
    create_database(client, "fast", WAL_LEVEL="1", flush_ms="20")
    create(client, "t", 1, **{"kawal.database": "fast"})
    assert topic_configs(client, "t")["kawal.durability"] == "os"
    assert topic_configs(client, "t")["kawal.database"] == "fast"
    send(client, "t", batch(b"weak"))
    assert ask(client, ALTER, "fast", durability="disk").error_code == 0
    assert topic_configs(client, "t")["kawal.durability"] == "disk"
    assert {vnode.log.options.durability for vnode in gateway.broker.vnodes["fast"]} == {"disk"}
    send(client, "t", batch(b"strong"))
    gateway.crash()
    assert read(gateway.client(), "t") == [b"weak", b"strong"]


def test_the_default_database_takes_settings_too() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t")
    assert ask(client, ALTER, "default", retention_ms="5000").error_code == 0
    assert topic_configs(client, "t")["retention.ms"] == "5000"
    gateway.restart()
    assert topic_configs(gateway.client(), "t")["retention.ms"] == "5000"


def test_the_description_tells_what_is_its_own() -> None:
    client = Gateway().client()
    create_database(client, "d", vnodes="1", flush_ms="9")
    create(client, "t", 1, **{"kawal.database": "d"})
    send(client, "t", batch(b"a"))
    found = ask(client, DESCRIBE, "d")
    settings = {setting.name: (setting.value, setting.is_default) for setting in found.settings}
    assert settings["flush.ms"] == ("9", False)
    assert settings["vnodes"] == ("1", False)
    assert settings["durability"] == ("disk", True)
    assert (found.topic_count, found.created_ms) == (1, client.gateway.now_ms)
    assert found.size_bytes > 0


@pytest.mark.parametrize(
    ("action", "name", "settings", "code", "part"),
    [
        (CREATE, "d", {}, ErrorCode.DUPLICATE_RESOURCE, "exists already"),
        (CREATE, "a/b", {}, ErrorCode.INVALID_REQUEST, "cannot name a database"),
        (CREATE, "e", {"WAL_LEVEL": "0"}, ErrorCode.INVALID_CONFIG, "WAL_LEVEL"),
        (CREATE, "e", {"vnodes": "257"}, ErrorCode.INVALID_CONFIG, "between 1 and 256"),
        (ALTER, "e", {}, ErrorCode.RESOURCE_NOT_FOUND, "no database 'e'"),
        (ALTER, "d", {"vnodes": "5"}, ErrorCode.INVALID_CONFIG, "is fixed at"),
        (DROP, "dd", {}, ErrorCode.RESOURCE_NOT_FOUND, "did you mean 'd'"),
        (DROP, "default", {}, ErrorCode.POLICY_VIOLATION, "always exists"),
        (DROP, "d", {}, ErrorCode.POLICY_VIOLATION, "has topics or views: 'inside'; delete them first"),
        (DESCRIBE, "zzzz", {}, ErrorCode.RESOURCE_NOT_FOUND, "no database"),
        (9, "d", {}, ErrorCode.INVALID_REQUEST, "no action 9"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(
    action: DatabaseAction, name: str, settings: dict[str, str], code: ErrorCode, part: str
) -> None:
    client = Gateway().client()
    create_database(client, "d", vnodes="1")
    create(client, "inside", 1, **{"kawal.database": "d"})
    for validate_only in (True, False):
        refused = ask(client, action, name, validate_only=validate_only, **settings)
        assert refused.error_code == code
        assert part in (refused.error_message or "")
    assert listed(client) == ["d", "default"]


def test_each_database_of_a_request_is_judged_on_its_own() -> None:
    client = Gateway().client()
    answers = client.call(asking(CREATE, "a", "default", "b", "b"), 0).databases
    assert [(answer.name, answer.error_code) for answer in answers] == [
        ("a", 0),
        ("default", ErrorCode.DUPLICATE_RESOURCE),
        ("b", ErrorCode.INVALID_REQUEST),
    ]
    assert listed(client) == ["a", "default"]


def test_validation_changes_nothing() -> None:
    client = Gateway().client()
    assert ask(client, CREATE, "d", validate_only=True).error_code == 0
    assert listed(client) == ["default"]
    create_database(client, "d")
    assert ask(client, ALTER, "d", validate_only=True, flush_ms="5").error_code == 0
    assert ask(client, DROP, "d", validate_only=True).error_code == 0
    assert listed(client) == ["d", "default"]
    assert {setting.name: setting.is_default for setting in ask(client, DESCRIBE, "d").settings}["flush.ms"]


def test_only_describing_goes_without_names_and_a_setting_is_given_once() -> None:
    client = Gateway().client()
    (answer,) = client.call(KawalDatabasesRequest(action=DROP, databases=None), 0).databases
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert client.call(KawalDatabasesRequest(action=DESCRIBE, databases=[]), 0).databases == []
    request = asking(CREATE, "d", flush_ms="5")
    item = DatabaseItem(name="d", settings=[*(request.databases or [])[0].settings] * 2)
    (answer,) = client.call(KawalDatabasesRequest(action=CREATE, databases=[item]), 0).databases
    assert "given twice" in (answer.error_message or "")


def test_a_dropped_database_leaves_nothing_behind_and_its_name_is_free() -> None:
    gateway = Gateway()
    client = gateway.client()
    create_database(client, "d", vnodes="2")
    create(client, "t", 1, **{"kawal.database": "d"})
    send(client, "t", batch(b"old"))
    directory = ask(client, DESCRIBE, "d").directory
    assert gateway.disk.exists(f"/data/{directory}")
    gateway.broker.delete_topic(gateway.broker.find_topic("t"), gateway.now_ms)
    gateway.settle()
    assert drop_database(client, "d").error_code == 0
    gateway.settle()
    assert not gateway.disk.exists(f"/data/{directory}")
    assert listed(client) == ["default"]
    assert gateway.broker.catalogue.databases.dropped == {}
    create_database(client, "d", vnodes="1")
    create(client, "t", 1, **{"kawal.database": "d"})
    assert read(client, "t") == []


def test_topics_are_placed_in_no_database_that_does_not_exist() -> None:
    client = Gateway().client()
    create_database(client, "telemetry")
    request = CreateTopicsRequest(topics=[creation("t", 1, **{"kawal.database": "telemetrie"})])
    (refused,) = client.call(request, 7).topics
    assert refused.error_code == ErrorCode.INVALID_CONFIG
    assert "did you mean 'telemetry'" in (refused.error_message or "")


def test_the_vnodes_of_a_database_are_described_with_their_versions() -> None:
    client = Gateway().client()
    create_database(client, "d", vnodes="2")
    create(client, "t", 1, **{"kawal.database": "d"})
    send(client, "t", batch(b"a"))
    states = ask(client, DESCRIBE, "d").vnode_states
    assert [(state.name, state.state) for state in states] == [("d/vnode-0", "open"), ("d/vnode-1", "open")]
    assert sorted(state.stream_count for state in states) == [0, 1]
    used = next(state for state in states if state.stream_count)
    assert used.next_version > used.first_version
    assert used.size_bytes > 0
