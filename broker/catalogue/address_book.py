"""The addresses at which the nodes of a cluster reach each other.

They come from the configuration.  Where a node may be taken over on another machine, another source says
where it is now, and the links between nodes have that source in place of this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Address(NamedTuple):
    """A host and a port to connect to."""

    host: str
    port: int


class AddressBook(Protocol):
    """The address of each node's listener for the others, by the node's number, from 0 on.

    It is asked before each connection, from any thread, and answers at once: from what it knows.
    """

    def address_of(self, number: int) -> Address:
        """Return where the node of this number is reached, as far as is known."""


class StaticAddresses:
    """The addresses of the configuration, which never change."""

    def __init__(self, addresses: Sequence[Address]) -> None:
        """Take them in the order of the nodes' numbers."""
        self._addresses = tuple(addresses)

    def address_of(self, number: int) -> Address:
        """Return the address of this number."""
        return self._addresses[number]
