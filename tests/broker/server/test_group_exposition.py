"""The metrics of groups."""

from __future__ import annotations

from collections import Counter

from prometheus_client.core import Metric

from broker.coordinators.group_snapshot import GroupPartitionState, GroupSnapshot
from broker.server.group_exposition import group_families


def families(snapshot: GroupSnapshot) -> dict[str, Metric]:
    return {family.name: family for family in group_families(snapshot)}


def test_lag_is_told_in_records_and_in_seconds() -> None:
    rows = [GroupPartitionState("g", "t", 3, 40, 2, 1_500), GroupPartitionState("g", "t", 4, -1, 7, -1)]
    found = families(GroupSnapshot(partitions=rows))
    labels = {"group": "g", "topic": "t", "partition": "3"}
    assert [(sample.labels, sample.value) for sample in found["kawal_group_lag_seconds"].samples] == [
        (labels, 1.5)
    ]
    assert [sample.value for sample in found["kawal_group_lag_records"].samples] == [2, 7]
    assert [sample.value for sample in found["kawal_group_offset"].samples] == [40, -1]


def test_groups_are_counted_by_type_and_state() -> None:
    counts = Counter({"consumer:Stable": 2, "classic:Empty": 1, "members": 5, "rebalances": 9, "offsets": 4})
    found = families(GroupSnapshot(counts=counts, groups_left_out=3, held_partitions=6))
    assert [(sample.labels, sample.value) for sample in found["kawal_groups"].samples] == [
        ({"type": "classic", "state": "Empty"}, 1),
        ({"type": "consumer", "state": "Stable"}, 2),
    ]
    values = {name: metric.samples[0].value for name, metric in found.items() if metric.samples}
    assert values["kawal_group_members"] == 5
    assert values["kawal_group_rebalances"] == 9
    assert values["kawal_group_offsets"] == 4
    assert values["kawal_groups_without_metrics"] == 3
    assert values["kawal_retention_held_partitions"] == 6
