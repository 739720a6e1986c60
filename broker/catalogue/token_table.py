"""The delegation tokens that exist: the state which their records in the catalogue's log make up.

A token counts from the moment at which its record is planned, and is given up again if the record is lost.
Whether clients can log in with them is not decided here: a follower (broker/catalogue/delegation_tokens.py)
is told of changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Protocol

from broker.catalogue.catalogue_records import DelegationTokenRemoved, DelegationTokenSet
from broker.catalogue.database_table import Halves
from broker.catalogue.settings_plan import plan_nothing


class Follower(Protocol):
    """A keeper of what belongs to tokens, which is told of each that comes and goes."""

    def added(self, token_id: str) -> None:
        """Note a new token."""

    def removed(self, token_id: str) -> None:
        """Note that there is no such token any more."""


class TokenTable:
    """All tokens by their ids, in the order in which they were made."""

    def __init__(self) -> None:
        self._tokens: dict[str, DelegationTokenSet] = {}
        self._by_requester: Counter[str] = Counter()
        self._follower: Follower | None = None

    def __len__(self) -> int:
        return len(self._tokens)

    def __iter__(self) -> Iterator[DelegationTokenSet]:
        return iter(self._tokens.values())

    def find(self, token_id: str) -> DelegationTokenSet | None:
        """Return the token of that id, if there is one."""
        return self._tokens.get(token_id)

    def count_of(self, requester: str) -> int:
        """Return how many tokens there are that this principal has asked for."""
        return self._by_requester[requester]

    def follow(self, follower: Follower) -> None:
        """Tell this follower of all tokens there are, and of each change from now on."""
        self._follower = follower
        for token_id in self._tokens:
            follower.added(token_id)

    def plan(self, record: DelegationTokenSet | DelegationTokenRemoved) -> Halves:
        """Add, change or remove a token."""
        before = self._tokens.get(record.token_id)
        self._put(record.token_id, record if isinstance(record, DelegationTokenSet) else None)
        return plan_nothing, lambda: self._put(record.token_id, before)

    def _put(self, token_id: str, token: DelegationTokenSet | None) -> None:
        before = self._tokens.pop(token_id, None) if token is None else self._tokens.get(token_id)
        if token is not None:
            self._tokens[token_id] = token
            self._by_requester[token.requester] += 1
        if before is not None:
            self._by_requester[before.requester] -= 1
            if not self._by_requester[before.requester]:
                del self._by_requester[before.requester]
        if self._follower is not None and (before is None) != (token is None):
            (self._follower.removed if token is None else self._follower.added)(token_id)
