"""Asking the other nodes for their part: one request at a time, and no answer before its catalogue."""

from __future__ import annotations

from typing import Any

from broker.catalogue.followed_log import FollowedLog
from broker.upkeep.asked_nodes import AskedNodes, catalogue_version
from protocol.messages.kawal_storage import KawalStorageRequest, KawalStorageResponse
from tests.broker.cluster import Cluster


class Peers:
    """The way to the others, on which the test answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, Any]] = []

    def call(self, node_id: int, _request: Any, _version: int, done: Any) -> None:
        self.asked.append((node_id, done))

    def answer(self, **fields: Any) -> None:
        """Answer the first request."""
        _, done = self.asked.pop(0)
        done(KawalStorageResponse(logs=[], **fields) if fields else None)


def asking(number: int) -> tuple[AskedNodes, Peers, list[int], Any]:
    cluster = Cluster(3)
    broker, peers, taken = cluster[number].broker, Peers(), list[int]()
    broker.nodes.peers = peers
    nodes = AskedNodes(
        broker,
        broker,
        lambda _node_id: KawalStorageRequest(known=[]),
        lambda node_id, _answer: taken.append(node_id),
    )
    return nodes, peers, taken, broker


def test_each_other_node_is_asked_and_not_again_before_it_has_answered() -> None:
    nodes, peers, taken, _ = asking(0)
    nodes.ask()
    nodes.ask()
    assert [node_id for node_id, _ in peers.asked] == [1, 2]
    peers.answer(catalogue_version=0)
    nodes.ask()
    assert [node_id for node_id, _ in peers.asked] == [2, 1]
    assert taken == [1]


def test_a_node_that_does_not_answer_is_asked_when_it_is_its_turn_again() -> None:
    nodes, peers, taken, _ = asking(0)
    nodes.ask()
    peers.answer()
    peers.answer(error_code=31, catalogue_version=0)
    nodes.ask()
    assert [node_id for node_id, _ in peers.asked] == [1, 2]
    assert taken == []


def test_a_node_that_has_more_is_asked_at_once() -> None:
    nodes, peers, _, _ = asking(0)
    nodes.ask()
    peers.answer(catalogue_version=0, has_more=True)
    assert [node_id for node_id, _ in peers.asked] == [2, 1]


def test_an_answer_waits_until_this_node_knows_the_catalogue_as_the_other_did() -> None:
    nodes, peers, taken, broker = asking(1)
    nodes.ask()
    log = broker.metadata_log
    assert isinstance(log, FollowedLog)
    version = catalogue_version(broker, 0)
    peers.answer(catalogue_version=version + 1)
    assert taken == []
    log.reached(version + 1)
    assert taken == [0]
