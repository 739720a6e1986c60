"""The check whether a server answers, and the choice of the server."""

from __future__ import annotations

import pytest

from broker.config.endpoints import Endpoint
from console.health import ask_health, own_address, reachable


@pytest.mark.usefixtures("gateway")
def test_a_server_that_answers_tells_its_apis() -> None:
    assert ask_health("here:1").apis > 30


def test_every_address_is_reached_on_loopback() -> None:
    assert reachable(Endpoint("0.0.0.0", 9)) == "127.0.0.1:9"
    assert reachable(Endpoint("::", 9)) == "[::1]:9"
    assert reachable(Endpoint("10.0.0.1", 9)) == "10.0.0.1:9"


def test_the_server_meant_is_that_of_the_environment() -> None:
    assert own_address({}) == "127.0.0.1:9092"
    assert own_address({"KAWAL_LISTENERS": "0.0.0.0:19092", "KAWAL_INSECURE": "true"}) == "127.0.0.1:19092"
    assert own_address({"KAWAL_LISTENERS": "127.0.0.1:1", "KAWAL_BOOTSTRAP": "h:2"}) == "h:2"
    both = "SSL://127.0.0.1:1,PLAINTEXT://127.0.0.1:2"
    assert own_address({"KAWAL_LISTENERS": both, "KAWAL_SSL_KEYSTORE_LOCATION": "/x"}) == "127.0.0.1:2"
