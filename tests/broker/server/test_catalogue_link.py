"""A worker has the controller's catalogue, follows it, and ends if it cannot."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from broker.catalogue.nodes import Nodes
from broker.server.catalogue_link import CatalogueLink
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_follow import KawalFollowResponse
from tests.broker.cluster import Cluster
from tests.broker.kit import create


class Asked:
    """The controller of a cluster, as a worker's links reach it, and the questions that wait."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.waiting: list[tuple[Any, Callable[[Any], None]]] = []

    def ask(self, node_id: int, request: object, version: int) -> Any:
        assert node_id == 0
        return self._cluster.ask(0, request, version)

    def call(self, node_id: int, request: Any, version: int, done: Callable[[Any | None], None]) -> None:
        self.waiting.append((request, done))


def linked(cluster: Cluster, ends: list[str]) -> tuple[CatalogueLink, Asked]:
    asked = Asked(cluster)
    nodes = Nodes(1, number=1, count=2, peers=asked)
    return CatalogueLink(nodes, asked, lambda: ends.append("end")), asked


def test_the_catalogue_of_the_start_is_the_whole_one() -> None:
    cluster = Cluster(2)
    create(cluster[0].client(), "before")
    link, _ = linked(cluster, [])
    assert any(b"before" in record for record in link.records)


def test_it_goes_on_where_the_start_has_ended() -> None:
    cluster = Cluster(2)
    create(cluster[0].client(), "before")
    link, asked = linked(cluster, [])
    following = link.begin(cluster[1].broker)
    ((request, _),) = asked.waiting
    assert request.version == following.version > 0
    assert not link.records


def test_a_worker_that_cannot_follow_says_why_and_ends(caplog: pytest.LogCaptureFixture) -> None:
    cluster, ends = Cluster(2), list[str]()
    link, asked = linked(cluster, ends)
    link.begin(cluster[1].broker)
    _, done = asked.waiting.pop()
    with caplog.at_level(logging.ERROR):
        done(KawalFollowResponse(error_code=ErrorCode.OFFSET_OUT_OF_RANGE, records=[]))
    assert ends == ["end"]
    assert "has no version" in caplog.text
