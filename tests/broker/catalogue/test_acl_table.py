"""The rules that exist are those of the records, and a follower is told of each change once."""

from __future__ import annotations

from broker.catalogue.acl_table import AclTable
from broker.catalogue.catalogue_records import AclAdded, AclRemoved, decode_record, encode_record
from broker.catalogue.topics import Catalogue
from broker.security.acls import Acl, AclFilter
from broker.security.authorized_operations import Operation
from tests.broker.guarded import TOPIC, rule

RULE = rule(Operation.READ, TOPIC, "t")
ADDED, REMOVED = AclAdded(**RULE._asdict()), AclRemoved(**RULE._asdict())


class Follower:
    """A follower that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Acl]] = []

    def add(self, acl: Acl) -> None:
        self.told.append(("add", acl))

    def remove(self, acl: Acl) -> None:
        self.told.append(("remove", acl))


def test_a_rule_counts_when_it_is_planned_and_not_if_it_is_lost() -> None:
    table, follower = AclTable(), Follower()
    table.follow(follower)
    _, undo = table.plan(ADDED)
    assert RULE in table
    undo()
    assert len(table) == 0
    assert follower.told == [("add", RULE), ("remove", RULE)]


def test_a_removal_that_is_lost_leaves_the_rule() -> None:
    table = AclTable()
    table.plan(ADDED)
    _, undo = table.plan(REMOVED)
    assert RULE not in table
    undo()
    assert list(table) == [RULE]


def test_records_that_change_nothing_have_no_effect() -> None:
    table, follower = AclTable(), Follower()
    table.follow(follower)
    table.plan(REMOVED)
    table.plan(ADDED)
    table.plan(ADDED)
    assert follower.told == [("add", RULE)]


def test_a_follower_learns_of_the_rules_there_are() -> None:
    table, follower = AclTable(), Follower()
    table.plan(ADDED)
    table.follow(follower)
    assert follower.told == [("add", RULE)]


def test_a_filter_that_names_all_of_a_rule_needs_no_search() -> None:
    table = AclTable()
    table.plan(ADDED)
    table.plan(AclAdded(**RULE._replace(name="u")._asdict()))
    assert table.candidates(AclFilter(*RULE)) == [RULE]
    assert len(table.candidates(AclFilter())) == 2
    assert table.candidates(AclFilter(*RULE._replace(name="none"))) == []


def test_a_snapshot_has_the_rules_that_are_left() -> None:
    catalogue = Catalogue()
    other = AclAdded(**RULE._replace(name="u")._asdict())
    for record in (ADDED, other, REMOVED):
        catalogue.replay(decode_record(encode_record(record)))
    again = Catalogue()
    for kept in catalogue.snapshot():
        again.replay(kept)
    assert list(again.acls) == [RULE._replace(name="u")]
