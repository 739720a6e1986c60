"""A view's maker must be allowed to read what the view reads, before anything of it is told."""

from __future__ import annotations

from typing import Any

import pytest

from broker.catalogue.view_drafts import Draft
from broker.catalogue.view_sources import Source, asked_source
from broker.security.authorized_operations import Operation
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from tests.broker.guarded import ALICE, TOPIC, Guarded
from tests.broker.kit import batch, create, creation, fetch, read, send

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize(
    ("configs", "source"),
    [
        ({"kawal.sql": "SELECT a FROM `t`"}, Source("t", is_database=False)),
        ({"kawal.sql": "STABLE t"}, Source("t", is_database=False)),
        ({"kawal.sql": "DATABASE d"}, Source("d", is_database=True)),
        ({"kawal.sql": "DATABASE d ONLY META"}, Source("d", is_database=True)),
        ({"kawal.alias.of": " t "}, Source("t", is_database=False)),
        ({"kawal.sql": "nonsense"}, None),
        ({"retention.ms": "5"}, None),
    ],
)
def test_the_source_is_what_the_view_is_to_read(configs: dict[str, str], source: Source | None) -> None:
    draft = Draft(configs["kawal.sql"], "v") if "kawal.sql" in configs else None
    assert asked_source(configs, draft) == source


def made(guarded: Guarded, **configs: str) -> Any:
    request = CreateTopicsRequest(topics=[creation("v", -1, **configs)])
    (result,) = guarded.of(ALICE).call(request, 7).topics
    return result


def with_topics() -> Guarded:
    guarded = Guarded()
    create(guarded.admin, "t", 1, kawal_columns="secret int")
    create(guarded.admin, "u")
    send(guarded.admin, "t", batch(b'{"secret": 1}'))
    guarded.allow(Operation.CREATE, TOPIC, "v")
    return guarded


@pytest.mark.parametrize(
    "configs",
    [
        {"kawal_sql": "SELECT secret FROM t"},
        {"kawal_sql": "SELECT wrong FROM t"},
        {"kawal_sql": "SELECT a FROM missing"},
        {"kawal_sql": "STABLE t"},
        {"kawal_sql": "STABLE t ONLY META"},
        {"kawal_sql": "UNFIT FROM t"},
        {"kawal_sql": "DATABASE default"},
        {"kawal_sql": "DATABASE default WITH META"},
        {"kawal_sql": "DATABASE default ONLY META"},
        {"kawal_alias_of": "t"},
        {"kawal_alias_of": "t", "kawal_from": "offset 0"},
    ],
    ids=str,
)
def test_no_view_shows_what_its_maker_may_not_read(configs: dict[str, str]) -> None:
    guarded = with_topics()
    result = made(guarded, **configs)
    assert result.error_code in (DENIED, ErrorCode.INVALID_CONFIG)
    assert "secret" not in result.error_message.replace("SELECT secret", "")
    if "UNFIT" not in str(configs):
        assert result.error_code == DENIED
    assert guarded.broker.catalogue.find("v") is None


def test_a_view_needs_read_on_its_source_and_create_on_its_name() -> None:
    guarded = with_topics()
    guarded.allow(Operation.READ, TOPIC, "t")
    assert made(guarded, kawal_alias_of="t").error_code == 0


def test_a_view_of_a_database_needs_read_on_every_topic_of_it_and_on_those_to_come() -> None:
    guarded = with_topics()
    guarded.allow(Operation.READ, TOPIC, "t")
    guarded.allow(Operation.READ, TOPIC, "u")
    assert made(guarded, kawal_sql="DATABASE default").error_code == DENIED
    guarded.allow(Operation.READ, TOPIC, "*")
    denial = guarded.deny(Operation.READ, TOPIC, "u")
    assert made(guarded, kawal_sql="DATABASE default").error_code == DENIED
    guarded.take(denial)
    assert made(guarded, kawal_sql="DATABASE default").error_code == 0


def test_who_may_read_a_view_may_not_read_its_source_nor_the_other_way_round() -> None:
    guarded = with_topics()
    create(guarded.admin, "v", -1, kawal_alias_of="t")
    guarded.allow(Operation.READ, TOPIC, "v")
    alice = guarded.of(ALICE)
    assert read(alice, "v") == [b'{"secret": 1}']
    assert fetch(alice, "t").error_code == DENIED
    guarded.allow(Operation.READ, TOPIC, "t", principal="User:bob")
    assert fetch(guarded.of("User:bob"), "v").error_code == DENIED
