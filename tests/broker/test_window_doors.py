"""A client that may read a window of a topic, an alias with bounds, finds no way to what lies outside of it.

Alice may read `t`, an alias of `the-source` from offset 1 to offset 3.  Records before and after it have the
hidden text in all their parts.  She owns the topic `mine`, the group `g` and the transactional id `x`, too.
"""

from __future__ import annotations

from typing import Any

import pytest

from broker.security.authorized_operations import Operation
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.access_cases import CASES, Case
from tests.broker.gateway import START_MS, take_outgoing
from tests.broker.guarded import ALICE, CLUSTER, GROUP, TOPIC, TRANSACTION, Guarded
from tests.broker.kit import create, creation, fetch, fetching, producing, read
from tests.broker.splits import split, split_topic
from tests.broker.test_view_doors import OTHERS

SOURCE, HIDDEN = "the-source", b"HIDDEN"


def world() -> Guarded:
    guarded = Guarded(kawal_vnodes=1)
    admin = guarded.admin
    create(admin, SOURCE, 1)
    made = [
        Record(index, START_MS + 1_000 * index, value, value, ((value.decode(), value),))
        for index, value in enumerate((HIDDEN, b"open-1", b"open-2", HIDDEN, HIDDEN))
    ]
    # The window cuts a batch at both of its ends.
    admin.call(producing((SOURCE, 0, bytearray(encode_batch(made)))), 9)
    window = {"kawal.alias.of": SOURCE, "kawal.from": "offset 1", "kawal.to": "offset 3"}
    create(admin, "t", -1, **window)
    create(admin, "mine", 1)
    guarded.allow(Operation.READ, TOPIC, "t")
    guarded.allow(Operation.ALL, TOPIC, "mine")
    guarded.allow(Operation.ALL, GROUP, "g")
    guarded.allow(Operation.ALL, TRANSACTION, "x")
    return guarded


def said(guarded: Guarded, request: Any, version: int) -> bytes:
    client = guarded.of(ALICE)
    client.send(request, version)
    guarded.settle()
    guarded.advance(10_000)
    return take_outgoing(client.connection)


def shows_nothing(answer: bytes) -> bool:
    return HIDDEN not in answer and SOURCE.encode() not in answer


def test_the_window_is_read_alone() -> None:
    assert read(world().of(ALICE), "t", 1) == [b"open-1", b"open-2"]


@pytest.mark.parametrize("offset", range(7))
@pytest.mark.parametrize("version", [4, 12])
def test_no_offset_leads_out_of_the_window(offset: int, version: int) -> None:
    answer = said(world(), fetching({("t", 0): offset}), version)
    assert answer
    assert shows_nothing(answer)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_request_leads_out_of_the_window(case: Case) -> None:
    answer = said(world(), case.make(), case.version)
    assert answer
    assert shows_nothing(answer)


@pytest.mark.parametrize("name", OTHERS)
def test_no_question_leads_out_of_the_window(name: str) -> None:
    version, make = OTHERS[name]
    assert shows_nothing(said(world(), make(), version))


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("t", "kawal.from", "offset 0"),
        ("t", "kawal.to", "offset 9"),
        ("t", "kawal.alias.of", "mine"),
        ("mine", "kawal.alias.of", SOURCE),
        ("mine", "kawal.sql", "STABLE `the-source`"),
        ("mine", "kawal.source", SOURCE),
        (SOURCE, "kawal.quarantine", "stolen"),
        ("mine", "errors.deadletterqueue.group.enable", "true"),
    ],
)
def test_no_configuration_opens_the_window(name: str, key: str, value: str) -> None:
    guarded = world()
    config = AlterableConfig(name=key, config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=2, resource_name=name, configs=[config])
    said(guarded, IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
    guarded.allow(Operation.READ, TOPIC, "stolen")
    for topic in ("t", "mine", "stolen"):
        for offset in range(5):
            assert shows_nothing(said(guarded, fetching({(topic, 0): offset}), 12))


@pytest.mark.parametrize(
    "configs",
    [
        {"kawal.alias.of": SOURCE},
        {"kawal.alias.of": f" {SOURCE} "},
        {"kawal.sql": f"STABLE `{SOURCE}`"},
        {"kawal.sql": f"SELECT _key FROM `{SOURCE}`"},
        {"kawal.sql": f"UNFIT `{SOURCE}`"},
        {"kawal.sql": f"ONLY META AS STABLE `{SOURCE}`"},
        {"kawal.sql": f"WITH META AS STABLE `{SOURCE}`"},
        {"kawal.sql": "DATABASE default"},
        {"kawal.alias.of": "t", "kawal.from": "offset 0", "kawal.to": "offset 9"},
    ],
    ids=str,
)
@pytest.mark.parametrize("validate_only", [True, False])
def test_no_topic_that_alice_makes_opens_the_window(configs: dict[str, str], validate_only: bool) -> None:
    guarded = world()
    guarded.allow(Operation.CREATE, CLUSTER)
    made = creation("new", -1, **configs)
    request = CreateTopicsRequest(topics=[made], validate_only=validate_only)
    answer = said(guarded, request, 7)
    assert HIDDEN not in answer
    guarded.allow(Operation.ALL, TOPIC, "new")
    for offset in range(5):
        assert shows_nothing(said(guarded, fetching({("new", 0): offset}), 12))


def test_a_partition_is_split_only_by_a_client_that_may_alter_its_topic() -> None:
    guarded = Guarded()
    split_topic(guarded.admin)
    guarded.allow(Operation.READ, TOPIC, "t")
    guarded.allow(Operation.WRITE, TOPIC, "t")
    guarded.allow(Operation.ALTER, TOPIC, "mine")
    assert split(guarded.of(ALICE))[0] != 0
    assert guarded.broker.catalogue.by_name["t"].partition_count == 1


def test_the_parts_of_a_split_partition_are_read_with_the_right_of_their_topic_alone() -> None:
    guarded = Guarded()
    split_topic(guarded.admin)
    assert split(guarded.admin)[0] == 0
    guarded.advance(1_000)
    for partition in range(guarded.broker.catalogue.by_name["t"].partition_count):
        found = fetch(guarded.of(ALICE), "t", partition)
        assert found.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
