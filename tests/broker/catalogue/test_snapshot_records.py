"""The kept records are as few as the things that exist; test_topics.py has the replay of them."""

from __future__ import annotations

from broker.catalogue.catalogue_records import (
    BrokerConfigs,
    GroupConfigs,
    PartitionsAdded,
    ScramCredentials,
    TopicConfigs,
    TopicCreated,
    TopicDeleted,
)
from broker.catalogue.snapshot_records import SnapshotRecords

TOPIC = TopicCreated(
    name="t",
    topic_id="1" * 32,
    database="default",
    first_stream=1,
    partition_count=2,
    first_vnode=0,
    created_ms=0,
)


def test_only_the_last_setting_of_each_thing_is_kept() -> None:
    records = SnapshotRecords()
    records.apply(TOPIC)
    for number in range(9):
        records.apply(TopicConfigs(topic_id=TOPIC.topic_id, configs={"retention.ms": str(number)}))
        records.apply(GroupConfigs(group="g", configs={"k": str(number)}))
    records.apply(PartitionsAdded(topic_id=TOPIC.topic_id, first_stream=3, count=1))
    topic, grown, group = records.all()
    assert topic.configs == {"retention.ms": "8"}  # type: ignore[union-attr]
    assert isinstance(grown, PartitionsAdded)
    assert group == GroupConfigs(group="g", configs={"k": "8"})


def test_nothing_is_kept_of_what_was_deleted() -> None:
    records = SnapshotRecords()
    records.apply(TOPIC)
    records.apply(BrokerConfigs(broker_id="1", configs={"k": "v"}))
    records.apply(ScramCredentials(user="u", credentials={"m": "c"}))
    records.apply(TopicDeleted(topic_id=TOPIC.topic_id))
    records.apply(BrokerConfigs(broker_id="1", configs={}))
    records.apply(ScramCredentials(user="u", credentials={}))
    assert records.all() == []
