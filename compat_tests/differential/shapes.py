"""The lists of answers whose order means nothing, and those that hold topics of other sequences."""

from __future__ import annotations

from typing import Any, Final

SORTED: Final[dict[str, tuple[str, ...]]] = {
    "TopicProduceResponse": ("name", "topic_id"),
    "PartitionProduceResponse": ("index",),
    "FetchableTopicResponse": ("topic", "topic_id"),
    "PartitionData": ("partition_index",),
    "ListOffsetsTopicResponse": ("name",),
    "ListOffsetsPartitionResponse": ("partition_index",),
    "MetadataResponseBroker": ("node_id",),
    "DescribeClusterBroker": ("broker_id",),
    "NodeEndpoint": ("node_id",),
    "MetadataResponseTopic": ("name", "topic_id"),
    "MetadataResponsePartition": ("partition_index",),
    "CreatableTopicResult": ("name",),
    "DeletableTopicResult": ("name", "topic_id"),
    "CreatePartitionsTopicResult": ("name",),
    "DeleteRecordsTopicResult": ("name",),
    "DeleteRecordsPartitionResult": ("partition_index",),
    "ReplicaElectionResult": ("topic",),
    "PartitionResult": ("partition_id",),
    "DescribeLogDirsTopic": ("name",),
    "DescribeLogDirsPartition": ("partition_index",),
    "AlterReplicaLogDirTopicResult": ("topic_name",),
    "AlterReplicaLogDirPartitionResult": ("partition_index",),
    "ConfigResource": ("resource_type", "resource_name"),
    "OngoingTopicReassignment": ("name",),
    "ReassignableTopicResponse": ("name",),
    "ReassignablePartitionResponse": ("partition_index",),
    "TopicResponse": ("name",),
    "PartitionResponse": ("partition_index",),
    "AlterConfigsResourceResponse": ("resource_type", "resource_name"),
    "OffsetCommitResponseTopic": ("name", "topic_id"),
    "OffsetCommitResponsePartition": ("partition_index",),
    "OffsetDeleteResponseTopic": ("name",),
    "OffsetDeleteResponsePartition": ("partition_index",),
    "OffsetFetchResponseTopic": ("name",),
    "OffsetFetchResponsePartition": ("partition_index",),
    "OffsetFetchResponseTopics": ("name", "topic_id"),
    "OffsetFetchResponsePartitions": ("partition_index",),
    "DeletableGroupResult": ("group_id",),
    "ListedGroup": ("group_id",),
    "DescribedGroup": ("group_id",),
    "AddPartitionsToTxnTopicResult": ("name",),
    "AddPartitionsToTxnPartitionResult": ("partition_index",),
    "WritableTxnMarkerTopicResult": ("name",),
    "WritableTxnMarkerPartitionResult": ("partition_index",),
    "TransactionState": ("transactional_id",),
    "TopicData": ("topic",),
    "TxnOffsetCommitResponseTopic": ("name",),
    "TxnOffsetCommitResponsePartition": ("partition_index",),
    "UpdatableFeatureResult": ("feature",),
    "AlterUserScramCredentialsResult": ("user",),
    "DescribeUserScramCredentialsResult": ("user",),
    "CredentialInfo": ("mechanism",),
    "EntityData": ("entity_type",),
    "EntryData": ("entity",),
    "ResponseEntryData": ("entity",),
    "ValueData": ("key",),
    "SupportedFeatureKey": ("name",),
    "FinalizedFeatureKey": ("name",),
}
"""Structs that Kafka answers in the order of a hash table, and the fields by which they are sorted.

Fetch is among them because Kafka puts what it could not find after what it read. DescribeTopicPartitions is
not: its order is part of its cursor's meaning.
"""

MERGED: Final = {
    "FetchableTopicResponse": "partitions",
    "ListOffsetsTopicResponse": "partitions",
    "TopicProduceResponse": "partition_responses",
    "AlterReplicaLogDirTopicResult": "partitions",
    "OffsetCommitResponseTopic": "partitions",
    "OffsetDeleteResponseTopic": "partitions",
    "OffsetFetchResponseTopic": "partitions",
    "OffsetFetchResponseTopics": "partitions",
}
"""Structs of which there may be several with one name, as the request has them: where their elements are."""

LISTING: Final = {
    "MetadataResponseTopic": "name",
    "DescribeLogDirsTopic": "name",
    "ReplicaElectionResult": "topic",
    "ConfigResource": "resource_name",
    "ListedGroup": "group_id",
    "DescribeUserScramCredentialsResult": "user",
    "EntryData": "entity",
}
"""Structs of which a broker may list all it has: by this field those of other sequences are left out."""


def in_order(items: list[Any], cls: str) -> list[Any]:
    """Return the plain structs of a class in an order that is the same on every broker."""
    keys = SORTED.get(cls)
    if not keys:
        return items
    items = sorted(items, key=lambda item: ([str(item.get(key, "")).zfill(12) for key in keys], repr(item)))
    inner = MERGED.get(cls)
    return items if inner is None else _merged(items, keys, inner)


def _merged(items: list[Any], keys: tuple[str, ...], inner: str) -> list[Any]:
    """Put the elements of neighbours with the same keys together; leave out those without elements."""
    found: list[Any] = []
    for item in items:
        if found and all(found[-1].get(key) == item.get(key) for key in keys):
            found[-1][inner] += item[inner]
        elif item[inner]:
            found.append(item)
    for item in found:
        item[inner].sort(key=lambda part: (part.get("index", part.get("partition_index", 0)), repr(part)))
    return found
