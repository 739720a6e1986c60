"""Items and connections for the tests of fetch sessions."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from uuid import UUID

from broker.fetching.fetch_items import FetchItem, PartitionKey


@dataclass(frozen=True)
class Origin:
    """The connection that a fetch comes on."""

    identity: int = 1
    host: str = "10.0.0.9"


def items_of(count: int) -> OrderedDict[PartitionKey, FetchItem]:
    """Return items of this many partitions, with numbers that no two objects share."""
    items: OrderedDict[PartitionKey, FetchItem] = OrderedDict()
    for index in range(1_000, 1_000 + count):
        item = FetchItem("topic", UUID(int=0), index, by_id=False)
        item.fetch_offset, item.max_bytes = 10**9 + index, 10**6 + index
        items["topic", index] = item
    return items
