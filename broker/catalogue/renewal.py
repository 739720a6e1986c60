"""The partitions that take the keys of a topic whose records were placed by its clients so far.

With kawal.partition.autosplit.mode the server begins to choose the partition of a key. Where the earlier
records of a key are is not known: that was up to the hash of each client. So each partition gets a successor,
and groups get successors when they have read all that was there before (groups/split_gates.py).

All successors lie on one vnode, as one batch may have to be stored in several of them at once. A partition
that lies on another one is closed: what is sent to it is stored in successors (broker/storage/closed.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from broker.catalogue.catalogue_records import PartitionsAdded, PartitionsRenewed
from broker.catalogue.guards import check_room
from broker.catalogue.split_rules import check_ends, splits, vnodes_of
from broker.config.split_keys import BARRIER_KEY

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.catalogue.topic import Topic


def renewal_of(
    metadata: Metadata, topic: Topic, after: Mapping[str, str], wall_ms: int
) -> PartitionsRenewed | None:
    """Return the record that renews a topic's partitions and gives it these settings, if they ask for that.

    Its cuts are the present ends. None: the settings alone are to be recorded.
    Raises: RequestError(POLICY_VIOLATION), if there is no room for as many partitions more.
    """
    if splits(topic.configs) or not splits(after) or after.get(BARRIER_KEY.name) == "false":
        return None
    count = topic.planned_count
    partitions = [metadata.topics.partition(topic, index) for index in range(count)]
    is_empty = all(each.log_start == each.log_end for each in partitions)
    if count == 1 or (is_empty and len(vnodes_of(topic)) == 1):
        return None
    check_ends(partitions)
    catalogue = metadata.catalogue
    check_room(count, topic.database, catalogue, metadata.config)
    growth = PartitionsAdded(
        topic_id=topic.topic_id.hex,
        first_stream=catalogue.next_stream,
        count=count,
        first_partition=count,
        vnode_count=catalogue.databases[topic.database].spread,
    )
    return PartitionsRenewed(
        topic_id=topic.topic_id.hex,
        growth=growth,
        cuts=tuple(each.log_end for each in partitions),
        at_ms=wall_ms,
        epoch=1 + max(each.leader_epoch(metadata.topics.leader_epoch) for each in partitions),
        configs=dict(after),
    )
