"""KawalTopics: topics are described, dropped by force, and views are given another definition."""

from __future__ import annotations

import errno
import json

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.kawal_topics import (
    KawalTopicsRequest,
    KawalTopicsResponse,
    TopicAction,
    TopicItem,
    TopicResult,
)
from tests.broker.databases import create_database
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.groups import beating
from tests.broker.kit import batch, create, fetching, read, send
from tests.broker.topic_requests import altered, configs, deleted
from tests.broker.views import make_view, places_of_statements
from wal.memory_faults import failing

COLUMNS = "carrier string, delay int"


def ask(
    client: Client, action: int, *names: str, statement: str | None = None, force: bool = False
) -> KawalTopicsResponse:
    items = [TopicItem(name=name, statement=statement) for name in names]
    request = KawalTopicsRequest(action=action, topics=items or None, force=force)
    answer: KawalTopicsResponse = client.call(request, 0)
    return answer


def reload(client: Client, name: str, statement: str) -> TopicResult:
    (result,) = ask(client, TopicAction.RELOAD, name, statement=statement).topics
    return result


@pytest.fixture
def client() -> Client:
    client = Gateway().client()
    create_database(client, "d", vnodes="1")
    create(client, "flights", 1, **{"kawal.database": "d", "kawal.columns": COLUMNS})
    make_view(client, "late", "SELECT carrier FROM flights WHERE delay > 15")
    for number, delay in enumerate((3, 41, 25)):
        send(client, "flights", batch(json.dumps({"carrier": f"c{number}", "delay": delay}).encode()))
    return client


def test_topics_are_described_with_what_kafka_leaves_out(client: Client) -> None:
    flights, late = ask(client, TopicAction.DESCRIBE).topics
    assert (flights.name, flights.kind, flights.database, flights.columns) == ("flights", "log", "d", COLUMNS)
    assert flights.created_ms == START_MS
    assert (late.kind, late.database, late.source, late.meta) == ("query", "d", "flights", "none")
    assert late.statement == "SELECT carrier FROM flights WHERE delay > 15"
    assert json.loads(late.schema)["columns"] == [{"name": "carrier", "type": "string"}]


def test_many_topics_are_described_in_slices(client: Client) -> None:
    for number in range(120):
        create(client, f"t{number:03}")
    assert len(ask(client, TopicAction.DESCRIBE).topics) == 122


def test_a_name_that_is_unknown_or_given_twice_is_refused_alone(client: Client) -> None:
    late, gone, twice = ask(client, TopicAction.DESCRIBE, "late", "gone", "flights", "flights").topics
    assert late.error_code == 0
    assert gone.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert twice.error_code == ErrorCode.INVALID_REQUEST
    assert ask(client, 9, "late").topics[0].error_code == ErrorCode.INVALID_REQUEST
    assert ask(client, TopicAction.DROP).topics == []


# --- dropping -----------------------------------------------------------------------------------------------


def test_a_topic_with_subscribers_is_dropped_by_force_only() -> None:
    client = Gateway(kawal_drop_policy="refuse", kawal_rebalance_interval_ms=0).client()
    create(client, "t")
    client.call(beating("g", "m", topics=["t"]), 1)
    (kept,) = ask(client, TopicAction.DROP, "t").topics
    assert kept.error_code == ErrorCode.POLICY_VIOLATION
    assert "DROP TOPIC FORCE" in (kept.error_message or "")
    assert ask(client, TopicAction.DROP, "t", force=True).topics[0].error_code == 0
    assert ask(client, TopicAction.DESCRIBE).topics == []


def test_force_does_not_end_what_protects_a_topic_from_deletion(client: Client) -> None:
    (refused,) = ask(client, TopicAction.DROP, "flights", force=True).topics
    assert refused.error_code == ErrorCode.POLICY_VIOLATION
    assert "read by the view 'late'" in (refused.error_message or "")
    assert altered(client, "flights", "kawal.deletion.protected", "true")[0] == 0
    assert deleted(client, "late")["late"][0] == 0
    (refused,) = ask(client, TopicAction.DROP, "flights", force=True).topics
    assert "protected" in (refused.error_message or "")


# --- reloading ----------------------------------------------------------------------------------------------


def test_a_reloaded_view_shows_the_new_statement_at_the_same_offsets_and_after_a_restart(
    client: Client,
) -> None:
    assert read(client, "late") == [b'{"carrier":"c1"}', b'{"carrier":"c2"}']
    text = "SELECT delay FROM flights WHERE delay < 30"
    assert reload(client, "late", text).error_code == 0
    for _ in range(2):
        assert read(client, "late") == [b'{"delay":3}', b'{"delay":25}']
        assert read(client, "late", 1) == [b'{"delay":25}']
        assert configs(client, "late")["kawal.sql"].value == text
        assert ask(client, TopicAction.DESCRIBE, "late").topics[0].statement == text
        client.gateway.restart()
        client = client.gateway.client()


def test_a_whole_statement_reloads_only_the_view_that_it_names(client: Client) -> None:
    assert reload(client, "late", "CREATE TOPIC late AS SELECT * FROM flights").error_code == 0
    refused = reload(client, "late", "CREATE TOPIC other AS SELECT * FROM flights")
    assert refused.error_code == ErrorCode.INVALID_CONFIG


