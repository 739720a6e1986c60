"""A client that asks through another node stays known to the controller: to its rules and its audit."""

from __future__ import annotations

import json
from typing import Any

from broker.config.acl_keys import STANDARD_AUTHORIZER
from broker.security.audit_trail import Batch, Done
from broker.server.audit_file import line_of
from broker.server.audit_setup import make_trail
from protocol.error_codes import ErrorCode
from protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.broker.cluster import Cluster
from tests.broker.gateway import Client
from tests.broker.guarded import ADMIN, ALICE
from tests.broker.kit import creation

SECRET = {"delegation_token_secret_key": "a-secret-of-the-cluster"}


class TokenLogin:
    """The login of a client that has shown a token."""

    is_ready = True
    by_token = True
    expects_raw = False

    def admits(self, _call: Any, _now_ms: int) -> bool:
        return True


def of(cluster: Cluster, principal: str, number: int = 1) -> Client:
    client = cluster[number].client("10.0.0.7")
    client.connection.principal, client.connection.listener = principal, "INSIDE"
    return client


def making(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[creation(name)], timeout_ms=1000)


def asking_token() -> CreateDelegationTokenRequest:
    return CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1)


def test_the_controllers_audit_tells_the_client_and_not_the_node() -> None:
    cluster = Cluster(
        2, authorizer_class_name=STANDARD_AUTHORIZER, super_users=ADMIN, kawal_audit_file="/audit.log"
    )
    events: list[Any] = []

    def write(batch: Batch, done: Done) -> None:
        events.extend(map(json.loads, map(line_of, batch.events)))
        done(None)

    make_trail(cluster[0].broker, cluster[0].config, write)
    denied = cluster.call(of(cluster, ALICE), making("t"), 7)
    assert denied.topics[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    made = cluster.call(of(cluster, ADMIN), making("t"), 7)
    assert made.topics[0].error_code == ErrorCode.NONE
    cluster.advance(1000)
    told = {
        event["event"]: (event["user"], event["address"].rpartition(":")[0], event["listener"])
        for event in events
        if event["event"] in ("request.denied", "topic.created") and event["user"] in (ALICE, ADMIN)
    }
    assert told == {
        "request.denied": (ALICE, "10.0.0.7", "INSIDE"),
        "topic.created": (ADMIN, "10.0.0.7", "INSIDE"),
    }


def test_an_audited_node_deletes_no_records_that_another_leads() -> None:
    cluster = Cluster(2, kawal_audit_file="/audit.log")
    make_trail(cluster[1].broker, cluster[1].config, lambda _batch, done: done(None))
    cluster.call(of(cluster, ADMIN), CreateTopicsRequest(topics=[creation("t", 2)], timeout_ms=1000), 7)
    partitions = [DeleteRecordsPartition(partition_index=index, offset=0) for index in range(2)]
    topic = DeleteRecordsTopic(name="t", partitions=partitions)
    answer = cluster.call(of(cluster, ADMIN), DeleteRecordsRequest(topics=[topic], timeout_ms=1000), 2)
    codes = {item.error_code for item in answer.topics[0].partitions}
    assert codes == {ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER}


def test_tokens_are_made_renewed_and_ended_through_another_node() -> None:
    cluster = Cluster(2, **SECRET)
    client = of(cluster, ALICE)
    token = cluster.call(client, asking_token(), 3)
    assert token.error_code == ErrorCode.NONE
    for number in range(2):
        asked = DescribeDelegationTokenRequest(owners=None)
        (found,) = cluster.call(of(cluster, ALICE, number), asked, 3).tokens
        assert (found.token_id, found.hmac) == (token.token_id, token.hmac)
    renewed = cluster.call(client, RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=5000), 2)
    assert renewed.error_code == ErrorCode.NONE
    ended = cluster.call(client, ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=-1), 2)
    assert ended.error_code == ErrorCode.NONE
    assert cluster.call(client, DescribeDelegationTokenRequest(owners=None), 3).tokens == []


def test_who_is_known_by_a_token_gets_no_other_through_another_node() -> None:
    cluster = Cluster(2, **SECRET)
    client = of(cluster, ALICE)
    login: Any = TokenLogin()
    client.connection.login = login
    answer = cluster.call(client, asking_token(), 3)
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def test_tokens_that_have_expired_are_removed_by_the_controller_alone() -> None:
    minute_ms = 60_000
    short = {"delegation_token_expiry_time_ms": 1000, "delegation_token_expiry_check_interval_ms": 5000}
    cluster = Cluster(2, **SECRET, **short)
    assert cluster.call(of(cluster, ALICE), asking_token(), 3).error_code == ErrorCode.NONE
    cluster[1].advance(minute_ms)
    assert len(cluster[1].broker.catalogue.tokens) == 1
    cluster[0].advance(minute_ms)
    cluster.settle()
    assert [len(node.broker.catalogue.tokens) for node in cluster] == [0, 0]
