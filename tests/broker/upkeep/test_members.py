"""The addresses of other nodes, from their signs of life."""

from __future__ import annotations

import pytest

from broker.catalogue.address_book import Address, StaticAddresses
from broker.upkeep.members import SignedAddresses
from wal.remote.heartbeat import Sign
from wal.remote.members import Members

CONFIGURED = StaticAddresses([Address("a", 1), Address("b", 2)])


def sign(inner: str, epoch: int = 1) -> Sign:
    return Sign(epoch=epoch, incarnation="i", count=1, interval_ms=1, address="h:9", number=1, inner=inner)


def test_a_node_that_moved_is_found_where_its_sign_says() -> None:
    members = Members([1])
    book = SignedAddresses(members, CONFIGURED)
    assert book.address_of(1) == Address("b", 2)
    members.saw({1: sign("elsewhere:7")})
    assert book.address_of(1) == Address("elsewhere", 7)
    members.saw({1: sign("[::1]:8", epoch=2)})
    assert book.address_of(1) == Address("::1", 8)


@pytest.mark.parametrize("inner", ["", "nothing", "h:99999"])
def test_a_sign_without_an_address_leaves_that_of_the_configuration(inner: str) -> None:
    members = Members([1])
    members.saw({1: sign(inner)})
    assert SignedAddresses(members, CONFIGURED).address_of(1) == Address("b", 2)


def test_one_who_is_about_to_connect_has_the_sign_read_at_the_next_look() -> None:
    members = Members([1])
    members.due()
    members.saw({1: sign("h:1")})
    assert members.due() == []
    SignedAddresses(members, CONFIGURED).address_of(1)
    assert members.due() == [1]


def test_the_links_to_a_node_learn_that_it_moved() -> None:
    moved: list[tuple[int, Address]] = []
    members = Members([1])
    SignedAddresses(members, CONFIGURED).when_moved(lambda *found: moved.append(found))
    members.saw({1: sign("elsewhere:7")})
    members.saw({1: sign("", epoch=2)})
    assert moved == [(1, Address("elsewhere", 7))]
