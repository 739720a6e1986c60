"""The addresses of the other nodes: those of their signs of life, else those of the configuration.

A node that is taken over on another machine is found there as soon as its sign is read.
"""

from __future__ import annotations

from broker.catalogue.address_book import Address, AddressBook
from broker.config.endpoints import parse_endpoint
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
        if sign is not None and sign.inner:
            try:
                return Address(*parse_endpoint(sign.inner))
            except ValueError:
                pass  # written by another version, or by hand
        return self._configured.address_of(number)
