"""The addresses of the other nodes: those of their signs of life, else those of the configuration.

A node that is taken over on another machine is found there as soon as its sign is read.
"""

from __future__ import annotations

from collections.abc import Callable

from broker.catalogue.address_book import Address, AddressBook
from broker.config.endpoints import parse_endpoint
from wal.remote.heartbeat import Sign
from wal.remote.members import Members


class SignedAddresses:
    """The address book of a node with a store.  Any thread may ask, and is answered from what is known.

    Who asks is about to connect, so the node's sign is read at the next look: it may have moved.
    """

    def __init__(self, members: Members, configured: AddressBook) -> None:
        """Use a book; `configured` answers for nodes whose sign was not found, or names no address."""
        self._members = members
        self._configured = configured

    def address_of(self, number: int) -> Address:
        """Return where the node of this number is reached, as far as is known."""
        self._members.look_for(number)
        sign = self._members.sign_of(number)
        return (_address_in(sign) if sign is not None else None) or self._configured.address_of(number)

    def when_moved(self, moved: Callable[[int, Address], None]) -> None:
        """Call `moved(number, address)` whenever another process gives a node's signs, in another thread."""

        def learned(number: int, sign: Sign) -> None:
            address = _address_in(sign)
            if address is not None:
                moved(number, address)

        self._members.learned = learned


def _address_in(sign: Sign) -> Address | None:
    """Return the address in a sign; None: it has none, or was written by another version, or by hand."""
    try:
        return Address(*parse_endpoint(sign.inner)) if sign.inner else None
    except ValueError:
        return None
