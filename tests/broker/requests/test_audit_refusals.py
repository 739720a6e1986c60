"""While the audit log cannot be written, and kawal.audit.when.full=refuse, nothing is changed that it tells.

`CHANGES` has a request for each record of the catalogue that is told, and for each kind of request that is
watched.  Each is refused, and tells nothing; once the log is written again, it is made and told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pytest

from broker.catalogue import catalogue_records as records
from broker.catalogue.audited_changes import AUDITED
from broker.requests.audited_requests import WATCHED
from broker.security.authorized_operations import Operation
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages import alter_user_scram_credentials as scram
from protocol.messages import create_acls, delete_acls, kawal_topics, update_features
from protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from protocol.messages.kawal_databases import (
    DatabaseAction,
    DatabaseItem,
    DatabaseSetting,
    KawalDatabasesRequest,
)
from protocol.messages.kawal_queue_changes import KawalQueueChangesRequest, QueueAction
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from protocol.schema import declaration
from tests.broker import access_requests as requests
from tests.broker import share_requests as shares
from tests.broker.audited import Audited
from tests.broker.client_quotas import entry
from tests.broker.groups import commit, committing
from tests.broker.guarded import GROUP
from tests.broker.kit import batch, create, creation, send
from tests.broker.shares import Member, configure

REFUSED: Final = ErrorCode.POLICY_VIOLATION

TOKEN: Final = CreateDelegationTokenRequest(
    owner_principal_type=None, owner_principal_name=None, renewers=[], max_lifetime_ms=-1
)


class World:
    """A broker with one of everything that can be changed."""

    def __init__(self, when_full: str = "refuse") -> None:
        self.gateway = gateway = Audited(
            kawal_audit_when_full=when_full,
            delegation_token_secret_key="k",
            super_users="User:admin;User:ANONYMOUS",
        )
        self.admin = admin = gateway.admin
        create(admin, "t", kawal_columns="a int, b int")
        create(admin, "gone")
        create(
            admin,
            "splits",
            kawal_partition_write_bytes_per_sec="1000000",
            kawal_partition_autosplit_mode="up",
        )
        create(admin, "view", -1, kawal_sql="SELECT a FROM t")
        send(admin, "t", batch(b"{}", b"{}"))
        for group in ("g", "h"):
            commit(admin, group, ("t", 0, 1))
        configure(gateway, group="s", share_auto_offset_reset="earliest")
        Member(gateway, "m", "t", group="s")
        gateway.allow(Operation.READ, GROUP, "g")
        admin.call(databases(DatabaseAction.CREATE, "d"), 0)
        admin.call(databases(DatabaseAction.CREATE, "one", vnodes="1"), 0)
        speed = {"kawal_partition_write_bytes_per_sec": "1000000"}
        create(admin, "filled", 2, kawal_database="one", **speed)
        send(admin, "filled", batch(b"a"))
        self.hmac = bytes(admin.call(TOKEN, 3).hmac)
        gateway.settle()
        gateway.events.clear()

    def fail(self) -> None:
        """Let nothing be written from now on."""
        self.gateway.failing = "no room"
        self.gateway.trail.record("something")

    def recover(self) -> None:
        """Let all be written that waits."""
        self.gateway.failing = None
        self.gateway.advance(1_000)

    def codes(self, change: Change) -> set[int]:
        """Send the request and return the error codes of its answer."""
        self.gateway.advance(1)
        return set(codes_in(self.admin.call(change.make(self), change.version)))


def codes_in(message: Any) -> Iterator[int]:
    """Yield every error code of an answer."""
    for field in declaration(type(message)).fields:
        value = getattr(message, field.name, None)
        if field.name.endswith("error_code"):
            yield value or 0
        for item in value if isinstance(value, list) else ():
            if hasattr(type(item), "__wire__"):
                yield from codes_in(item)


class Change(NamedTuple):
    """A request with the event that tells of it, and the record or the watched API that it stands for."""

    covers: type[Any] | ApiKey
    event: str
    version: int
    make: Callable[[World], Any]


def databases(action: DatabaseAction, name: str, **settings: str) -> KawalDatabasesRequest:
    given = [DatabaseSetting(name=key.replace("_", "."), value=value) for key, value in settings.items()]
    return KawalDatabasesRequest(action=action, databases=[DatabaseItem(name=name, settings=given)])


def altering(kind: int, name: str, **lines: str) -> Callable[[World], Any]:
    def make(_: World) -> Any:
        request = requests.altering_some(kind, name, **lines)()
        request.validate_only = False
        return request

    return make


def replacing(kind: int, name: str, **lines: str) -> Callable[[World], Any]:
    def make(_: World) -> Any:
        request = requests.altering(kind, name, **lines)()
        request.validate_only = False
        return request

    return make


def creating(_: World) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[creation("new")], timeout_ms=1, validate_only=False)


def growing(_: World) -> CreatePartitionsRequest:
    topic = CreatePartitionsTopic(name="t", count=3, assignments=None)
    return CreatePartitionsRequest(topics=[topic], timeout_ms=1, validate_only=False)


def splitting(_: World) -> kawal_topics.KawalTopicsRequest:
    item = kawal_topics.TopicItem(name="splits", partition=0)
    return kawal_topics.KawalTopicsRequest(action=kawal_topics.TopicAction.SPLIT, topics=[item])


def reloading(_: World) -> kawal_topics.KawalTopicsRequest:
    item = kawal_topics.TopicItem(name="view", statement="SELECT b FROM t")
    return kawal_topics.KawalTopicsRequest(action=kawal_topics.TopicAction.RELOAD, topics=[item])


def adding_user(_: World) -> scram.AlterUserScramCredentialsRequest:
    user = scram.ScramCredentialUpsertion(
        name="bob", mechanism=1, iterations=4096, salt=b"salt" * 4, salted_password=b"p" * 32
    )
    return scram.AlterUserScramCredentialsRequest(deletions=[], upsertions=[user])


def limiting(_: World) -> AlterClientQuotasRequest:
    change = entry({"user": "a"}, ("producer_byte_rate", 5.0))
    return AlterClientQuotasRequest(entries=[change], validate_only=False)


def allowing(_: World) -> create_acls.CreateAclsRequest:
    rule = create_acls.AclCreation(
        resource_type=2, resource_name="n", principal="User:n", host="*", operation=3, permission_type=3
    )
    return create_acls.CreateAclsRequest(creations=[rule])


def forbidding(_: World) -> delete_acls.DeleteAclsRequest:
    return delete_acls.DeleteAclsRequest(filters=[delete_acls.DeleteAclsFilter(**requests.every_rule())])


def upgrading(_: World) -> update_features.UpdateFeaturesRequest:
    level = update_features.FeatureUpdateKey(feature="share.version", max_version_level=0, upgrade_type=3)
    return update_features.UpdateFeaturesRequest(feature_updates=[level], validate_only=False)


def moving(_: World) -> Any:
    request = shares.altering()
    request.group_id = "s2"
    return request


def forgetting(_: World) -> Any:
    request = shares.deleting()
    request.group_id = "s"
    return request


def purging(_: World) -> KawalQueueChangesRequest:
    return KawalQueueChangesRequest(group_id="s", action=QueueAction.PURGE, topics=None)


R: Final = records
CHANGES: Final[dict[str, Change]] = {
    "create topic": Change(R.TopicCreated, "topic.created", 7, creating),
    "create by asking": Change(
        R.TopicCreated,
        "topic.created",
        12,
        lambda _: MetadataRequest(topics=[MetadataRequestTopic(name="asked")]),
    ),
    "grow topic": Change(R.PartitionsAdded, "topic.grown", 2, growing),
    "split partition": Change(R.PartitionSplit, "topic.split", 0, splitting),
    "have keys placed by the server": Change(
        R.PartitionsRenewed,
        "topic.split",
        1,
        altering(2, "filled", kawal_partition_autosplit_mode="up"),
    ),
    "delete topic": Change(
        R.TopicDeleted,
        "topic.deleted",
        5,
        lambda _: DeleteTopicsRequest(topic_names=["gone"], timeout_ms=1),
    ),
    "reload view": Change(R.ViewReloaded, "view.reloaded", 0, reloading),
    "alter topic": Change(R.TopicConfigs, "configs.changed", 1, altering(2, "t", retention_ms="5")),
    "replace topic": Change(R.TopicConfigs, "configs.changed", 2, replacing(2, "gone", retention_ms="5")),
    "alter broker": Change(R.BrokerConfigs, "configs.changed", 1, altering(4, "1", message_max_bytes="9999")),
    "alter all brokers": Change(
        R.BrokerConfigs, "configs.changed", 1, altering(4, "", message_max_bytes="9999")
    ),
    "alter group": Change(
        R.GroupConfigs, "configs.changed", 1, altering(32, "g", consumer_session_timeout_ms="46000")
    ),
    "alter user": Change(R.ScramCredentials, "user.added", 0, adding_user),
    "alter quota": Change(R.ClientQuotas, "quotas.changed", 1, limiting),
    "add rule": Change(R.AclAdded, "acl.added", 3, allowing),
    "remove rule": Change(R.AclRemoved, "acl.removed", 3, forbidding),
    "make token": Change(R.DelegationTokenSet, "token.created", 3, lambda _: TOKEN),
    "renew token": Change(
        R.DelegationTokenSet,
        "token.renewed",
        2,
        lambda world: RenewDelegationTokenRequest(hmac=world.hmac, renew_period_ms=5_000),
    ),
    "expire token": Change(
        R.DelegationTokenRemoved,
        "token.removed",
        2,
        lambda world: ExpireDelegationTokenRequest(hmac=world.hmac, expiry_time_period_ms=-1),
    ),
    "set feature": Change(R.FeatureLevel, "feature.changed", 1, upgrading),
    "create database": Change(
        R.DatabaseCreated, "database.created", 0, lambda _: databases(DatabaseAction.CREATE, "d2")
    ),
    "alter database": Change(
        R.DatabaseConfigs,
        "configs.changed",
        0,
        lambda _: databases(DatabaseAction.ALTER, "d", flush_ms="77"),
    ),
    "split database": Change(
        R.VnodesAdded,
        "database.grown",
        0,
        lambda _: databases(DatabaseAction.SPLIT, "d", kawal_vnodes="3"),
    ),
    "drop database": Change(
        R.DatabaseDropped, "database.dropped", 0, lambda _: databases(DatabaseAction.DROP, "d")
    ),
    "ask for database": Change(
        ApiKey.KAWAL_DATABASES,
        "database.requested",
        0,
        lambda _: databases(DatabaseAction.CREATE, "d3"),
    ),
    "delete group": Change(
        ApiKey.DELETE_GROUPS, "group.deleted", 2, lambda _: DeleteGroupsRequest(groups_names=["h"])
    ),
    "delete offsets": Change(
        ApiKey.OFFSET_DELETE, "group.offsets.deleted", 0, lambda _: requests.deleting_offsets()
    ),
    "commit without a member": Change(
        ApiKey.OFFSET_COMMIT, "group.offsets.reset", 8, lambda _: committing("g", ("t", 0, 2))
    ),
    "commit in a transaction": Change(
        ApiKey.TXN_OFFSET_COMMIT, "group.offsets.reset", 3, lambda _: requests.txn_commit()
    ),
    "end a transaction": Change(
        ApiKey.WRITE_TXN_MARKERS, "transaction.ended", 1, lambda _: requests.markers()
    ),
    "delete records": Change(
        ApiKey.DELETE_RECORDS, "records.deleted", 2, lambda _: requests.deleting_records()
    ),
    "move share group": Change(ApiKey.ALTER_SHARE_GROUP_OFFSETS, "group.offsets.reset", 0, moving),
    "forget share group": Change(ApiKey.DELETE_SHARE_GROUP_OFFSETS, "group.offsets.deleted", 0, forgetting),
    "purge queue": Change(ApiKey.KAWAL_QUEUE_CHANGES, "queue.purged", 0, purging),
    "level of a logger": Change(
        ApiKey.INCREMENTAL_ALTER_CONFIGS, "configs.changed", 1, altering(8, "1", kawal_broker="DEBUG")
    ),
}


def test_every_change_that_is_told_has_a_row() -> None:
    told = {record for record, describe in AUDITED.items() if describe is not None}
    assert {change.covers for change in CHANGES.values()} == told | set(WATCHED)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_it_is_refused_while_it_cannot_be_told_and_made_afterwards(change: Change) -> None:
    world = World()
    world.fail()
    assert REFUSED in world.codes(change)
    world.recover()
    assert world.gateway.named(change.event) == []
    assert REFUSED not in world.codes(change)
    world.gateway.settle()
    assert change.event in {event["event"] for event in world.gateway.events}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_it_is_made_and_told_later_where_events_may_be_lost(change: Change) -> None:
    world = World("drop")
    world.fail()
    assert REFUSED not in world.codes(change)
    world.recover()
    assert world.gateway.named(change.event)
