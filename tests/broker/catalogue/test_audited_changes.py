"""Each change of the catalogue is an event: who, what, before and after; and none is made unseen."""

from __future__ import annotations

import errno
from typing import Any, get_args

import msgspec
import pytest

from broker.catalogue import catalogue_records as records
from broker.catalogue.audited_changes import AUDITED
from broker.catalogue.catalogue_records import CatalogueRecord
from broker.catalogue.config_resources import ResourceType
from broker.security.acls import ResourceType as AclResource
from broker.security.authorized_operations import Operation
from protocol.error_codes import ErrorCode
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.audited import Audited, Event
from tests.broker.client_quotas import alter as quota_of
from tests.broker.kit import create, creation
from tests.broker.topic_requests import deleted
from wal.memory_faults import failing


def alter(client: Any, kind: int, name: str, key: str, value: str | None) -> int:
    line = AlterableConfig(name=key, config_operation=0 if value is not None else 1, value=value)
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=[line])
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    code: int = client.call(request, 1).responses[0].error_code
    return code


def shown(event: Event) -> tuple[Any, Any, Any, Any]:
    return event["resource"]["type"], event["resource"]["name"], event.get("before"), event.get("after")


@pytest.fixture
def gateway() -> Audited:
    return Audited()


def test_every_record_has_a_row() -> None:
    assert set(AUDITED) == set(get_args(CatalogueRecord))


def test_an_event_says_who_from_where_and_by_which_request(gateway: Audited) -> None:
    admin = gateway.of("User:admin", "10.0.0.7")
    create(admin, "t", partitions=3)
    event = gateway.last("topic.created")
    assert event["user"] == "User:admin"
    assert event["address"] == "10.0.0.7:5000"
    assert (event["listener"], event["client_id"], event["outcome"]) == ("INSIDE", "test", "ok")
    assert event["request"].startswith("CREATE_TOPICS v")
    assert event["time"] == "2023-11-14T22:13:20.000Z"
    assert event["after"]["partitions"] == 3


def test_topics_are_told_from_their_making_to_their_end(gateway: Audited) -> None:
    admin = gateway.admin
    create(admin, "t", partitions=1)
    grow = CreatePartitionsTopic(name="t", count=3, assignments=None)
    admin.call(CreatePartitionsRequest(topics=[grow], timeout_ms=1, validate_only=False), 2)
    assert shown(gateway.last("topic.grown")) == ("topic", "t", {"partitions": 1}, {"partitions": 3})
    alter(admin, ResourceType.TOPIC, "t", "retention.ms", "5")
    alter(admin, ResourceType.TOPIC, "t", "retention.ms", "6")
    assert shown(gateway.last("configs.changed")) == (
        "topic",
        "t",
        {"retention.ms": "5"},
        {"retention.ms": "6"},
    )
    assert deleted(admin, "t")["t"][0] == 0
    kind, name, before, after = shown(gateway.last("topic.deleted"))
    assert (kind, name, after) == ("topic", "t", None)
    assert (before["partitions"], before["configs"]) == (3, {"retention.ms": "6"})


def test_what_is_only_tried_is_no_event(gateway: Audited) -> None:
    request = CreateTopicsRequest(topics=[creation("t")], timeout_ms=1, validate_only=True)
    gateway.admin.call(request, 7)
    assert deleted(gateway.admin, "none")["none"][0]
    assert gateway.events == []


def test_settings_of_brokers_and_groups_are_told_and_secrets_are_not(gateway: Audited) -> None:
    admin = gateway.admin
    assert alter(admin, ResourceType.BROKER, "1", "log.cleaner.backoff.ms", "7") == 0
    assert shown(gateway.last("configs.changed")) == ("broker", "1", {}, {"log.cleaner.backoff.ms": "7"})
    gateway.broker.metadata_log.append(
        records.BrokerConfigs(broker_id="", configs={"listener.name.x.ssl.key.password": "hush"}), 0
    )
    gateway.settle()
    kind, name, before, after = shown(gateway.last("configs.changed"))
    assert (kind, name, before) == ("broker", "(every node)", {})
    assert after == {"listener.name.x.ssl.key.password": "(hidden)"}
    gateway.broker.metadata_log.append(
        records.GroupConfigs(group="g", configs={"consumer.session.timeout.ms": "7000"}), 0
    )
    gateway.settle()
    assert gateway.last("configs.changed")["resource"] == {"type": "group", "name": "g"}
    assert gateway.last("configs.changed")["user"] == "(the server)"


def test_users_are_told_without_anything_of_their_passwords(gateway: Audited) -> None:
    admin = gateway.admin
    salted = ScramCredentialUpsertion(
        name="alice", mechanism=1, iterations=4096, salt=b"salt" * 4, salted_password=b"p" * 32
    )
    admin.call(AlterUserScramCredentialsRequest(deletions=[], upsertions=[salted]), 0)
    assert shown(gateway.last("user.added")) == (
        "user",
        "alice",
        None,
        {"mechanisms": ["SCRAM_SHA_256"], "new": ["SCRAM_SHA_256"]},
    )
    admin.call(AlterUserScramCredentialsRequest(deletions=[], upsertions=[salted]), 0)
    assert gateway.last("user.altered")["before"] == {"mechanisms": ["SCRAM_SHA_256"]}
    gone = ScramCredentialDeletion(name="alice", mechanism=1)
    admin.call(AlterUserScramCredentialsRequest(deletions=[gone], upsertions=[]), 0)
    assert shown(gateway.last("user.removed")) == ("user", "alice", {"mechanisms": ["SCRAM_SHA_256"]}, None)
    text = str(gateway.events)
    credential = gateway.broker.catalogue.scram_credentials
    assert credential.get("alice", {}) == {}
    assert "salt" not in text
    assert "cHBw" not in text


