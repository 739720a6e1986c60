"""Client quotas as the command line asks for them."""

from __future__ import annotations

from typing import Any

import pytest

from broker.security.quotas import CLIENT_KEYS, IP_KEYS
from console.errors import CommandError, UsageError
from console.quota_admin import KEYS, Quotas, alter, entity_text, find
from tests.broker.gateway import Gateway


@pytest.fixture
def ask(gateway: Gateway) -> Any:
    return gateway.client().call


def test_every_quota_has_a_word() -> None:
    assert set(KEYS.values()) == CLIENT_KEYS | IP_KEYS


def test_entities_with_the_parts_are_found_in_order(ask: Any) -> None:
    both = (("client-id", "c"), ("user", "b"))
    for entity in ((("user", "b"),), both, (("user", None),)):
        alter(ask, entity, {"producer_byte_rate": 5.0})
    assert find(ask, (("user", "b"),)) == [
        Quotas(both, {"producer_byte_rate": 5.0}),
        Quotas((("user", "b"),), {"producer_byte_rate": 5.0}),
    ]
    assert find(ask, (("user", None),)) == [Quotas((("user", None),), {"producer_byte_rate": 5.0})]
    assert len(find(ask, ())) == 3


def test_an_entity_is_told_in_words() -> None:
    assert entity_text((("client-id", None), ("user", "b"))) == "any client-id, user b"


def test_an_entity_must_be_named(ask: Any) -> None:
    with pytest.raises(UsageError):
        alter(ask, (), {"producer_byte_rate": 5.0})


def test_a_refusal_names_the_entity(ask: Any) -> None:
    with pytest.raises(CommandError, match=r"quotas of ip ::1: .*Invalid configuration key foo"):
        alter(ask, (("ip", "::1"),), {"foo": 5.0})
