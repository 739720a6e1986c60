"""Nodes that serve at another address than before."""

from __future__ import annotations

from types import SimpleNamespace

from broker.catalogue.members import Member, Members
from broker.catalogue.moves import TOLD_MS, Moves, News
from broker.catalogue.nodes import Nodes


def connection(connected_ms: int = 0) -> SimpleNamespace:
    return SimpleNamespace(told_moves=0, connected_ms=connected_ms)


def test_each_connection_is_told_once_of_each_move_of_a_node() -> None:
    moves = Moves()
    one, other = connection(), connection(150)
    assert moves.news_for(one, 7, 0) is News.NONE
    moves.note(7, 100)
    assert [moves.news_for(one, 7, now_ms) for now_ms in (101, 102)] == [News.MOVED_SINCE, News.NONE]
    assert [moves.news_for(other, 7, now_ms) for now_ms in (151, 152)] == [News.MOVED, News.NONE]
    moves.note(7, 200)
    assert [moves.news_for(one, 7, now_ms) for now_ms in (201, 202)] == [News.MOVED_SINCE, News.NONE]
    assert moves.news_for(other, 8, 203) is News.NONE
    assert moves.news_for(other, 7, 204) is News.MOVED_SINCE


def test_a_move_is_news_for_ten_minutes() -> None:
    moves = Moves()
    moves.note(7, 100)
    assert moves.news_for(connection(), 7, 100 + TOLD_MS) is News.MOVED_SINCE
    assert moves.news_for(connection(), 7, 101 + TOLD_MS) is News.NONE


def test_a_node_has_moved_that_tells_another_address_and_not_one_that_is_new_or_back() -> None:
    members = Members(0, 2, {})
    nodes = Nodes(5, count=2, members=members)
    client = connection()
    members.heard(1, [("OUT", "b.example", 9092)], 0)
    assert nodes.news_for(client, 6, 1) is News.NONE
    members.note_all([Member(), Member()])
    members.heard(1, [("OUT", "b.example", 9092)], 2)
    assert nodes.news_for(client, 6, 3) is News.NONE
    members.heard(1, [("OUT", "c.example", 9092)], 4)
    assert nodes.news_for(client, 6, 5) is News.MOVED_SINCE
    assert nodes.news_for(client, 6, 6) is News.NONE