def test_rules_are_told_when_they_come_and_go(gateway: Audited) -> None:
    asked = AclCreation(
        resource_type=AclResource.TOPIC,
        resource_name="t",
        resource_pattern_type=4,
        principal="User:alice",
        host="10.0.0.1",
        operation=Operation.READ,
        permission_type=3,
    )
    rule = {
        "pattern": "PREFIXED",
        "principal": "User:alice",
        "host": "10.0.0.1",
        "operation": "READ",
        "permission": "ALLOW",
    }
    gateway.admin.call(CreateAclsRequest(creations=[asked]), 3)
    assert shown(gateway.last("acl.added")) == ("topic", "t", None, rule)
    gateway.admin.call(CreateAclsRequest(creations=[asked]), 3)
    assert len(gateway.named("acl.added")) == 1
    every = DeleteAclsFilter(
        resource_type_filter=1,
        pattern_type_filter=1,
        operation=1,
        permission_type=1,
        resource_name_filter=None,
        principal_filter=None,
        host_filter=None,
    )
    gateway.admin.call(DeleteAclsRequest(filters=[every]), 3)
    assert shown(gateway.last("acl.removed")) == ("topic", "t", rule, None)


def test_a_change_that_the_disk_does_not_take_has_failed(gateway: Audited) -> None:
    gateway.disk.faults.append(failing("sync", errno.EIO))
    answer = gateway.admin.call(
        CreateTopicsRequest(topics=[creation("t")], timeout_ms=1, validate_only=False), 7
    )
    assert answer.topics[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert gateway.last("topic.created")["outcome"] == "failed"


def test_a_change_that_cannot_be_told_is_refused_where_that_is_asked_for() -> None:
    for when_full, code in (("refuse", ErrorCode.POLICY_VIOLATION), ("drop", 0)):
        gateway = Audited(kawal_audit_when_full=when_full)
        admin = gateway.admin
        create(admin, "t")
        gateway.failing = "no room"
        gateway.trail.record("something")
        assert alter(admin, ResourceType.TOPIC, "t", "retention.ms", "5") == code
        result = admin.call(
            CreateTopicsRequest(topics=[creation("u")], timeout_ms=1, validate_only=False), 7
        ).topics[0]
        assert result.error_code == code
        if code:
            assert "no room" in result.error_message
            assert "kawal.audit.when.full" in result.error_message
        assert ("u" in gateway.broker.catalogue.by_name) is not bool(code)
        gateway.failing = None
        gateway.advance(1_000)
        assert alter(admin, ResourceType.TOPIC, "t", "retention.ms", "7") == 0
        assert gateway.last("configs.changed")["after"] == {"retention.ms": "7"}


def test_users_are_refused_one_by_one_and_the_connection_stays() -> None:
    gateway = Audited(kawal_audit_when_full="refuse")
    admin = gateway.admin
    gateway.failing = "no room"
    gateway.trail.record("something")
    salted = ScramCredentialUpsertion(
        name="alice", mechanism=1, iterations=4096, salt=b"salt" * 4, salted_password=b"p" * 32
    )
    answer = admin.call(AlterUserScramCredentialsRequest(deletions=[], upsertions=[salted]), 0)
    assert answer.results[0].error_code == ErrorCode.POLICY_VIOLATION
    assert "no room" in answer.results[0].error_message
    assert gateway.broker.catalogue.scram_credentials == {}
    assert not admin.connection.closed


def test_the_servers_own_changes_are_never_refused() -> None:
    gateway = Audited(kawal_audit_when_full="refuse")
    gateway.failing = "no room"
    gateway.trail.record("something")
    gateway.broker.metadata_log.append(
        records.GroupConfigs(group="g", configs={"share.heartbeat.interval.ms": "5000"}), 0
    )
    gateway.settle()
    gateway.failing = None
    gateway.advance(1_000)
    assert gateway.last("configs.changed")["resource"] == {"type": "group", "name": "g"}


def test_quotas_tokens_and_features_are_told(gateway: Audited) -> None:
    admin, log = gateway.admin, gateway.broker.metadata_log
    quota_of(admin, {"user": "a", "client-id": None}, ("producer_byte_rate", 5), ("request_percentage", 1))
    quota_of(admin, {"user": "a", "client-id": None}, ("producer_byte_rate", 6))
    assert shown(gateway.last("quotas.changed")) == (
        "client",
        "client-id=<default>, user=a",
        {"producer_byte_rate": "5.0"},
        {"producer_byte_rate": "6.0"},
    )
    token = records.DelegationTokenSet(
        token_id="t1", owner="User:a", requester="User:b", issued_ms=1, expires_ms=5, ends_ms=9
    )
    log.append(token, 0)
    gateway.settle()
    assert shown(gateway.last("token.created"))[3]["owner"] == "User:a"
    log.append(msgspec.structs.replace(token, expires_ms=7), 0)
    gateway.settle()
    assert shown(gateway.last("token.renewed")) == ("token", "t1", {"expires_ms": 5}, {"expires_ms": 7})
    log.append(records.DelegationTokenRemoved(token_id="t1"), 0)
    log.append(records.FeatureLevel(name="share.version", level=2), 0)
    gateway.settle()
    assert shown(gateway.last("token.removed")) == ("token", "t1", {"owner": "User:a"}, None)
    assert shown(gateway.last("feature.changed")) == ("feature", "share.version", None, {"level": 2})
