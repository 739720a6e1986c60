"""The addresses of the other nodes of a cluster, from the signs of life that they give in the object store.

    unknown       no sign of it was found            read at each look
    looked for    a link to it begins, once          read at the next look
    known         neither                            read at one of `RARELY` looks

Nothing that must be right depends on it: a request to an old address gets no answer, or is told so; then the
node is looked for, and asked again.  A process with a higher epoch has taken over the one before, so a sign
of a lower one, as of a server that was cut off and does not know, replaces nothing.

Requests: one for each node that is away, or was looked for, at each look, and (nodes - 1) / RARELY for the
others.  Three nodes with signs every second read 3.2 million times a month together while all is well; stores
charge about a tenth of a write for a read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from wal.objects import ObjectReads, ObjectStoreError
from wal.remote.formats import RemoteDamaged
from wal.remote.heartbeat import Sign, read_sign

RARELY: Final = 5
"""The looks of which one reads the sign of a node that is not looked for.

A machine that hangs keeps its connections: only its successor's sign tells that nothing will come from it.
"""


class Look(NamedTuple):
    """The outcome of one look."""

    signs: dict[int, Sign]
    problems: list[Exception]


def look(stores: Mapping[int, ObjectReads], prefix: str, numbers: Iterable[int]) -> Look:
    """Read the signs of these nodes, one request each; a thread may call it.

    `stores` are the nodes' places, by number; `prefix` is the cluster id.
    """
    found = Look({}, [])
    for number in numbers:
        try:
            sign = read_sign(stores[number], prefix)
        except (ObjectStoreError, RemoteDamaged) as error:
            found.problems.append(error)
            continue
        if sign is not None:
            found.signs[number] = sign
    return found


class Members:
    """The newest signs of the other nodes; threads may call `look_for` and `sign_of`, one thread the rest."""

    def __init__(self, numbers: Iterable[int], learned: Callable[[int, Sign], None] | None = None) -> None:
        """Take the numbers of the other nodes; `learned` is told of each new process of one."""
        self._signs: dict[int, Sign | None] = dict.fromkeys(numbers)
        self._wanted = set(self._signs)
        self._looks = 0
        self.learned = learned

    def look_for(self, number: int) -> None:
        """Have a node's sign read at the next look: it does not answer, or has started again."""
        if number in self._signs:
            self._wanted.add(number)

    def due(self) -> list[int]:
        """Return the nodes that this look is to read, and begin it."""
        self._looks += 1
        wanted, self._wanted = self._wanted, set()
        return [
            number
            for number, sign in self._signs.items()
            if sign is None or number in wanted or (self._looks + number) % RARELY == 0
        ]

    def saw(self, signs: Mapping[int, Sign]) -> None:
        """Take what a look has found."""
        for number, sign in signs.items():
            known = self._signs[number]
            if sign.number != number or (known is not None and sign.epoch < known.epoch):
                continue
            self._signs[number] = sign
            if self.learned is not None and (known is None or known.incarnation != sign.incarnation):
                self.learned(number, sign)

    def sign_of(self, number: int) -> Sign | None:
        """Return the newest sign of a node that was read, None: none was."""
        return self._signs.get(number)
