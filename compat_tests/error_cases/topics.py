"""Errors of the APIs that make, change and delete topics, their partitions and their configs."""

from __future__ import annotations

from typing import Any

from compat_tests.client_quotas import limit
from compat_tests.error_cases.case import Scene, Told, provokes
from compat_tests.topics import create_topic
from compat_tests.wire import raw_client
from protocol.error_codes import ErrorCode
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions


def created(scene: Scene, name: str, **fields: Any) -> Told:
    """Create a topic, and return what is said of it."""
    given: dict[str, Any] = {"num_partitions": -1, "replication_factor": -1, "assignments": [], "configs": []}
    request = CreateTopicsRequest(topics=[CreatableTopic(name=name, **(given | fields))], timeout_ms=10_000)
    topic = scene.call(request, 7).topics[0]
    return Told(topic.error_code, topic.error_message)


@provokes(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "quota")
def more_partitions_than_the_clients_quota(scene: Scene) -> Told:
    limit(scene.broker, "controller_mutation_rate", 0.1, client_id=scene.name)
    for name in (f"{scene.name}-many", f"{scene.name}-more"):
        new = CreatableTopic(name=name, num_partitions=10, replication_factor=1, assignments=[], configs=[])
        with raw_client(scene.broker) as raw:
            request = CreateTopicsRequest(topics=[new], timeout_ms=10_000)
            topic = raw.call(request, 7, client_id=scene.name).topics[0]
    return Told(topic.error_code, topic.error_message)


@provokes(ErrorCode.INVALID_TOPIC_EXCEPTION, "a b")
def name_with_a_blank(scene: Scene) -> Told:
    return created(scene, "a b")


@provokes(ErrorCode.TOPIC_ALREADY_EXISTS, "case-")
def name_that_is_taken(scene: Scene) -> Told:
    return created(scene, scene.topic())


@provokes(ErrorCode.INVALID_PARTITIONS, "0")
def no_partitions(scene: Scene) -> Told:
    return created(scene, scene.name, num_partitions=0)


@provokes(ErrorCode.INVALID_REPLICATION_FACTOR, "3")
def three_replicas_on_one_node(scene: Scene) -> Told:
    return created(scene, scene.name, replication_factor=3)


@provokes(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "5")
def replica_on_a_node_that_does_not_exist(scene: Scene) -> Told:
    assigned = CreatableReplicaAssignment(partition_index=0, broker_ids=[5])
    return created(scene, scene.name, assignments=[assigned])


@provokes(ErrorCode.INVALID_CONFIG, "retention.ms", "soon")
def config_that_is_no_number(scene: Scene) -> Told:
    return created(scene, scene.name, configs=[CreatableTopicConfig(name="retention.ms", value="soon")])


@provokes(ErrorCode.INVALID_REQUEST, "twice")
def topic_given_twice(scene: Scene) -> Told:
    fields: dict[str, Any] = {
        "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": [],
    }  # fmt: skip
    topics = [CreatableTopic(name="twice", **fields), CreatableTopic(name="twice", **fields)]
    topic = scene.call(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 7).topics[0]
    return Told(topic.error_code, f"twice {topic.error_message}")


@provokes(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable")
def deletion_that_is_not_allowed(scene: Scene) -> Told:
    broker = scene.start_broker(delete_topic_enable="false")
    create_topic(broker, "t")
    with raw_client(broker) as raw:
        topic = raw.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=10_000), 5).responses[0]
    return Told(topic.error_code, topic.error_message)


@provokes(ErrorCode.ELECTION_NOT_NEEDED, "case-")
def election_of_the_leader_that_leads(scene: Scene) -> Told:
    asked = TopicPartitions(topic=scene.topic(), partitions=[0])
    request = ElectLeadersRequest(topic_partitions=[asked], timeout_ms=10_000)
    part = scene.call(request, 2).replica_election_results[0].partition_result[0]
    return Told(part.error_code, f"case- {part.error_message}")


@provokes(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "case-")
def cancelling_what_was_not_begun(scene: Scene) -> Told:
    asked = ReassignableTopic(
        name=scene.topic(), partitions=[ReassignablePartition(partition_index=0, replicas=None)]
    )
    request = AlterPartitionReassignmentsRequest(timeout_ms=10_000, topics=[asked])
    part = scene.call(request, 0).responses[0].partitions[0]
    return Told(part.error_code, f"case- {part.error_message}")


@provokes(ErrorCode.LOG_DIR_NOT_FOUND)
def moving_to_a_directory_that_does_not_exist(scene: Scene) -> Told:
    asked = AlterReplicaLogDir(
        path="/nowhere", topics=[AlterReplicaLogDirTopic(name=scene.topic(), partitions=[0])]
    )
    answer = scene.call(AlterReplicaLogDirsRequest(dirs=[asked]), 2)
    return Told(answer.results[0].partitions[0].error_code)
