"""The nodes of several machines, as one of them knows them: which are there, and where clients reach them.

Each node tells the controller the addresses that its listeners advertise, with the question for the next
records of the catalogue (broker/upkeep/following.py); the controller tells each what it knows of all.  A node
that has not asked for a while is away, and so is, for the others, a controller that does not answer: they go
on with what they know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

AWAY_MS: Final = 8_000
"""A node that has not asked the controller, or a controller that has not answered, for so long is away.

It asks at least every 5 s (WAIT_MS of broker/upkeep/following.py); the rest is for a turn that takes long and
a lost packet.  Kafka's brokers have 9 s (broker.session.timeout.ms).
"""


class Member(NamedTuple):
    """A node, as it is known."""

    is_there: bool = False
    addresses: tuple[tuple[str, str, int], ...] = ()
    """Listener, host and port of each of its listeners."""


class Members:
    """All nodes by their numbers, of which this one has `number`."""

    def __init__(self, number: int, count: int, addresses: Mapping[str, tuple[str, int]]) -> None:
        """`addresses` are what this node's own listeners advertise, by their names."""
        self._number = number
        own = Member(True, tuple((name, *address) for name, address in addresses.items()))
        self._known = [own if each == number else Member() for each in range(count)]
        self._heard_ms: dict[int, int] = {}
        self._seen_ms: dict[int, int] = {}
        self._moved: list[int] = []

    @property
    def known(self) -> list[Member]:
        """The nodes as they are known, in the order of their numbers."""
        return self._known[:]

    def is_there(self, number: int) -> bool:
        """Whether a node is there, as far as is known."""
        return self._known[number].is_there

    def address(self, number: int, listener: str) -> tuple[str, int] | None:
        """Return where clients of a listener reach a node; None: it is away, or has no such listener."""
        member = self._known[number]
        for name, host, port in member.addresses:
            if name == listener and member.is_there:
                return host, port
        return None

    def last_address(self, number: int, listener: str) -> tuple[str, int] | None:
        """Return where a node was reached last, whether it is there or not; None: it is not known."""
        found = (each for each in self._known[number].addresses if each[0] == listener)
        return next(((host, port) for _, host, port in found), None)

    def seen(self, number: int, now_ms: int) -> None:
        """Note that a node has asked, or answered, this one about the catalogue."""
        self._seen_ms[number] = now_ms

    def unseen_ms(self, number: int, now_ms: int) -> int | None:
        """Return the time since a node was seen; None: it was not since the start, or is not expected to be.

        The controller sees all; the others see the controller.
        """
        seen_ms = self._seen_ms.get(number)
        return None if seen_ms is None else max(0, now_ms - seen_ms)

    # --- at the controller -----------------------------------------------------------------------------

    def heard(self, number: int, addresses: Sequence[tuple[str, str, int]], now_ms: int) -> bool:
        """Learn from a node itself that it is there, and where; return whether that is news."""
        self._heard_ms[number] = now_ms
        self.seen(number, now_ms)
        return self._note(number, Member(True, tuple(addresses)))

    def missing(self, now_ms: int) -> list[int]:
        """Take those for away that have not been heard for too long; return them."""
        late = [number for number, heard_ms in self._heard_ms.items() if now_ms - heard_ms > AWAY_MS]
        for number in late:
            del self._heard_ms[number]
            self._note(number, self._known[number]._replace(is_there=False))
        return late

    # --- at the others ---------------------------------------------------------------------------------

    def heard_controller(self, now_ms: int) -> None:
        """Note that the controller has answered; without an answer for as long it is `missing`, too."""
        self._heard_ms[0] = now_ms
        self.seen(0, now_ms)

    def note_all(self, known: Sequence[Member]) -> None:
        """Learn from the controller what it knows of the other nodes."""
        for number, member in enumerate(known):
            self._note(number, member)

    def _note(self, number: int, member: Member) -> bool:
        """Note what another says of a node; a node alone knows about itself."""
        before = self._known[number]
        if number == self._number or before == member:
            return False
        if before.addresses and member.addresses and before.addresses != member.addresses:
            self._moved.append(number)
        self._known[number] = member
        return True

    def take_moved(self) -> list[int]:
        """Return the nodes that have told other addresses than before since the last call."""
        moved, self._moved = self._moved, []
        return moved