def test_a_reload_takes_columns_as_they_are_declared_now(client: Client) -> None:
    text = "SELECT *, delay + 1 AS more FROM flights WHERE delay > 15"
    assert reload(client, "late", text).error_code == 0
    assert altered(client, "flights", "kawal.columns", f"{COLUMNS}, gate string")[0] == 0
    assert b"gate" not in read(client, "late")[0]
    assert reload(client, "late", text).error_code == 0
    assert b'"gate":null' in read(client, "late")[0]


def test_columns_of_the_old_definition_may_go_after_a_reload(client: Client) -> None:
    assert altered(client, "flights", "kawal.columns", "carrier string")[0] == ErrorCode.POLICY_VIOLATION
    assert reload(client, "late", "SELECT carrier FROM flights").error_code == 0
    assert altered(client, "flights", "kawal.columns", "carrier string")[0] == 0


def test_a_fetch_that_waits_is_answered_when_its_view_is_reloaded(client: Client) -> None:
    client.send(fetching({("late", 0): 3}, max_wait_ms=100_000), 12)
    client.gateway.settle()
    assert client.answers() == []
    other = client.gateway.client()
    assert reload(other, "late", "SELECT delay FROM flights WHERE delay < 30").error_code == 0
    (answer,) = client.answers()
    assert answer.responses[0].partitions[0].error_code == 0
    send(other, "flights", batch(b'{"carrier":"c3","delay":7}'))
    assert read(other, "late", 3) == [b'{"delay":7}']


@pytest.mark.parametrize(
    ("name", "statement", "words"),
    [
        ("flights", "SELECT carrier FROM flights", "stores records"),
        ("alias", "SELECT carrier FROM flights", "is an alias of 'flights'"),
        ("late", "SELECT * FROM other", "needs another name"),
        ("late", "DATABASE d", "needs another name"),
        ("late", "WITH META AS STABLE flights", "another meaning"),
        ("late", "SELECT nothing FROM flights", "nothing"),
        ("late", "SELECT", "FROM is missing"),
    ],
)
def test_a_reload_that_would_change_what_offsets_mean_is_refused(
    client: Client, name: str, statement: str, words: str
) -> None:
    create(client, "other")
    create(client, "alias", -1, **{"kawal.alias.of": "flights"})
    refused = reload(client, name, statement)
    assert refused.error_code == ErrorCode.INVALID_CONFIG
    assert words in (refused.error_message or "")
    assert read(client, "late") == [b'{"carrier":"c1"}', b'{"carrier":"c2"}']


def test_a_view_of_a_database_may_begin_to_show_changes(client: Client) -> None:
    make_view(client, "all", "DATABASE d")
    plain = len(read(client, "all"))
    assert reload(client, "all", "WITH META AS DATABASE d").error_code == 0
    assert client.gateway.broker.catalogue.meta_views["d"] == 1
    assert len(read(client, "all")) > plain
    assert reload(client, "all", "DATABASE d").error_code == 0
    assert client.gateway.broker.catalogue.meta_views["d"] == 0


def test_a_reload_without_a_statement_is_refused(client: Client) -> None:
    assert ask(client, TopicAction.RELOAD, "late").topics[0].error_code == ErrorCode.INVALID_REQUEST


def test_a_reload_that_the_disk_refuses_changes_nothing(client: Client) -> None:
    gateway = client.gateway
    before = gateway.broker.catalogue.by_name["late"].view
    item = TopicItem(name="late", statement="SELECT delay FROM flights")
    gateway.disk.faults.append(failing("sync", errno.EIO, path="meta"))
    client.send(KawalTopicsRequest(action=TopicAction.RELOAD, topics=[item]), 0)
    gateway.settle()
    (answer,) = client.answers()
    assert answer.topics[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert gateway.broker.catalogue.by_name["late"].view == before
    assert read(client, "late") == [b'{"carrier":"c1"}', b'{"carrier":"c2"}']


def test_threads_read_and_plan_the_long_statement_of_a_reload(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = places_of_statements(client.gateway, monkeypatch)
    conditions = " OR ".join(f"delay > {number}" for number in range(60))
    assert reload(client, "late", f"SELECT carrier FROM flights WHERE {conditions}").error_code == 0
    assert places == ["thread", "thread"]


def test_views_are_reloaded_one_in_a_step(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"v{number}" for number in range(6)]
    for name in names:
        make_view(client, name, "SELECT carrier FROM flights")
    places = places_of_statements(client.gateway, monkeypatch)
    items = [TopicItem(name=name, statement="SELECT delay FROM flights") for name in names]
    client.send(KawalTopicsRequest(action=TopicAction.RELOAD, topics=items), 0)
    scheduler, steps = client.gateway.broker.scheduler, []
    while not (answers := client.answers()):
        before = len(places)
        if scheduler.pending:
            scheduler.run()
        else:
            client.gateway.run_jobs()
        steps.append(len(places) - before)
    assert {result.error_code for result in answers[0].topics} == {0}
    assert max(steps) == 2, "one is read, and planned"
