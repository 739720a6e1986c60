"""Connections to a machine that a node has left."""

from __future__ import annotations

import gc
from typing import Any

from broker.catalogue.address_book import Address
from broker.server.made_links import MadeLinks


class Sock:
    """A connection."""

    def __init__(self, *, fails: bool = False) -> None:
        self.ended = False
        self._fails = fails

    def shutdown(self, _how: int) -> None:
        self.ended = True
        if self._fails:
            raise OSError("not connected")


def test_connections_to_an_address_that_a_node_has_left_end_and_no_others() -> None:
    links, old, new, other = MadeLinks(), Address("a", 1), Address("b", 1), Address("c", 1)
    socks: list[Any] = [Sock(), Sock(fails=True), Sock(), Sock()]
    for number, address, sock in zip((1, 1, 1, 2), (old, old, new, other), socks, strict=True):
        links.made(number, address, sock)
    links.moved(1, new)
    links.moved(3, new)
    assert [sock.ended for sock in socks] == [True, True, False, False]


def test_a_connection_that_is_gone_is_forgotten() -> None:
    links = MadeLinks()
    sock: Any = Sock()
    links.made(1, Address("a", 1), sock)
    del sock
    gc.collect()
    assert not links._made[1]
