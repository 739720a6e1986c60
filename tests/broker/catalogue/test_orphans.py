"""Streams without a topic are found and told. Adoption is tested in tests/broker/test_catalogue_damage.py."""

from __future__ import annotations

import pytest

from broker.catalogue.orphans import runs_text, unowned
from broker.errors import RequestError
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([], ""), ([3], "3"), ([1, 2, 3, 7, 9, 10], "1-3, 7, 9-10"), (list(range(0, 40, 2)), None)],
)
def test_numbers_are_shown_as_runs(numbers: list[int], text: str | None) -> None:
    if text is None:
        assert runs_text(numbers) == "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, ..."
    else:
        assert runs_text(numbers) == text


def test_streams_of_topics_are_not_unowned() -> None:
    gateway = Gateway(kawal_vnodes=2)
    create(gateway.client(), "t", 2)
    send(gateway.client(), "t", batch(b"a"))
    gateway.broker.vnodes["default"][1].log.append(50, batch(b"b"))
    found = unowned(gateway.broker.catalogue, gateway.broker.vnodes)
    assert [(orphan.vnode.index, orphan.stream_id) for orphan in found] == [(1, 50)]


def test_streams_on_vnodes_that_no_topic_would_place_them_on_are_not_adopted_together() -> None:
    gateway = Gateway(kawal_vnodes=2)
    for stream_id in (50, 51):
        gateway.broker.vnodes["default"][0].log.append(stream_id, batch(b"a"))
    gateway.settle()
    gateway.restart()
    with pytest.raises(RequestError, match=r"they begin at vnodes \[0, 1\]"):
        gateway.broker.topics.adopt("t", database="default", first=50, last=51, now_ms=0)
