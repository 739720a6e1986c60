"""The texts that mean one address."""

from __future__ import annotations

import pytest

from broker.security.addresses import canonical, spellings

LINK_LOCAL = "fe80:0:0:0:0:0:0:1%eth0"


@pytest.mark.parametrize(
    ("address", "javas"),
    [
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:db8::a01", "2001:db8:0:0:0:0:0:a01"),
        ("fe80::1%eth0", LINK_LOCAL),
    ],
)
def test_an_ipv6_address_is_named_as_here_and_as_java_does(address: str, javas: str) -> None:
    assert spellings(address) == (address, javas)
    assert canonical(javas) == canonical(address) == address


@pytest.mark.parametrize("text", ["10.0.0.9", "1:2:3:4:5:6:7:8", "", "*", "host", "a:b", "::\0", "1::2::3"])
def test_other_texts_mean_themselves(text: str) -> None:
    assert spellings(text) == (text,)
    assert canonical(text) == text


def test_capitals_and_leading_zeros_do_not_count() -> None:
    assert canonical("2001:0DB8::0A01") == "2001:db8::a01"
