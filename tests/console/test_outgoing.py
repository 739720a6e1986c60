"""Rules for the requests of one piece of work."""

from __future__ import annotations

from typing import Any

import pytest

from console.admin import all_topics
from console.client import admin_client
from console.credentials import chosen
from console.exchange import request_frame
from console.outgoing import NotAllowed, rules, under
from console.security import PLAIN, Security
from protocol.api_keys import ApiKey
from protocol.messages.api_versions import ApiVersionsRequest

REQUEST = ApiVersionsRequest(client_software_name="t", client_software_version="1")


class Spy:
    """Rules that let nothing leave, and remember what was to."""

    security = Security("SASL_PLAINTEXT", "PLAIN", "ada", "secret")

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def check(self, api: ApiKey, _: Any) -> None:
        self.seen.append(api)
        raise NotAllowed("nothing leaves")

    def ask(self, *asked: Any) -> Any:
        self.seen.append(asked[0])
        raise NotAllowed("nothing leaves")

    def connect(self, address: str) -> Any:
        raise NotAllowed(address)


def test_every_request_is_judged_where_it_is_encoded() -> None:
    spy = Spy()
    with under(spy), pytest.raises(NotAllowed):
        request_frame(REQUEST, 3, correlation_id=1, client_id="t")
    assert spy.seen == [ApiKey.API_VERSIONS]
    assert request_frame(REQUEST, 3, correlation_id=1, client_id="t")


def test_helpers_ask_the_rules_in_place_of_a_connection_of_their_own() -> None:
    spy = Spy()
    with under(spy), pytest.raises(NotAllowed):
        all_topics("here:1")
    assert spy.seen == ["here:1"]


def test_the_security_is_that_of_the_work() -> None:
    assert chosen() == PLAIN
    with under(Spy()):
        assert chosen().user == "ada"
    assert rules() is None


def test_clients_with_sockets_of_their_own_cannot_be_opened() -> None:
    with under(Spy()), pytest.raises(AssertionError, match="under rules"), admin_client("here:1"):
        raise ZeroDivisionError
