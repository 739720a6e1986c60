"""The configuration kawal.quarantine: it makes the view of unfit records, with its topic or later."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from protocol.messages.create_topics import CreateTopicsRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, creation, send
from tests.broker.topic_requests import altered, configs, deleted, partition_count
from tests.broker.views import make_view, read_all

COLUMNS = "id bigint, delay int"
KEY = "kawal.quarantine"
BOTH = {"kawal_columns": COLUMNS, "kawal_quarantine": "bad"}


@pytest.fixture
def client() -> Client:
    """Return a client of a gateway with the topic `flights`."""
    made = Gateway().client()
    create(made, "flights", 2, kawal_columns=COLUMNS)
    return made


def tried(client: Client, name: str, settings: dict[str, str], *, only: bool = False) -> tuple[int, str]:
    """Return the answer to the creation of a topic with 2 partitions, or `only` to its validation."""
    request = CreateTopicsRequest(topics=[creation(name, 2, **settings)], validate_only=only)
    (answer,) = client.call(request, 7).topics
    return answer.error_code, answer.error_message or ""


def shown(client: Client, name: str) -> str | None:
    """Return the quarantine that a topic is described with."""
    found = configs(client, name).get(KEY)
    return None if found is None else str(found.value)


def exists(client: Client, name: str) -> bool:
    return client.gateway.broker.catalogue.find(name) is not None


def test_a_topic_can_be_made_with_its_quarantine() -> None:
    gateway = Gateway()
    client = gateway.client()
    assert tried(client, "flights", BOTH) == (0, "")
    assert shown(client, "flights") == "bad"
    described = configs(client, "bad")
    assert (described["kawal.sql"].value, described["kawal.source"].value) == ("UNFIT `flights`", "flights")
    assert partition_count(client, "bad") == 2
    send(client, "flights", batch(b'{"id":1}', b"?"), partition=1)
    for again in (None, gateway.restart, gateway.crash):
        if again is not None:
            again()
        found = read_all(gateway.client(), "bad", partition=1)
        assert [(record.offset, record.value) for record in found] == [(1, b"?")]


def test_a_topic_can_get_its_quarantine_later(client: Client) -> None:
    send(client, "flights", batch(b"?"))
    assert altered(client, "flights", KEY, "bad") == (0, "")
    assert shown(client, "flights") == "bad"
    assert [record.value for record in read_all(client, "bad")] == [b"?"]
    topic = client.gateway.broker.find_topic("bad")
    assert topic.created_ms == client.gateway.now_ms
    assert altered(client, "flights", KEY, "bad") == (0, "")
    assert client.gateway.broker.find_topic("bad") is topic


def test_the_older_way_to_alter_makes_it_too(client: Client) -> None:
    settings = {"kawal.columns": COLUMNS, KEY: "bad"}
    lines = [AlterableConfig(name=name, value=value) for name, value in settings.items()]
    resource = AlterConfigsResource(resource_type=2, resource_name="flights", configs=lines)
    for validate_only in (True, False):
        request = AlterConfigsRequest(resources=[resource], validate_only=validate_only)
        (answer,) = client.call(request, 2).responses
        assert (answer.error_code, exists(client, "bad")) == (0, not validate_only)


def test_what_is_only_validated_makes_nothing() -> None:
    client = Gateway().client()
    assert tried(client, "flights", BOTH, only=True) == (0, "")
    assert not exists(client, "bad")
    assert tried(client, "flights", {"kawal_quarantine": "bad"}, only=True)[0] == ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"kawal_quarantine": "bad"}, "kawal.quarantine='bad': 't' declares no columns"),
        ({"kawal_quarantine": "t", "kawal_columns": "a int"}, "a topic cannot be its own quarantine"),
        ({"kawal_quarantine": "b d", "kawal_columns": "a int"}, "Topic name is invalid"),
        (
            {"kawal_quarantine": "flights", "kawal_columns": "a int"},
            "there is a topic of that name, which is",
        ),
        ({"kawal_quarantine": "other", "kawal_columns": "a int"}, "which is not UNFIT `t`"),
        (
            {"kawal_quarantine": "c", "kawal_columns": ",".join(f"c{n} int" for n in range(1_001))},
            "'t' declares 1001 columns",
        ),
        ({"kawal_quarantine": "fl_ghts", "kawal_columns": "a int"}, "the name collides with that of topic"),
    ],
)
def test_what_cannot_be_a_quarantine_is_refused_and_nothing_is_made(
    client: Client, settings: dict[str, str], part: str
) -> None:
    make_view(client, "other", "UNFIT flights")
    create(client, "fl.ghts")
    code, message = tried(client, "t", settings)
    assert (code, part in message) == (ErrorCode.INVALID_CONFIG, True), message
    assert not exists(client, "t")
    assert not exists(client, "c")


def test_a_quarantine_does_not_collide_with_its_topic() -> None:
    client = Gateway().client()
    code, message = tried(client, "a.b", BOTH | {"kawal_quarantine": "a_b"})
    assert (code, "collides with that of topic 'a.b'" in message) == (ErrorCode.INVALID_CONFIG, True)


def test_both_must_have_room() -> None:
    client = Gateway(kawal_max_partitions=3).client()
    code, message = tried(client, "t", BOTH)
    assert (code, "4 more partitions would exceed" in message) == (ErrorCode.POLICY_VIOLATION, True)
    assert tried(client, "t", {"kawal_columns": COLUMNS}) == (0, "")
    code, message = altered(client, "t", KEY, "bad")
    assert (code, "2 more partitions would exceed" in message) == (ErrorCode.POLICY_VIOLATION, True)


def test_a_view_that_is_there_is_taken_if_it_is_the_same(client: Client) -> None:
    make_view(client, "bad", "UNFIT flights")
    make_view(client, "some", "UNFIT flights (id)")
    make_view(client, "tp", "UNFIT flights WHERE tbname = 'TP'")
    make_view(client, "part", "UNFIT flights", **{"kawal.from": "offset 5"})
    make_view(client, "late", "SELECT id FROM flights")
    assert altered(client, "flights", KEY, "bad") == (0, "")
    for name, part in {
        "some": "the view of that name is UNFIT flights (id), not UNFIT `flights`",
        "tp": "the view of that name is UNFIT flights WHERE tbname = 'TP'",
        "part": "there is a topic of that name, which is not UNFIT `flights`",
        "late": "there is a topic of that name, which is not UNFIT `flights`",
    }.items():
        code, message = altered(client, "flights", KEY, name)
        assert (code, part in message) == (ErrorCode.INVALID_CONFIG, True), message
    assert shown(client, "flights") == "bad"


def test_a_view_of_fewer_columns_than_there_are_now_is_not_taken(client: Client) -> None:
    make_view(client, "bad", "UNFIT flights")
    assert altered(client, "flights", "kawal.columns", COLUMNS + ", gate int") == (0, "")
    code, message = altered(client, "flights", KEY, "bad")
    assert (code, "when 'flights' had other columns" in message) == (ErrorCode.INVALID_CONFIG, True)


def test_unsetting_it_or_naming_another_view_drops_nothing(client: Client) -> None:
    for name in ("bad", "worse", None):
        assert altered(client, "flights", KEY, name) == (0, "")
    assert shown(client, "flights") is None
    assert exists(client, "bad")
    assert exists(client, "worse")


def test_other_settings_are_altered_beside_it(client: Client) -> None:
    assert altered(client, "flights", KEY, "bad") == (0, "")
    assert altered(client, "flights", "retention.ms", "5000") == (0, "")
    assert altered(client, "flights", "kawal.columns", COLUMNS + ", gate int") == (0, "")
    assert shown(client, "flights") == "bad"


def test_deleting_the_view_unsets_it_and_the_topic_is_kept_until_then(client: Client) -> None:
    altered(client, "flights", KEY, "bad")
    make_view(client, "other", "UNFIT flights")
    code, message = deleted(client, "flights")["flights"]
    assert (code, "'bad'" in message) == (ErrorCode.POLICY_VIOLATION, True)
    assert deleted(client, "other") == {"other": (0, "")}
    assert shown(client, "flights") == "bad"
    assert deleted(client, "bad") == {"bad": (0, "")}
    assert shown(client, "flights") is None
    client.gateway.restart()
    again = client.gateway.client()
    assert shown(again, "flights") is None
    assert altered(again, "flights", KEY, "bad") == (0, "")
    assert deleted(again, "flights", "bad") == {"flights": (0, ""), "bad": (0, "")}


def test_a_view_has_no_quarantine(client: Client) -> None:
    make_view(client, "late", "SELECT id FROM flights")
    code, message = altered(client, "late", KEY, "bad")
    assert (code, "'late' is a view" in message) == (ErrorCode.POLICY_VIOLATION, True)


def test_a_crash_leaves_both_or_neither() -> None:
    gateway = Gateway()
    client = gateway.client()
    request = CreateTopicsRequest(topics=[creation("flights", 2, **BOTH)])
    client.send(request, 7)
    gateway.broker.scheduler.run()
    gateway.crash()
    names = set(gateway.broker.catalogue.by_name)
    assert names in (set(), {"flights", "bad"})
    gateway.client().call(request, 7)
    gateway.crash()
    assert set(gateway.broker.catalogue.by_name) == {"flights", "bad"}
