"""The longer requests of tests/broker/access_cases.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protocol.messages import (
    add_partitions_to_txn,
    alter_configs,
    alter_replica_log_dirs,
    delete_records,
    describe_configs,
    incremental_alter_configs,
    kawal_databases,
    list_offsets,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    txn_offset_commit,
    write_txn_markers,
)
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS
from tests.broker.kit import creation, producing


def resource(kind: int, name: str) -> dict[str, Any]:
    """Return a request or a part of one: configs."""
    return {"resource_type": kind, "resource_name": name}


def describing(kind: int, name: str) -> Callable[[], Any]:
    """Return a function that makes a request or a part of one: describing."""
    return lambda: describe_configs.DescribeConfigsRequest(
        resources=[describe_configs.DescribeConfigsResource(**resource(kind, name), configuration_keys=["x"])]
    )


def altering(kind: int, name: str, **lines: str) -> Callable[[], Any]:
    """Return a function that makes a request or a part of one: altering."""
    configs = [
        alter_configs.AlterableConfig(name=key.replace("_", "."), value=value) for key, value in lines.items()
    ]
    return lambda: alter_configs.AlterConfigsRequest(
        resources=[alter_configs.AlterConfigsResource(**resource(kind, name), configs=configs)],
        validate_only=True,
    )


def altering_some(kind: int, name: str, **lines: str) -> Callable[[], Any]:
    """Return a function that makes a request or a part of one: altering some."""
    configs = [
        incremental_alter_configs.AlterableConfig(name=key.replace("_", "."), config_operation=0, value=value)
        for key, value in lines.items()
    ]
    return lambda: incremental_alter_configs.IncrementalAlterConfigsRequest(
        resources=[incremental_alter_configs.AlterConfigsResource(**resource(kind, name), configs=configs)],
        validate_only=True,
    )


def database(action: int) -> Callable[[], Any]:
    """Return a function that makes a request or a part of one: database."""
    item = kawal_databases.DatabaseItem(name="default", settings=[])
    return lambda: kawal_databases.KawalDatabasesRequest(action=action, databases=[item], validate_only=True)


def offsets() -> Any:
    """Return a request or a part of one: offsets."""
    partition = list_offsets.ListOffsetsPartition(partition_index=0, timestamp=-1)
    topic = list_offsets.ListOffsetsTopic(name="t", partitions=[partition])
    return list_offsets.ListOffsetsRequest(replica_id=-1, topics=[topic])


def epochs() -> Any:
    """Return a request or a part of one: epochs."""
    partition = offset_for_leader_epoch.OffsetForLeaderPartition(partition=0, leader_epoch=0)
    topic = offset_for_leader_epoch.OffsetForLeaderTopic(topic="t", partitions=[partition])
    return offset_for_leader_epoch.OffsetForLeaderEpochRequest(topics=[topic])


def transactional_produce() -> Any:
    """Return a request or a part of one: transactional produce."""
    data = encode_batch(
        [Record(0, START_MS, None, b"a")],
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    request = producing(("t", 0, data))
    request.transactional_id = "x"
    return request


def txn_commit() -> Any:
    """Return a request or a part of one: txn commit."""
    partition = txn_offset_commit.TxnOffsetCommitRequestPartition(
        partition_index=0, committed_offset=1, committed_metadata=""
    )
    topic = txn_offset_commit.TxnOffsetCommitRequestTopic(name="t", partitions=[partition])
    return txn_offset_commit.TxnOffsetCommitRequest(
        transactional_id="x", group_id="g", producer_id=7, producer_epoch=0, topics=[topic]
    )


def deleting_offsets() -> Any:
    """Return a request or a part of one: offset delete."""
    topic = offset_delete.OffsetDeleteRequestTopic(
        name="t", partitions=[offset_delete.OffsetDeleteRequestPartition(partition_index=0)]
    )
    return offset_delete.OffsetDeleteRequest(group_id="g", topics=[topic])


def fetching_offsets() -> Any:
    """Return a request or a part of one: offset fetch."""
    topic = offset_fetch.OffsetFetchRequestTopics(name="t", partition_indexes=[0])
    group = offset_fetch.OffsetFetchRequestGroup(group_id="g", topics=[topic])
    return offset_fetch.OffsetFetchRequest(groups=[group])


def deleting_records() -> Any:
    """Return a request or a part of one: delete records."""
    partition = delete_records.DeleteRecordsPartition(partition_index=0, offset=0)
    topic = delete_records.DeleteRecordsTopic(name="t", partitions=[partition])
    return delete_records.DeleteRecordsRequest(topics=[topic], timeout_ms=1000)


def every_rule() -> dict[str, Any]:
    """Return a request or a part of one: filter."""
    return {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }


def view(statement: str) -> Callable[[], Any]:
    """Return a function that makes a request or a part of one: view."""
    return lambda: CreateTopicsRequest(topics=[creation("t", -1, kawal_sql=statement)], validate_only=True)


def markers() -> Any:
    """Return a request or a part of one: markers."""
    topic = write_txn_markers.WritableTxnMarkerTopic(name="t", partition_indexes=[0])
    marker = write_txn_markers.WritableTxnMarker(
        producer_id=7, producer_epoch=0, transaction_result=True, topics=[topic], coordinator_epoch=0
    )
    return write_txn_markers.WriteTxnMarkersRequest(markers=[marker])


def adding() -> Any:
    """Return a request or a part of one: adding."""
    return add_partitions_to_txn.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="x",
        v3_and_below_producer_id=7,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=[add_partitions_to_txn.AddPartitionsToTxnTopic(name="t", partitions=[0])],
    )


def log_dirs() -> Any:
    """Return a request or a part of one: log dirs."""
    topic = alter_replica_log_dirs.AlterReplicaLogDirTopic(name="t", partitions=[0])
    return alter_replica_log_dirs.AlterReplicaLogDirsRequest(
        dirs=[alter_replica_log_dirs.AlterReplicaLogDir(path="/data", topics=[topic])]
    )
