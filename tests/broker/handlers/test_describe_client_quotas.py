"""DescribeClientQuotas: a filter must be valid, and finds entities by their parts."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from tests.broker.client_quotas import Parts, alter, describe
from tests.broker.gateway import Client, Gateway

Component = tuple[str, int, str | None]


@pytest.fixture(scope="module")
def client() -> Client:
    return Gateway().client()


def ask(client: Client, *components: Component, version: int = 1) -> Any:
    asked = [
        ComponentData(entity_type=kind, match_type=match, match=name) for kind, match, name in components
    ]
    return client.call(DescribeClientQuotasRequest(components=asked, strict=False), version)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    "components",
    [
        [],
        [("user", 0, "a")],
        [("user", 1, None), ("client-id", 2, None)],
        [("ip", 0, "127.0.0.1")],
    ],
)
def test_nothing_is_found(client: Client, components: list[Component], version: int) -> None:
    answer = ask(client, *components, version=version)
    assert (answer.error_code, answer.error_message, answer.entries) == (0, "", [])


@pytest.mark.parametrize(
    ("components", "code", "message"),
    [
        ([("nope", 0, "a")], 35, "Unsupported entity type nope"),
        ([("", 0, "a")], 42, "Invalid empty entity type."),
        ([("user", 7, "a")], 42, "Unknown match type 7"),
        ([("user", 0, None)], 42, "Request specified MATCH_TYPE_EXACT, but set match string to null."),
        (
            [("user", 1, "a")],
            42,
            "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.",
        ),
        (
            [("user", 2, "a")],
            42,
            "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.",
        ),
        ([("user", 0, "a")] * 2, 42, "Entity type user cannot appear more than once in the filter."),
        (
            [("user", 2, None), ("ip", 2, None)],
            42,
            "Invalid entity filter component combination. IP filter component should not be used with user or"
            " clientId filter component.",
        ),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(
    client: Client, components: list[Component], code: int, message: str
) -> None:
    answer = ask(client, *components)
    assert (answer.error_code, answer.error_message, answer.entries) == (code, message, None)


def test_an_entity_type_as_long_as_a_string_may_be_gets_an_answer(client: Client) -> None:
    answer = ask(client, ("x" * 32_767, 0, "a"))
    assert answer.error_code != 0
    assert answer.error_message.endswith("…")


A: Parts = {"user": "a"}
C: Parts = {"client-id": "c"}
BOTH: Parts = {"client-id": "c", "user": "a"}
DEFAULTS: Parts = {"client-id": None, "user": None}
ADDRESS: Parts = {"ip": "1.2.3.4"}


@pytest.mark.parametrize(
    ("components", "strict", "found"),
    [
        ([], False, [A, C, BOTH, DEFAULTS, ADDRESS]),
        ([], True, []),
        ([("user", 0, "a")], False, [A, BOTH]),
        ([("user", 0, "a")], True, [A]),
        ([("user", 1, None)], False, [DEFAULTS]),
        ([("user", 2, None)], False, [A, BOTH, DEFAULTS]),
        ([("user", 2, None)], True, [A]),
        ([("client-id", 0, "c"), ("user", 2, None)], False, [BOTH]),
        ([("ip", 2, None)], False, [ADDRESS]),
        ([("ip", 1, None)], False, []),
        ([("user", 0, "nobody")], False, []),
    ],
)
def test_entities_are_found_by_their_parts_as_in_kafka(
    components: list[Component], strict: bool, found: list[Parts]
) -> None:
    client = Gateway().client()
    for entity in (A, C, BOTH, DEFAULTS):
        alter(client, entity, ("request_percentage", 1.5))
    alter(client, ADDRESS, ("connection_creation_rate", 5))
    assert [entity for entity, _ in describe(client, *components, strict=strict)] == found
