"""Addresses as people write them."""

import pytest

from broker.config.endpoints import Endpoint, http_problem, is_loopback, parse_endpoint


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:9092", "127.0.0.1", 9092),
        ("PLAINTEXT://localhost:0", "localhost", 0),
        ("plaintext://broker.example:65535", "broker.example", 65535),
        ("[::1]:9092", "::1", 9092),
        (" :9092 ", "", 9092),
    ],
)
def test_an_address_is_read(text: str, host: str, port: int) -> None:
    assert parse_endpoint(text) == Endpoint(host, port)


@pytest.mark.parametrize(
    "text", ["", "9092", "host:", "host:x", "host:65536", "::1:9092", "SSL://h:1", "h:-1", "h:٣"]
)
def test_what_is_no_address_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"HOST:PORT|port|PLAINTEXT"):
        parse_endpoint(text)
    assert http_problem(text)


def test_the_http_address_may_be_none_at_all() -> None:
    assert http_problem("none") is None
    assert http_problem("127.0.0.1:0") is None
    assert "HOST:PORT" in (http_problem("9644") or "")


def test_an_ipv6_address_is_written_with_brackets() -> None:
    assert Endpoint("::1", 9092).text == "[::1]:9092"
    assert Endpoint("127.0.0.1", 9092).text == "127.0.0.1:9092"


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("localhost", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("", False),
        ("::", False),
        ("192.168.1.5", False),
        ("localhost.example", False),
    ],
)
def test_only_addresses_of_this_machine_count_as_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
