"""The answers that refuse a whole request: each API has its own form for an error that concerns all of it.

Source: `getErrorResponse` of Kafka's request classes.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages import response_type
from protocol.schema import ZERO_UUID

Refusal = Callable[[Any, Any, ErrorCode, str], Any]
"""Makes the response, given the class of the response, the request, the error and its sentence."""


def refusal(api_key: int, request: Any, code: ErrorCode, message: str) -> object:
    """Return the response that refuses all of a request."""
    key = ApiKey(api_key)
    return _REFUSALS.get(key, _by_code)(response_type(key), request, code, message)


def _by_code(response: Any, _request: Any, code: ErrorCode, _message: str) -> Any:
    return response(error_code=code)


def _parts(api: str) -> Any:
    return import_module(f"protocol.messages.{api}")


def _create_acls(response: Any, request: Any, code: ErrorCode, message: str) -> Any:
    made = _parts("create_acls").AclCreationResult
    return response(results=[made(error_code=code, error_message=message) for _ in request.creations])


def _delete_acls(response: Any, request: Any, code: ErrorCode, message: str) -> Any:
    made = _parts("delete_acls").DeleteAclsFilterResult
    return response(
        filter_results=[
            made(error_code=code, error_message=message, matching_acls=[]) for _ in request.filters
        ]
    )


def _alter_replica_log_dirs(response: Any, request: Any, code: ErrorCode, _message: str) -> Any:
    parts = _parts("alter_replica_log_dirs")
    return response(
        results=[
            parts.AlterReplicaLogDirTopicResult(
                topic_name=topic.name,
                partitions=[
                    parts.AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code)
                    for index in topic.partitions
                ],
            )
            for directory in request.dirs
            for topic in directory.topics
        ]
    )


def _delete_groups(response: Any, request: Any, code: ErrorCode, _message: str) -> Any:
    made = _parts("delete_groups").DeletableGroupResult
    return response(results=[made(group_id=name, error_code=code) for name in request.groups_names])


def _delete_records(response: Any, request: Any, code: ErrorCode, _message: str) -> Any:
    parts = _parts("delete_records")
    return response(
        topics=[
            parts.DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    parts.DeleteRecordsPartitionResult(
                        partition_index=item.partition_index, low_watermark=-1, error_code=code
                    )
                    for item in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _write_txn_markers(response: Any, request: Any, code: ErrorCode, _message: str) -> Any:
    parts = _parts("write_txn_markers")
    return response(
        markers=[
            parts.WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    parts.WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            parts.WritableTxnMarkerPartitionResult(partition_index=index, error_code=code)
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


def _alter_scram(response: Any, request: Any, code: ErrorCode, message: str) -> Any:
    made = _parts("alter_user_scram_credentials").AlterUserScramCredentialsResult
    users = dict.fromkeys(item.name for item in (*request.deletions, *request.upsertions))
    return response(results=[made(user=user, error_code=code, error_message=message) for user in users])


def _create_topics(response: Any, request: Any, code: ErrorCode, message: str) -> Any:
    made = _parts("create_topics").CreatableTopicResult
    names = dict.fromkeys(topic.name for topic in request.topics)
    return response(
        topics=[made(name=name, error_code=code, error_message=message, configs=[]) for name in names]
    )


def _create_partitions(response: Any, request: Any, code: ErrorCode, message: str) -> Any:
    made = _parts("create_partitions").CreatePartitionsTopicResult
    names = dict.fromkeys(topic.name for topic in request.topics)
    return response(results=[made(name=name, error_code=code, error_message=message) for name in names])


def _delete_topics(response: Any, request: Any, code: ErrorCode, message: str) -> Any:
    made = _parts("delete_topics").DeletableTopicResult
    named = [(item.name, item.topic_id) for item in request.topics]
    named += [(name, ZERO_UUID) for name in request.topic_names]
    return response(
        responses=[
            made(name=name, topic_id=topic_id, error_code=code, error_message=message)
            for name, topic_id in dict.fromkeys(named)
        ]
    )


def _alter_quotas(response: Any, request: Any, code: ErrorCode, message: str) -> Any:
    made = _parts("alter_client_quotas").ResponseEntryData
    return response(
        entries=[made(error_code=code, error_message=message, entity=item.entity) for item in request.entries]
    )


def _alter_configs(api: str) -> Refusal:
    def make(response: Any, request: Any, code: ErrorCode, message: str) -> Any:
        made = _parts(api).AlterConfigsResourceResponse
        return response(
            responses=[
                made(
                    error_code=code,
                    error_message=message,
                    resource_type=item.resource_type,
                    resource_name=item.resource_name,
                )
                for item in request.resources
            ]
        )

    return make


def _offset_commit(response: Any, request: Any, code: ErrorCode, _message: str) -> Any:
    parts = _parts("offset_commit")
    return response(
        topics=[
            parts.OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    parts.OffsetCommitResponsePartition(partition_index=item.partition_index, error_code=code)
                    for item in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _txn_offset_commit(response: Any, request: Any, code: ErrorCode, _message: str) -> Any:
    parts = _parts("txn_offset_commit")
    return response(
        topics=[
            parts.TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    parts.TxnOffsetCommitResponsePartition(
                        partition_index=item.partition_index, error_code=code
                    )
                    for item in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _add_partitions(response: Any, request: Any, code: ErrorCode, _message: str) -> Any:
    parts = _parts("add_partitions_to_txn")
    return response(
        results_by_topic_v3_and_below=[
            parts.AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    parts.AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
                    for index in topic.partitions
                ],
            )
            for topic in request.v3_and_below_topics
        ]
    )


def _databases(response: Any, request: Any, code: ErrorCode, message: str) -> Any:
    made = _parts("kawal_databases").DatabaseResult
    names = [item.name for item in request.databases] if request.databases else [""]
    return response(
        databases=[
            made(name=name, error_code=code, error_message=message, settings=[], vnode_states=[])
            for name in names
        ]
    )


def _topics(response: Any, request: Any, code: ErrorCode, message: str) -> Any:
    made = _parts("kawal_topics").TopicResult
    names = [item.name for item in request.topics] if request.topics else [""]
    return response(topics=[made(name=name, error_code=code, error_message=message) for name in names])


def _with(*, told: bool = False, **empty: Any) -> Refusal:
    """Return a maker of responses with the code at the top and these other fields; `told`: and a sentence."""

    def make(response: Any, _request: Any, code: ErrorCode, message: str) -> Any:
        fields: dict[str, Any] = {name: value() for name, value in empty.items()}
        if told:
            fields["error_message"] = message
        return response(error_code=code, **fields)

    return make


def _join_group(response: Any, request: Any, code: ErrorCode, _message: str) -> Any:
    return response(error_code=code, protocol_name="", leader="", member_id=request.member_id, members=[])


def _create_token(response: Any, _request: Any, code: ErrorCode, _message: str) -> Any:
    texts = dict.fromkeys(("principal_type", "principal_name", "token_id"), "")
    times = dict.fromkeys(("issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms"), -1)
    return response(error_code=code, hmac=b"", **texts, **times)


_REFUSALS: Final[dict[ApiKey, Refusal]] = {
    ApiKey.DESCRIBE_ACLS: _with(told=True, resources=list),
    ApiKey.CREATE_ACLS: _create_acls,
    ApiKey.DELETE_ACLS: _delete_acls,
    ApiKey.ALTER_REPLICA_LOG_DIRS: _alter_replica_log_dirs,
    ApiKey.DESCRIBE_LOG_DIRS: _with(results=list),
    ApiKey.ELECT_LEADERS: _with(replica_election_results=list),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _with(told=True, responses=list),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _with(told=True, topics=list),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _with(told=True),
    ApiKey.ALTER_CLIENT_QUOTAS: _alter_quotas,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _with(told=True, results=list),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_scram,
    ApiKey.CREATE_DELEGATION_TOKEN: _create_token,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: _with(tokens=list),
    ApiKey.DESCRIBE_QUORUM: _with(told=True, topics=list),
    ApiKey.UPDATE_FEATURES: _with(told=True),
    ApiKey.LIST_CONFIG_RESOURCES: _with(config_resources=list),
    ApiKey.DELETE_GROUPS: _delete_groups,
    ApiKey.DELETE_RECORDS: _delete_records,
    ApiKey.WRITE_TXN_MARKERS: _write_txn_markers,
    ApiKey.ALTER_CONFIGS: _alter_configs("alter_configs"),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _alter_configs("incremental_alter_configs"),
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.CREATE_PARTITIONS: _create_partitions,
    ApiKey.DELETE_TOPICS: _delete_topics,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.TXN_OFFSET_COMMIT: _txn_offset_commit,
    ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions,
    ApiKey.INIT_PRODUCER_ID: _with(producer_epoch=lambda: -1),
    ApiKey.JOIN_GROUP: _join_group,
    ApiKey.SYNC_GROUP: _with(assignment=bytes),
    ApiKey.OFFSET_DELETE: _with(topics=list),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _with(
        told=True, member_epoch=lambda: 0, heartbeat_interval_ms=lambda: 0
    ),
    ApiKey.SHARE_GROUP_HEARTBEAT: _with(member_epoch=lambda: 0, heartbeat_interval_ms=lambda: 0),
    ApiKey.SHARE_FETCH: _with(acquisition_lock_timeout_ms=lambda: 0, responses=list, node_endpoints=list),
    ApiKey.SHARE_ACKNOWLEDGE: _with(responses=list, node_endpoints=list),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _with(told=True, responses=list),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _with(told=True, responses=list),
    ApiKey.KAWAL_DATABASES: _databases,
    ApiKey.KAWAL_GROUPS: _with(told=True, consumers=list, subscriptions=list),
    ApiKey.KAWAL_CONNECTIONS: _with(told=True, connections=list),
    ApiKey.KAWAL_TOPICS: _topics,
    ApiKey.KAWAL_PRODUCERS: _with(told=True, producers=list),
    ApiKey.KAWAL_MESSAGES: _with(told=True, messages=list),
    ApiKey.KAWAL_QUEUES: _with(told=True, groups=list),
    ApiKey.KAWAL_QUEUE_CHANGES: _with(told=True, topics=list),
    ApiKey.KAWAL_FOLLOW: _with(records=list),
    ApiKey.KAWAL_SHARE_RECORDS: _with(records=list),
    ApiKey.KAWAL_SHARE_STATES: _with(topics=list),
    ApiKey.KAWAL_GREET: _with(),
    ApiKey.KAWAL_AUDIT: _with(),
    ApiKey.KAWAL_STORAGE: _with(logs=list),
    ApiKey.KAWAL_LEDGERS: _with(partitions=list),
    ApiKey.KAWAL_POLLS: _with(ages_ms=list),
    ApiKey.KAWAL_PROGRESS: _with(groups=list, progress=list),
    ApiKey.KAWAL_READS: _with(clients=list),
}
