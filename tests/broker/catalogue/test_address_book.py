"""Tests of the addresses at which nodes reach each other."""

from __future__ import annotations

from broker.catalogue.address_book import Address, StaticAddresses


def test_configured_addresses_are_those_of_the_numbers_in_their_order() -> None:
    book = StaticAddresses([Address("a.example", 9094), Address("b.example", 9095)])
    assert [book.address_of(number) for number in range(2)] == [
        Address("a.example", 9094),
        Address("b.example", 9095),
    ]
