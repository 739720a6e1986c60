"""The nodes of several machines: who is there, and where clients reach them."""

from __future__ import annotations

from broker.catalogue.members import AWAY_MS, Member, Members

ADDRESSES = (("OUT", "b.example", 9092),)


def test_a_node_knows_itself_and_nothing_of_others_before_it_hears() -> None:
    members = Members(0, 2, {"OUT": ("a.example", 9092)})
    assert members.known == [Member(True, (("OUT", "a.example", 9092),)), Member()]
    assert members.address(0, "OUT") == ("a.example", 9092)
    assert members.address(1, "OUT") is None


def test_a_node_that_was_heard_is_there_until_it_is_silent_for_too_long() -> None:
    members = Members(0, 2, {})
    assert members.heard(1, ADDRESSES, 100)
    assert not members.heard(1, ADDRESSES, 200)
    assert members.missing(200 + AWAY_MS) == []
    assert members.missing(201 + AWAY_MS) == [1]
    assert members.missing(202 + AWAY_MS) == []
    assert members.address(1, "OUT") is None
    assert members.heard(1, ADDRESSES, 300 + AWAY_MS)
    assert members.address(1, "OUT") == ("b.example", 9092)


def test_a_node_that_moves_is_known_at_its_new_address() -> None:
    members = Members(0, 2, {})
    members.heard(1, ADDRESSES, 0)
    assert members.heard(1, [("OUT", "c.example", 9092)], 1)
    assert members.address(1, "OUT") == ("c.example", 9092)


def test_what_others_say_about_a_node_itself_is_not_believed() -> None:
    members = Members(1, 2, {"OUT": ("b.example", 9092)})
    members.note_all([Member(True, (("OUT", "a.example", 1),)), Member()])
    assert members.address(0, "OUT") == ("a.example", 1)
    assert members.is_there(1)
    assert members.address(1, "OUT") == ("b.example", 9092)


def test_a_controller_that_does_not_answer_for_too_long_is_missing_for_the_others() -> None:
    members = Members(1, 2, {})
    known = [Member(True, (("OUT", "a.example", 1),)), Member(True)]
    members.note_all(known)
    members.heard_controller(100)
    assert members.missing(100 + AWAY_MS) == []
    assert members.missing(101 + AWAY_MS) == [0]
    assert members.address(0, "OUT") is None
    assert members.last_address(0, "OUT") == ("a.example", 1)
    members.note_all(known)
    members.heard_controller(200 + AWAY_MS)
    assert members.address(0, "OUT") == ("a.example", 1)
