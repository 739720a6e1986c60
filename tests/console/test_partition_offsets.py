"""Offsets of partitions, asked of their leaders."""

from __future__ import annotations

import pytest

from console.errors import CommandError
from console.partition_offsets import extents_of, leaders_of, offsets_at, offsets_of
from console.positions import Extent, Position, PositionKind, parse_position
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send

PLACE = ("t", 0)


@pytest.fixture
def filled(gateway: Gateway) -> Gateway:
    client = gateway.client()
    create(client, "t", 2)
    for timestamp_ms in (1_000, 2_000, 3_000):
        send(client, "t", batch(b"v", timestamp_ms=timestamp_ms))
    return gateway


def test_leaders_extents_and_times(filled: Gateway) -> None:
    leaders = leaders_of("h:1", ["t", "t"])
    assert set(leaders) == {("t", 0), ("t", 1)}
    assert extents_of(leaders, [PLACE]) == {PLACE: Extent(0, 3)}
    assert offsets_at(leaders, [PLACE, ("t", 1)], 1_500) == {PLACE: 1, ("t", 1): -1}
    assert leaders_of("h:1", []) == {}


@pytest.mark.parametrize(
    ("text", "offset"),
    [("earliest", 0), ("latest", 3), ("2", 2), ("9", 3), ("-1", 2), ("-9", 0), ("@2000", 1), ("@9000", 3)],
)
def test_a_position_is_an_offset_that_the_partition_holds(filled: Gateway, text: str, offset: int) -> None:
    position = parse_position(text, "--to")
    assert offsets_of(leaders_of("h:1", ["t"]), [PLACE], position) == {PLACE: offset}


def test_unknown_topics_and_partitions_are_named(filled: Gateway) -> None:
    with pytest.raises(CommandError, match="topic 'other'"):
        leaders_of("h:1", ["other"])
    with pytest.raises(CommandError, match="partition 7 of 't' does not exist"):
        offsets_of(leaders_of("h:1", ["t"]), [("t", 7)], Position(PositionKind.LATEST))
