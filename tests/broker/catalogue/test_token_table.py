"""The tokens that exist are those of the records, and a follower is told of each that comes and goes."""

from __future__ import annotations

from msgspec.structs import replace

from broker.catalogue.catalogue_records import (
    DelegationTokenRemoved,
    DelegationTokenSet,
    decode_record,
    encode_record,
)
from broker.catalogue.token_table import TokenTable
from broker.catalogue.topics import Catalogue

TOKEN = DelegationTokenSet(
    token_id="t", owner="User:a", requester="User:r", issued_ms=1, expires_ms=2, ends_ms=3
)
REMOVED = DelegationTokenRemoved(token_id="t")


class Follower:
    """A follower that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def added(self, token_id: str) -> None:
        self.told.append(f"+{token_id}")

    def removed(self, token_id: str) -> None:
        self.told.append(f"-{token_id}")


def test_a_token_counts_when_it_is_planned_and_not_if_it_is_lost() -> None:
    table, follower = TokenTable(), Follower()
    table.follow(follower)
    _, undo = table.plan(TOKEN)
    assert (table.find("t"), table.count_of("User:r"), table.count_of("User:a")) == (TOKEN, 1, 0)
    undo()
    assert (table.find("t"), len(table), table.count_of("User:r")) == (None, 0, 0)
    assert follower.told == ["+t", "-t"]


def test_a_renewal_or_removal_that_is_lost_leaves_the_token_as_it_was() -> None:
    table, follower = TokenTable(), Follower()
    table.plan(TOKEN)
    table.follow(follower)
    _, undo = table.plan(replace(TOKEN, expires_ms=9))
    assert [token.expires_ms for token in table] == [9]
    undo()
    assert list(table) == [TOKEN]
    _, undo = table.plan(REMOVED)
    assert len(table) == 0
    undo()
    assert (list(table), table.count_of("User:r")) == ([TOKEN], 1)
    assert follower.told == ["+t", "-t", "+t"]


def test_a_removal_of_what_a_damaged_log_has_lost_changes_nothing() -> None:
    table, follower = TokenTable(), Follower()
    table.follow(follower)
    table.plan(REMOVED)[1]()
    assert (len(table), follower.told) == (0, [])


def test_records_replay_alone_and_from_a_snapshot() -> None:
    catalogue = Catalogue()
    other = replace(TOKEN, token_id="u", renewers=("User:b",))
    for record in (TOKEN, other, replace(TOKEN, expires_ms=9), DelegationTokenRemoved(token_id="u")):
        catalogue.replay(decode_record(encode_record(record)))
    again = Catalogue()
    for kept in catalogue.snapshot():
        again.replay(kept)
    assert list(again.tokens) == list(catalogue.tokens) == [replace(TOKEN, expires_ms=9)]
