"""The work of requests on groups, records and databases, told with what was there before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from broker.catalogue.config_resources import ResourceType
from broker.loop.call import Call
from broker.requests.audited_requests import WATCHED, Watcher
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
    DeleteRecordsTopicResult,
)
from protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.kawal_databases import DatabaseAction, DatabaseItem, KawalDatabasesRequest
from protocol.messages.kawal_queue_changes import KawalQueueChangesRequest, QueueAction
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.broker.access_requests import altering_some, markers, txn_commit
from tests.broker.audited import Audited
from tests.broker.connections.links import opened
from tests.broker.groups import commit, join
from tests.broker.kit import batch, create, send
from tests.broker.shares import Member


@pytest.fixture
def gateway() -> Audited:
    gateway = Audited()
    create(gateway.admin, "t", partitions=2)
    return gateway


def test_a_group_that_is_moved_by_a_tool_is_told(gateway: Audited) -> None:
    admin = gateway.of("User:admin")
    commit(admin, "g", ("t", 0, 5), ("t", 1, 6))
    commit(admin, "g", ("t", 0, 2))
    event = gateway.last("group.offsets.reset")
    assert event["resource"] == {"type": "group", "name": "g"}
    assert (event["before"], event["after"]) == ({"t": {"0": 5}}, {"t": {"0": 2}})
    assert (event["user"], event["outcome"]) == ("User:admin", "ok")


def test_commits_of_members_are_their_work_and_no_events() -> None:
    gateway = Audited(group_initial_rebalance_delay_ms=0)
    admin = gateway.admin
    create(admin, "t")
    member = join(admin, "g")
    commit(admin, "g", ("t", 0, 5), member=member)
    assert gateway.named("group.offsets.reset") == []


def test_a_consumer_without_a_group_commits_again_and_again_and_is_counted(gateway: Audited) -> None:
    admin = gateway.admin
    for offset in range(30):
        commit(admin, "g", ("t", 0, offset))
    assert len(gateway.named("group.offsets.reset")) == 10
    gateway.advance(10_000)
    event = gateway.last("audit.repeats")
    assert (event["of"], event["left_out"]) == ("group.offsets.reset", 20)


def test_deleted_groups_are_told_with_their_progress(gateway: Audited) -> None:
    admin = gateway.admin
    commit(admin, "g", ("t", 0, 5))
    admin.call(DeleteGroupsRequest(groups_names=["g", "none"]), 2)
    found = {event["resource"]["name"]: event for event in gateway.named("group.deleted")}
    assert (found["g"]["outcome"], found["g"]["before"]) == ("ok", {"t": {"0": 5}})
    assert found["none"]["outcome"] == "failed"
    assert found["none"]["errors"] == {"group": "GROUP_ID_NOT_FOUND"}


def test_deleted_offsets_are_told(gateway: Audited) -> None:
    admin = gateway.admin
    commit(admin, "g", ("t", 0, 5))
    part = OffsetDeleteRequestPartition(partition_index=0)
    topic = OffsetDeleteRequestTopic(name="t", partitions=[part])
    admin.call(OffsetDeleteRequest(group_id="g", topics=[topic]), 0)
    event = gateway.last("group.offsets.deleted")
    assert (event["outcome"], event["before"]) == ("ok", {"t": {"0": 5}})


def test_deleted_records_are_told_by_topic(gateway: Audited) -> None:
    admin = gateway.admin
    send(admin, "t", batch(b"a", b"b"))
    parts = [DeleteRecordsPartition(partition_index=index, offset=1) for index in (0, 7)]
    topics = [DeleteRecordsTopic(name="t", partitions=parts), DeleteRecordsTopic(name="no", partitions=[])]
    admin.call(DeleteRecordsRequest(topics=topics, timeout_ms=1), 2)
    event = gateway.named("records.deleted")[0]
    assert (event["resource"]["name"], event["outcome"]) == ("t", "partly failed")
    assert (event["before"], event["after"]["0"]) == ({"0": 0}, 1)
    assert event["errors"] == {"7": "UNKNOWN_TOPIC_OR_PARTITION"}


def test_share_groups_that_are_moved_are_told(gateway: Audited) -> None:
    admin = gateway.admin
    part = AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)
    topic = AlterShareGroupOffsetsRequestTopic(topic_name="t", partitions=[part])
    admin.call(AlterShareGroupOffsetsRequest(group_id="s", topics=[topic]), 0)
    assert gateway.last("group.offsets.reset")["after"] == {"t": ["0: 0"]}
    gone = DeleteShareGroupOffsetsRequestTopic(topic_name="t")
    admin.call(DeleteShareGroupOffsetsRequest(group_id="s", topics=[gone]), 0)
    assert gateway.last("group.offsets.deleted")["resource"] == {"type": "group", "name": "s"}


def test_commits_in_a_transaction_without_a_member_are_told_with_it(gateway: Audited) -> None:
    gateway.admin.call(txn_commit(), 3)
    event = gateway.last("group.offsets.reset")
    assert (event["transaction"], event["after"]) == ("x", {"t": {"0": 1}})
    assert (event["outcome"], event["errors"]) == ("failed", {"t-0": "INVALID_PRODUCER_ID_MAPPING"})


def test_a_commit_in_a_transaction_to_a_topic_without_a_name_is_told_and_answered(gateway: Audited) -> None:
    """Bug: the connection was closed, as such topics have no ids to look for instead."""
    request = txn_commit()
    request.topics[0].name = ""
    assert gateway.admin.call(request, 3).topics[0].name == ""
    assert gateway.last("group.offsets.reset")["after"] == {"": {"0": 1}}


def test_records_of_share_groups_that_an_operator_finishes_are_told(gateway: Audited) -> None:
    admin = gateway.admin
    settings = altering_some(32, "s", share_auto_offset_reset="earliest")()
    settings.validate_only = False
    admin.call(settings, 1)
    send(admin, "t", batch(b"a", b"b"))
    Member(gateway, "m", "t", group="s", client=admin)
    for action, name in ((QueueAction.RELEASE, "queue.released"), (QueueAction.PURGE, "queue.purged")):
        admin.call(KawalQueueChangesRequest(group_id="s", action=action), 0)
        event = gateway.last(name)
        assert (event["resource"]["name"], event["outcome"]) == ("s", "ok")
    assert event["records"] == {"t": 2}
    admin.call(KawalQueueChangesRequest(group_id="none", action=QueueAction.PURGE), 0)
    assert gateway.last("queue.purged")["errors"] == {"group": "GROUP_ID_NOT_FOUND"}


def test_ends_of_transactions_that_an_administrator_writes_are_told(gateway: Audited) -> None:
    gateway.admin.call(markers(), 1)
    event = gateway.last("transaction.ended")
    assert event["resource"] == {"type": "producer", "name": "7"}
    assert (event["outcome"], event["after"]) == ("ok", {"epoch": 0, "committed": True})


def test_databases_are_told_with_who_asked_for_them(gateway: Audited) -> None:
    admin = gateway.of("User:admin")
    item = DatabaseItem(name="d2", settings=[])
    for action in (DatabaseAction.DESCRIBE, DatabaseAction.CREATE):
        admin.call(KawalDatabasesRequest(action=action, databases=[item]), 0)
    event = gateway.last("database.requested")
    assert (event["user"], event["after"], event["outcome"]) == ("User:admin", {"action": "create"}, "ok")
    assert len(gateway.named("database.requested")) == 1
    assert len(gateway.named("database.created")) == 1


def test_what_is_denied_is_told_with_its_error(gateway: Audited) -> None:
    client = gateway.of("User:alice")
    client.call(DeleteGroupsRequest(groups_names=["g"]), 2)
    event = gateway.last("group.deleted")
    assert event["errors"] == {"group": ErrorCode.GROUP_AUTHORIZATION_FAILED.name}


def test_what_is_there_before_is_looked_at_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = Audited()
    admin = gateway.admin
    for number in range(30):
        create(admin, f"t{number}", partitions=60)
    for group in ("g", "h"):
        commit(admin, group, *((f"t{number}", 0, 1) for number in range(30)))
    looks = [0]
    committed = gateway.broker.groups.committed

    def counted(group: str, topic: str, partition: int) -> object:
        looks[0] += 1
        return committed(group, topic, partition)

    monkeypatch.setattr(gateway.broker.groups, "committed", counted)
    admin.call(DeleteGroupsRequest(groups_names=["g", "h"]), 2)
    assert looks == [1_000]
    assert [event["outcome"] for event in gateway.named("group.deleted")] == ["ok", "ok"]


class Counting(Watcher):
    """A watcher that only counts the errors that it is told of."""

    def __init__(self, gateway: Audited) -> None:
        super().__init__(gateway.trail, gateway.broker)
        self.told = 0

    def tell(
        self, call: Call[Any], event: str, kind: str, name: str, codes: Mapping[Any, int], **shown: Any
    ) -> None:
        self.told += len(codes)


PARTS = range(5_000)


def moved_everywhere() -> tuple[Any, Any]:
    request = AlterShareGroupOffsetsRequest(group_id="s", topics=[])
    parts = [AlterShareGroupOffsetsResponsePartition(partition_index=part, error_code=3) for part in PARTS]
    topic = AlterShareGroupOffsetsResponseTopic(topic_name="t", topic_id=UUID(int=1), partitions=parts)
    return request, AlterShareGroupOffsetsResponse(responses=[topic, topic], error_code=0)


def ended_everywhere() -> tuple[Any, Any]:
    parts = [WritableTxnMarkerPartitionResult(partition_index=part, error_code=3) for part in PARTS]
    topic = WritableTxnMarkerTopicResult(name="t", partitions=parts)
    marker = WritableTxnMarkerResult(producer_id=1, topics=[topic])
    return WriteTxnMarkersRequest(markers=[]), WriteTxnMarkersResponse(markers=[marker, marker])


def deleted_everywhere() -> tuple[Any, Any]:
    parts = [
        DeleteRecordsPartitionResult(partition_index=part, low_watermark=-1, error_code=3) for part in PARTS
    ]
    topic = DeleteRecordsTopicResult(name="t", partitions=parts)
    request = DeleteRecordsRequest(topics=[], timeout_ms=0)
    return request, DeleteRecordsResponse(topics=[topic, topic])


@pytest.mark.parametrize(
    ("api_key", "made"),
    [
        (ApiKey.ALTER_SHARE_GROUP_OFFSETS, moved_everywhere()),
        (ApiKey.WRITE_TXN_MARKERS, ended_everywhere()),
        (ApiKey.DELETE_RECORDS, deleted_everywhere()),
    ],
)
def test_of_a_wide_answer_a_thousand_errors_are_told_in_all(
    gateway: Audited, api_key: int, made: tuple[Any, Any]
) -> None:
    request, response = made
    call = opened(gateway.admin.connection, 1)
    call.request = request
    watcher = Counting(gateway)
    answered = WATCHED[api_key](watcher, call)
    assert answered is not None
    answered(response)
    assert 900 < watcher.told <= 1_001


def test_of_many_groups_the_rest_is_counted(gateway: Audited) -> None:
    names = [f"g{number}" for number in range(130)]
    gateway.admin.call(DeleteGroupsRequest(groups_names=names), 2)
    assert len(gateway.named("group.deleted")) == 100
    assert gateway.last("audit.repeats")["left_out"] == 30


def test_levels_of_loggers_are_told_though_no_record_has_them(gateway: Audited) -> None:
    levels = {"root": "INFO", "kawal.audit": "INFO"}

    class FakeLoggers:
        def levels(self) -> dict[str, str]:
            return levels

        def set_level(self, name: str, level: str) -> None:
            levels[name] = level

    gateway.broker.loggers = FakeLoggers()  # type: ignore[assignment]
    line = AlterableConfig(name="kawal.audit", config_operation=0, value="FATAL")
    resource = AlterConfigsResource(
        resource_type=ResourceType.BROKER_LOGGER, resource_name="1", configs=[line]
    )
    for validate_only in (True, False):
        request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)
        gateway.admin.call(request, 1)
    (event,) = gateway.named("configs.changed")
    assert event["resource"] == {"type": "logger", "name": "1"}
    assert (event["before"], event["after"]) == ({"kawal.audit": "INFO"}, {"kawal.audit": "FATAL"})
    assert levels["kawal.audit"] == "FATAL"


def test_a_request_for_databases_that_asks_for_no_known_action_is_refused_by_its_handler(
    gateway: Audited,
) -> None:
    """Bug: the connection was closed, as there was no name for the event."""
    item = DatabaseItem(name="d", settings=[])
    answer = gateway.admin.call(KawalDatabasesRequest(action=77, databases=[item]), 0)
    assert answer.databases[0].error_code == ErrorCode.INVALID_REQUEST
