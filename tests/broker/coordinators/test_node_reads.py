"""Questions to one node about clients: one at a time, repeated as long as a fetch waits."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from broker.coordinators import node_reads
from broker.coordinators.node_reads import RETRY_MS, NodeReads, Told
from broker.coordinators.remembered import Key
from protocol.messages.kawal_reads import ClientReads, GroupPlaces, KawalReadsResponse
from tests.broker.cluster import Cluster


class Peers:
    """The way to the node, on which the test answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, Any]] = []

    def call(self, _node_id: int, request: Any, _version: int, done: Any) -> None:
        self.asked.append((request, done))


class Asking:
    """A node that asks another one."""

    def __init__(self) -> None:
        self.cluster = Cluster(2)
        self.peers, self.told = Peers(), list[tuple[Key, Told]]()
        self.waiting: set[Key] = set()
        broker = self.cluster[0].broker
        broker.nodes.peers = self.peers
        self.node = NodeReads(
            broker,
            broker,
            1,
            count(1),
            self.waiting.__contains__,
            lambda _node_id, key, told: self.told.append((key, told)),
        )

    def ask(self, name: str, *, since: int = 0, every: bool = False) -> None:
        self.waiting.add(("/h", name))
        self.node.ask(("/h", name), since=since, every=every)

    def names(self) -> list[list[tuple[str, bool]]]:
        return [
            [(client.client_id, client.every) for client in request.clients]
            for request, _ in self.peers.asked
        ]

    def answer(self, *, changes: int = 1, life: int = 1, groups: tuple[str, ...] = ()) -> None:
        request, done = self.peers.asked.pop(0)
        told = [GroupPlaces(group_id=group, topics=[]) for group in groups]
        clients = [ClientReads(groups=told) for _ in request.clients]
        done(KawalReadsResponse(life=life, changes=changes, clients=clients))

    def pass_time(self, duration_ms: int) -> None:
        self.cluster[0].advance(duration_ms)
        self.cluster[0].tick()

    def fail(self, code: int | None = None) -> None:
        _, done = self.peers.asked.pop(0)
        done(None if code is None else KawalReadsResponse(error_code=code, clients=[]))


def test_clients_wait_for_the_question_that_is_under_way_and_are_then_asked_about_together() -> None:
    asking = Asking()
    asking.ask("a")
    asking.ask("b")
    asking.ask("c", every=True)
    assert asking.names() == [[("a", False)]]
    asking.answer()
    assert asking.names() == [[("b", False), ("c", True)]]
    asking.answer()
    assert [(key[1], told.moment, told.every) for key, told in asking.told] == [
        ("a", 1, False), ("b", 2, False), ("c", 2, True)
    ]  # fmt: skip


def test_what_is_being_asked_is_not_asked_again_unless_a_fetch_has_come_since_or_wants_more() -> None:
    asking = Asking()
    asking.ask("a", since=0)
    asking.ask("a", since=1)
    asking.answer()
    assert asking.names() == []
    asking.ask("a", since=2)
    asking.ask("a", since=5)
    asking.answer()
    assert asking.names() == [[("a", False)]]
    asking.ask("a", since=0, every=True)
    asking.answer()
    assert asking.names() == [[("a", True)]]


def test_a_question_has_no_more_clients_than_are_answered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_reads, "CLIENTS_AT_ONCE", 2)
    asking = Asking()
    for name in "abcd":
        asking.ask(name)
    asking.answer()
    assert asking.names() == [[("b", False), ("c", False)]]
    asking.answer()
    assert asking.names() == [[("d", False)]]


@pytest.mark.parametrize("code", [None, 14])
def test_a_question_that_fails_is_repeated_for_those_that_still_wait(code: int | None) -> None:
    asking = Asking()
    asking.ask("a")
    asking.ask("b")
    asking.waiting.discard(("/h", "a"))
    asking.fail(code)
    assert asking.names() == []
    asking.cluster[0].advance(RETRY_MS)
    assert asking.names() == [[("b", False)]]
    asking.waiting.clear()
    asking.fail(code)
    asking.cluster[0].advance(RETRY_MS)
    assert asking.names() == []


def test_silence_is_counted_from_the_first_question_without_an_answer() -> None:
    asking = Asking()
    assert asking.node.silent_ms == 0
    asking.ask("a")
    asking.pass_time(700)
    asking.fail()
    asking.pass_time(700)
    assert asking.node.silent_ms == 1400
    asking.answer()
    assert asking.node.silent_ms == 0


def test_what_was_told_is_void_when_groups_have_changed_but_not_the_answer_that_says_so() -> None:
    asking = Asking()
    for number, (life, changes) in enumerate([(1, 1), (1, 1), (1, 2), (2, 2)], start=1):
        asking.node.look()
        asking.answer(life=life, changes=changes)
        assert asking.node.changed == {1: 1, 2: 1, 3: 3, 4: 4}[number]


def test_all_groups_are_told_of_a_member() -> None:
    asking = Asking()
    asking.ask("a")
    asking.answer(groups=("g",))
    ((_, told),) = asking.told
    assert (told.every, told.groups) == (True, {"g": {}})
