"""The last fetch of a connection: the partitions that it reads."""

from __future__ import annotations

from dataclasses import dataclass

from broker.loop.last_fetch import LastFetch


@dataclass
class Named:
    name: str


@dataclass
class Item:
    topic: Named | None
    index: int


def test_a_fetch_reads_the_partitions_that_exist() -> None:
    fetch = LastFetch(1, "c", [Item(Named("t"), 0), Item(None, 1)])
    assert fetch.reads([("t", 0), ("u", 0)])
    assert not fetch.reads([("t", 1), ("u", 0)])
    assert not fetch.reads([])
