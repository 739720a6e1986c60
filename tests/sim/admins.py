"""The administrator of the simulation: it makes, grows, lists and deletes topics, and asks for offsets."""

from __future__ import annotations

from random import Random
from typing import Any

from protocol.error_codes import ErrorCode
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.sim.actors import Actor
from tests.sim.history import SHORT_LIVED, VIEW, History
from tests.sim.world import World

RETENTION = {"retention.bytes": "4000", "internal.segment.bytes": "2000"}
"""Topic configs under which retention deletes something soon."""


class Admin(Actor):
    """An administrator that never uses a name twice, so that a name stands for one topic id."""

    def __init__(self, world: World, history: History, chance: Random, name: str) -> None:
        super().__init__(world, history, chance, name)
        self._names = 0

    def step(self) -> str:
        """Do one of its duties."""
        live = self.history.live_topics()
        if not live or self.chance.random() < 0.1:
            return self.create()
        duty = self.chance.choice(
            (self._list, self._list, self._offsets, self._grow, self._delete, self._auto)
        )
        return duty()

    def _new_name(self) -> str:
        self._names += 1
        return f"{self.name}-{self._names}"

    def create(self) -> str:
        """Make a topic, whose records may be short-lived."""
        deletes = self.chance.random() < 0.3
        name = self._new_name() + (SHORT_LIVED if deletes else "")
        # No value of these simulations is an object, so none fits.
        configs = {"kawal.columns": "a int", **(RETENTION if deletes else {})}
        topic = CreatableTopic(
            name=name,
            num_partitions=self.chance.randint(1, 3),
            replication_factor=1,
            assignments=[],
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
        )

        def done(answer: Any) -> None:
            if answer is None or answer.topics[0].error_code:
                return
            made = answer.topics[0]
            self.history.saw_topic(made.topic_id, name, topic.num_partitions)

        self.open_link.send(CreateTopicsRequest(topics=[topic]), 7, done)
        return f"creates {name}"

    def _auto(self) -> str:
        name = self._new_name()

        def done(answer: Any) -> None:
            if answer is not None and not answer.topics[0].error_code:
                made = answer.topics[0]
                self.history.saw_topic(made.topic_id, name, len(made.partitions))

        topic = MetadataRequestTopic(name=name)
        self.open_link.send(MetadataRequest(topics=[topic], allow_auto_topic_creation=True), 12, done)
        return f"asks for {name}"

    def _list(self) -> str:
        def done(answer: Any) -> None:
            if answer is None:
                return
            for topic in answer.topics:
                if not topic.name.startswith(VIEW):
                    self.history.saw_topic(topic.topic_id, topic.name, len(topic.partitions))

        self.open_link.send(MetadataRequest(topics=None), 12, done)
        return "lists topics"

    def _grow(self) -> str:
        topic_id, facts = self.chance.choice(self.history.live_topics())
        count = facts.partition_count + 1

        def done(answer: Any) -> None:
            if answer is not None and not answer.results[0].error_code:
                self.history.saw_topic(topic_id, facts.name, count)

        topic = CreatePartitionsTopic(name=facts.name, count=count, assignments=None)
        request = CreatePartitionsRequest(topics=[topic], timeout_ms=1000, validate_only=False)
        self.open_link.send(request, 3, done)
        return f"grows {facts.name} to {count}"

    def _delete(self) -> str:
        topic_id, facts = self.chance.choice(self.history.live_topics())
        facts.deletion_asked = True

        def done(answer: Any) -> None:
            if answer is not None and not answer.responses[0].error_code:
                facts.deletion_done = True

        request = DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=topic_id)], timeout_ms=1000)
        self.open_link.send(request, 6, done)
        return f"deletes {facts.name}"

    def _offsets(self) -> str:
        topic_id, facts = self.chance.choice(self.history.live_topics())
        index = self.chance.randrange(max(1, facts.partition_count))
        marks = self.history.marks_of(topic_id, index)
        earliest = marks.log_start

        def done(answer: Any) -> None:
            if answer is None:
                return
            (found,) = answer.topics[0].partitions
            if found.error_code:
                assert facts.deletion_asked or found.error_code == ErrorCode.KAFKA_STORAGE_ERROR, found
            else:
                assert earliest <= found.offset <= marks.high_watermark, found

        timestamp = self.chance.choice((-1, -2))
        asked = ListOffsetsPartition(partition_index=index, timestamp=timestamp)
        request = ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsTopic(name=facts.name, partitions=[asked])]
        )
        self.open_link.send(request, 9, done)
        return f"asks offsets of {facts.name}-{index}"

    def _short_lived(self) -> tuple[Any, Any] | None:
        found = [
            (key, facts) for key, facts in self.history.live_topics() if facts.name.endswith(SHORT_LIVED)
        ]
        return self.chance.choice(found) if found else None

    def _delete_records(self) -> str:
        found = self._short_lived()
        if found is None:
            return "has nothing to cut"
        topic_id, facts = found
        index = self.chance.randrange(max(1, facts.partition_count))
        marks = self.history.marks_of(topic_id, index)
        offset = self.chance.choice((-1, marks.log_start, marks.high_watermark, marks.high_watermark // 2))

        def done(answer: Any) -> None:
            if answer is None:
                return
            (cut,) = answer.topics[0].partitions
            if not cut.error_code:
                assert max(offset, 0) <= cut.low_watermark <= marks.log_start, (cut, offset, marks)
            elif cut.error_code != ErrorCode.KAFKA_STORAGE_ERROR:
                assert facts.deletion_asked, cut

        partition = DeleteRecordsPartition(partition_index=index, offset=offset)
        topic = DeleteRecordsTopic(name=facts.name, partitions=[partition])
        self.open_link.send(DeleteRecordsRequest(topics=[topic], timeout_ms=1000), 2, done)
        return f"cuts {facts.name}-{index} at {offset}"

    def _configure(self) -> str:
        found = self._short_lived()
        if found is None:
            return "has nothing to configure"
        _, facts = found
        value = self.chance.choice(("4000", "20000", "0"))

        def done(answer: Any) -> None:
            if answer is not None and answer.responses[0].error_code:
                code = answer.responses[0].error_code
                assert facts.deletion_asked or code == ErrorCode.KAFKA_STORAGE_ERROR, answer

        config = AlterableConfig(name="retention.bytes", config_operation=0, value=value)
        resource = AlterConfigsResource(resource_type=2, resource_name=facts.name, configs=[config])
        self.open_link.send(
            IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1, done
        )
        return f"configures {facts.name}"
