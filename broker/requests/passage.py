"""One request at the gate that enforces access rules: its client's rights, and what is left out of it.

What a client may not do to one of the things that it names does not concern the others: those that are denied
are taken out of the request, the handler answers what is left, and `amend` joins the two.

    request --split--> allowed items --handler--> response --amend--> response with all items
                   '-> denied items --errors-----------------------'
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any, Final, NamedTuple, TypeVar

from broker.catalogue.topics import Catalogue
from broker.loop.call import Call
from broker.loop.slices import made_by_group, made_of
from broker.requests.gate import Checks as Checks
from broker.security.rights import Rights
from protocol.error_codes import ErrorCode

ITEMS_PER_STEP: Final = 100
"""The items that are decided on between two looks at the time, about 0.5 ms when none is remembered."""

Item = TypeVar("Item")
Part = TypeVar("Part")
Made = TypeVar("Made")
Finished = TypeVar("Finished")


class Passage(NamedTuple):
    """A request at the gate."""

    call: Call[Any]
    rights: Rights
    catalogue: Catalogue

    @property
    def request(self) -> Any:
        """The decoded request."""
        return self.call.request

    def amend(self, change: Callable[[Any], object]) -> None:
        """Have `change(response)` called before the response is sent; the last one is called first."""
        before = self.call.amend

        def both(response: Any) -> None:
            change(response)
            if before is not None:
                before(response)

        self.call.amend = change if before is None else both


def split(
    items: Iterable[Item], is_allowed: Callable[[Item], bool], *, per_step: int = ITEMS_PER_STEP
) -> Generator[None, None, tuple[list[Item], list[Item]]]:
    """Return the items that are allowed and those that are denied, both in their order."""
    allowed: list[Item] = []
    denied: list[Item] = []
    for number, item in enumerate(items, start=1):
        (allowed if is_allowed(item) else denied).append(item)
        if not number % per_step:
            yield
    return allowed, denied


def refused_of(items: Iterable[Item], make: Callable[[Item], Made]) -> Generator[None, None, list[Made]]:
    """Return what `make` returns for each of the items that are denied."""
    return made_of(items, make, per_step=ITEMS_PER_STEP)


def refused_parts_of(
    items: Iterable[Item],
    parts_of: Callable[[Item], Iterable[Part]],
    make: Callable[[Part], Made],
    finish: Callable[[Item, list[Made]], Finished],
) -> Generator[None, None, list[Finished]]:
    """Return `finish(item, made)` for each item that is denied, `made` being those of its parts."""
    return made_by_group(items, parts_of, lambda _item, part: make(part), finish, per_step=ITEMS_PER_STEP)


MESSAGES: Final = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
}
"""Kafka's sentences for its codes."""
