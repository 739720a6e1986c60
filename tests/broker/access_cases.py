"""A request of every API that needs access, with the checks of the table that apply to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from broker.security.access_table import ACCESS, Check
from broker.security.acls import CLUSTER_NAME, ResourceType
from protocol.api_keys import ApiKey
from protocol.messages import (
    add_offsets_to_txn,
    alter_client_quotas,
    consumer_group_describe,
    create_acls,
    create_delegation_token,
    create_partitions,
    delete_acls,
    delete_groups,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    find_coordinator,
    heartbeat,
    init_producer_id,
    kawal_connections,
    kawal_groups,
    kawal_messages,
    kawal_producers,
    kawal_queue_changes,
    kawal_queues,
    kawal_topics,
    leave_group,
    list_config_resources,
    list_partition_reassignments,
    metadata,
    share_group_describe,
    sync_group,
    update_features,
)
from protocol.messages import alter_partition_reassignments as reassignments
from protocol.messages import alter_user_scram_credentials as scram
from protocol.messages.create_topics import CreateTopicsRequest
from tests.broker import access_requests as requests
from tests.broker import share_requests as shares
from tests.broker.groups import beating, committing, joining
from tests.broker.kit import batch, creation, fetching, producing

NAMES = {
    ResourceType.TOPIC: "t",
    ResourceType.GROUP: "g",
    ResourceType.CLUSTER: CLUSTER_NAME,
    ResourceType.TRANSACTIONAL_ID: "x",
    ResourceType.USER: "User:bob",
}
"""What the requests name."""


class Case(NamedTuple):
    """A request and the checks, by their numbers in the row of the table, that it needs."""

    api: ApiKey
    version: int
    make: Callable[[], Any]
    checks: tuple[int, ...] = (0,)

    @property
    def needs(self) -> list[Check]:
        """The checks that the request must pass."""
        return [ACCESS[self.api][number] for number in self.checks]

    @property
    def name(self) -> str:
        """The case in the name of a test."""
        return f"{self.api.name.lower()}-{'-'.join(map(str, self.checks))}"


CASES: list[Case] = [
    Case(ApiKey.PRODUCE, 9, lambda: producing(("t", 0, batch(b"a"))), (1,)),
    Case(ApiKey.PRODUCE, 9, requests.transactional_produce, (0, 1)),
    Case(ApiKey.FETCH, 12, lambda: fetching({("t", 0): 0}), (0,)),
    Case(ApiKey.FETCH, 12, lambda: replace(fetching({("t", 0): 0}), replica_id=1), (0, 1)),
    Case(ApiKey.LIST_OFFSETS, 9, requests.offsets),
    Case(
        ApiKey.METADATA,
        12,
        lambda: metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name="t")]),
    ),
    Case(
        ApiKey.FIND_COORDINATOR,
        6,
        lambda: find_coordinator.FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]),
        (0,),
    ),
    Case(
        ApiKey.FIND_COORDINATOR,
        3,
        lambda: find_coordinator.FindCoordinatorRequest(key_type=1, key="x"),
        (1,),
    ),
    Case(
        ApiKey.FIND_COORDINATOR,
        6,
        lambda: find_coordinator.FindCoordinatorRequest(key_type=2, coordinator_keys=["g:t:0"]),
        (2,),
    ),
    Case(ApiKey.DELETE_TOPICS, 5, lambda: delete_topics.DeleteTopicsRequest(topic_names=["t"], timeout_ms=9)),
    Case(
        ApiKey.INIT_PRODUCER_ID,
        4,
        lambda: init_producer_id.InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=1000),
        (0,),
    ),
    Case(
        ApiKey.INIT_PRODUCER_ID,
        4,
        lambda: init_producer_id.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000),
        (1,),
    ),
    Case(ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, requests.epochs),
    Case(ApiKey.ADD_PARTITIONS_TO_TXN, 3, requests.adding, (0, 1)),
    Case(
        ApiKey.ADD_OFFSETS_TO_TXN,
        3,
        lambda: add_offsets_to_txn.AddOffsetsToTxnRequest(
            transactional_id="x", producer_id=7, producer_epoch=0, group_id="g"
        ),
        (0, 1),
    ),
    Case(
        ApiKey.END_TXN,
        3,
        lambda: end_txn.EndTxnRequest(transactional_id="x", producer_id=7, producer_epoch=0, committed=True),
    ),
    Case(ApiKey.WRITE_TXN_MARKERS, 1, requests.markers),
    Case(ApiKey.TXN_OFFSET_COMMIT, 3, requests.txn_commit, (0, 1, 2)),
    Case(
        ApiKey.DESCRIBE_TRANSACTIONS,
        0,
        lambda: describe_transactions.DescribeTransactionsRequest(transactional_ids=["x"]),
    ),
    Case(ApiKey.DESCRIBE_CONFIGS, 4, requests.describing(2, "t"), (0,)),
    Case(ApiKey.DESCRIBE_CONFIGS, 4, requests.describing(32, "g"), (1,)),
    Case(ApiKey.DESCRIBE_CONFIGS, 4, requests.describing(4, "1"), (2,)),
    Case(ApiKey.ALTER_CONFIGS, 2, requests.altering(2, "t"), (0,)),
    Case(ApiKey.ALTER_CONFIGS, 2, requests.altering(32, "g"), (1,)),
    Case(ApiKey.ALTER_CONFIGS, 2, requests.altering(4, "1"), (2,)),
    Case(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, requests.altering_some(2, "t", retention_ms="5"), (0,)),
    Case(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, requests.altering_some(32, "g"), (1,)),
    Case(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, requests.altering_some(8, "1"), (2,)),
    Case(
        ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, requests.altering_some(2, "t", kawal_quarantine="t"), (0, 3, 4)
    ),
    Case(
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        1,
        requests.altering_some(32, "g", kawal_share_answers_topic="t"),
        (1, 5),
    ),
    Case(ApiKey.ALTER_CONFIGS, 2, requests.altering(16, "m"), (2,)),
    Case(
        ApiKey.ALTER_CONFIGS,
        2,
        requests.altering(32, "g", kawal_retention_important_topics="t"),
        (1, 5),
    ),
    Case(ApiKey.ALTER_CONFIGS, 2, requests.altering(2, "t", kawal_quarantine="t"), (0, 3, 4)),
    Case(
        ApiKey.CREATE_PARTITIONS,
        3,
        lambda: create_partitions.CreatePartitionsRequest(
            topics=[create_partitions.CreatePartitionsTopic(name="t", count=3, assignments=None)],
            timeout_ms=9,
            validate_only=True,
        ),
    ),
    Case(ApiKey.OFFSET_COMMIT, 8, lambda: committing("g", ("t", 0, 1)), (0, 1)),
    Case(ApiKey.OFFSET_FETCH, 8, requests.fetching_offsets, (0, 1)),
    Case(ApiKey.JOIN_GROUP, 5, lambda: joining("g")),
    Case(
        ApiKey.HEARTBEAT,
        3,
        lambda: heartbeat.HeartbeatRequest(group_id="g", generation_id=1, member_id="m"),
    ),
    Case(
        ApiKey.LEAVE_GROUP,
        4,
        lambda: leave_group.LeaveGroupRequest(
            group_id="g", members=[leave_group.MemberIdentity(member_id="m")]
        ),
    ),
    Case(
        ApiKey.SYNC_GROUP,
        4,
        lambda: sync_group.SyncGroupRequest(group_id="g", generation_id=1, member_id="m", assignments=[]),
    ),
    Case(ApiKey.DESCRIBE_GROUPS, 5, lambda: describe_groups.DescribeGroupsRequest(groups=["g"])),
    Case(ApiKey.DELETE_GROUPS, 2, lambda: delete_groups.DeleteGroupsRequest(groups_names=["g"])),
    Case(ApiKey.OFFSET_DELETE, 0, requests.deleting_offsets, (0, 1)),
    Case(
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        1,
        lambda: consumer_group_describe.ConsumerGroupDescribeRequest(
            group_ids=["g"], include_authorized_operations=False
        ),
    ),
    Case(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, lambda: beating("g", "m", topics=["t"]), (0, 1)),
    Case(ApiKey.DELETE_RECORDS, 2, requests.deleting_records),
    Case(ApiKey.DESCRIBE_ACLS, 3, lambda: describe_acls.DescribeAclsRequest(**requests.every_rule())),
    Case(
        ApiKey.CREATE_ACLS,
        3,
        lambda: create_acls.CreateAclsRequest(
            creations=[
                create_acls.AclCreation(
                    resource_type=2,
                    resource_name="n",
                    principal="User:n",
                    host="*",
                    operation=3,
                    permission_type=3,
                )
            ]
        ),
    ),
    Case(
        ApiKey.DELETE_ACLS,
        3,
        lambda: delete_acls.DeleteAclsRequest(
            filters=[
                delete_acls.DeleteAclsFilter(**requests.every_rule() | {"principal_filter": "User:none"})
            ]
        ),
    ),
    Case(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, requests.log_dirs),
    Case(ApiKey.DESCRIBE_LOG_DIRS, 4, lambda: describe_log_dirs.DescribeLogDirsRequest(topics=None)),
    Case(ApiKey.ELECT_LEADERS, 2, lambda: elect_leaders.ElectLeadersRequest(topic_partitions=None)),
    Case(
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        0,
        lambda: reassignments.AlterPartitionReassignmentsRequest(topics=[]),
    ),
    Case(
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        0,
        lambda: list_partition_reassignments.ListPartitionReassignmentsRequest(topics=None),
    ),
    Case(
        ApiKey.DESCRIBE_CLIENT_QUOTAS,
        1,
        lambda: describe_client_quotas.DescribeClientQuotasRequest(components=[], strict=False),
    ),
    Case(
        ApiKey.ALTER_CLIENT_QUOTAS,
        1,
        lambda: alter_client_quotas.AlterClientQuotasRequest(
            entries=[
                alter_client_quotas.RequestEntryData(
                    entity=[alter_client_quotas.EntityData(entity_type="user", entity_name="n")], ops=[]
                )
            ],
            validate_only=False,
        ),
    ),
    Case(
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
        0,
        # Kafka never answers a client that may not ask for all users.
        lambda: describe_user_scram_credentials.DescribeUserScramCredentialsRequest(
            users=[describe_user_scram_credentials.UserName(name="n")]
        ),
    ),
    Case(
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        0,
        lambda: scram.AlterUserScramCredentialsRequest(
            deletions=[scram.ScramCredentialDeletion(name="n", mechanism=1)], upsertions=[]
        ),
    ),
    Case(
        ApiKey.CREATE_DELEGATION_TOKEN,
        3,
        lambda: create_delegation_token.CreateDelegationTokenRequest(
            owner_principal_type="User", owner_principal_name="bob", renewers=[], max_lifetime_ms=-1
        ),
    ),
    Case(ApiKey.DESCRIBE_QUORUM, 2, lambda: describe_quorum.DescribeQuorumRequest(topics=[])),
    Case(
        ApiKey.UPDATE_FEATURES,
        1,
        lambda: update_features.UpdateFeaturesRequest(feature_updates=[], validate_only=True),
    ),
    Case(
        ApiKey.DESCRIBE_PRODUCERS,
        0,
        lambda: describe_producers.DescribeProducersRequest(
            topics=[describe_producers.TopicRequest(name="t", partition_indexes=[0])]
        ),
    ),
    Case(ApiKey.LIST_CONFIG_RESOURCES, 1, lambda: list_config_resources.ListConfigResourcesRequest()),
    Case(
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        0,
        lambda: describe_topic_partitions.DescribeTopicPartitionsRequest(
            topics=[describe_topic_partitions.TopicRequest(name="t")]
        ),
    ),
    Case(ApiKey.KAWAL_DATABASES, 0, requests.database(0), (0,)),
    Case(ApiKey.KAWAL_DATABASES, 0, requests.database(1), (1,)),
    Case(ApiKey.KAWAL_DATABASES, 0, requests.database(2), (2,)),
    Case(ApiKey.KAWAL_GROUPS, 0, lambda: kawal_groups.KawalGroupsRequest()),
    Case(ApiKey.KAWAL_CONNECTIONS, 0, lambda: kawal_connections.KawalConnectionsRequest()),
    Case(ApiKey.KAWAL_TOPICS, 0, lambda: kawal_topics.KawalTopicsRequest(action=0), (0,)),
    Case(
        ApiKey.KAWAL_TOPICS,
        0,
        lambda: kawal_topics.KawalTopicsRequest(action=1, topics=[kawal_topics.TopicItem(name="t")]),
        (1,),
    ),
    Case(
        ApiKey.KAWAL_TOPICS,
        0,
        lambda: kawal_topics.KawalTopicsRequest(
            action=2, topics=[kawal_topics.TopicItem(name="t", statement="STABLE x")]
        ),
        (2,),
    ),
    Case(
        ApiKey.KAWAL_TOPICS,
        0,
        lambda: kawal_topics.KawalTopicsRequest(
            action=3, topics=[kawal_topics.TopicItem(name="t", partition=0)]
        ),
        (3,),
    ),
    Case(ApiKey.KAWAL_PRODUCERS, 0, lambda: kawal_producers.KawalProducersRequest(topic="t")),
    Case(
        ApiKey.KAWAL_MESSAGES,
        0,
        lambda: kawal_messages.KawalMessagesRequest(
            topic="t", offsets=[kawal_messages.MessageOffset(partition=0, offset=0)], ids=[]
        ),
    ),
    Case(ApiKey.KAWAL_QUEUES, 0, lambda: kawal_queues.KawalQueuesRequest(group_ids=["g"])),
    Case(
        ApiKey.KAWAL_QUEUE_CHANGES,
        0,
        lambda: kawal_queue_changes.KawalQueueChangesRequest(
            group_id="g",
            action=kawal_queue_changes.QueueAction.PURGE,
            topics=[kawal_queue_changes.QueueTopicItem(topic_name="t", partitions=[])],
        ),
        (0, 1),
    ),
    Case(
        ApiKey.CREATE_TOPICS,
        7,
        lambda: CreateTopicsRequest(topics=[creation("t", 1)], validate_only=True),
        (0,),
    ),
    Case(ApiKey.CREATE_TOPICS, 7, requests.view("SELECT a FROM `t`"), (0, 1)),
    Case(ApiKey.SHARE_GROUP_HEARTBEAT, 1, shares.beating, (0, 1)),
    Case(
        ApiKey.SHARE_GROUP_DESCRIBE,
        1,
        lambda: share_group_describe.ShareGroupDescribeRequest(
            group_ids=["g"], include_authorized_operations=True
        ),
    ),
    Case(ApiKey.SHARE_FETCH, 2, shares.fetching),
    Case(ApiKey.SHARE_ACKNOWLEDGE, 2, shares.acknowledging),
    Case(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1, shares.describing, (0, 1)),
    Case(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, shares.altering),
    Case(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, shares.deleting),
]

ELSEWHERE = {
    (ApiKey.METADATA, 2),
    (ApiKey.CONSUMER_GROUP_DESCRIBE, 1),
    (ApiKey.SHARE_GROUP_DESCRIBE, 1),
    (ApiKey.SHARE_FETCH, 1),
    (ApiKey.SHARE_ACKNOWLEDGE, 1),
    (ApiKey.ALTER_SHARE_GROUP_OFFSETS, 1),
    (ApiKey.DELETE_SHARE_GROUP_OFFSETS, 1),
}
"""Checks of which tests of their own tell, as they need more than one request."""
