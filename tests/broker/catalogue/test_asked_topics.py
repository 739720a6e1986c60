"""Topics that a Metadata request creates through a node that follows the catalogue."""

from __future__ import annotations

from typing import Any

from broker.catalogue.asked_topics import WAIT_MS
from broker.config.acl_keys import STANDARD_AUTHORIZER
from broker.security.authorized_operations import Operation
from protocol.error_codes import ErrorCode
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.envelope import EnvelopeRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.cluster import Cluster
from tests.broker.gateway import Client
from tests.broker.guarded import ADMIN, ALICE


def asking(*names: str) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])


def codes(answer: Any) -> dict[str, int]:
    return {topic.name: topic.error_code for topic in answer.topics}


def of(cluster: Cluster, principal: str) -> Client:
    client = cluster[1].client()
    client.connection.principal = principal
    return client


def allow(cluster: Cluster, operation: Operation, name: str) -> None:
    rule = AclCreation(
        resource_type=2,
        resource_name=name,
        resource_pattern_type=3,
        principal=ALICE,
        host="*",
        operation=operation,
        permission_type=3,
    )
    answer = cluster.call(of(cluster, ADMIN), CreateAclsRequest(creations=[rule]), 3)
    assert answer.results[0].error_code == ErrorCode.NONE


def test_a_topic_that_is_asked_for_is_made_and_shown_with_its_leaders() -> None:
    cluster = Cluster(2, num_partitions=4)
    answer = cluster.call(cluster[1].client(), asking("t", "u"), 12)
    assert codes(answer) == {"t": 0, "u": 0}
    assert {part.leader_id for part in answer.topics[0].partitions} == {0, 1}
    assert set(cluster[0].broker.catalogue.by_name) >= {"t", "u"}


def test_a_wrong_name_is_refused_and_the_others_are_made() -> None:
    cluster = Cluster(2)
    answer = cluster.call(cluster[1].client(), asking("t", "a b"), 12)
    assert codes(answer) == {"t": ErrorCode.NONE, "a b": ErrorCode.INVALID_TOPIC_EXCEPTION}


def test_no_more_topics_are_made_than_one_request_may_make() -> None:
    cluster = Cluster(2, num_partitions=4, kawal_max_partitions_per_request=9)
    answer = cluster.call(cluster[1].client(), asking("a", "b", "c"), 12)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes(answer) == {"a": 0, "b": 0, "c": unknown}


def test_while_the_controller_is_away_a_topic_is_unknown_and_may_be_asked_for_again() -> None:
    cluster = Cluster(2)
    cluster.kill(0)
    answer = cluster.call(cluster[1].client(), asking("t"), 12)
    assert codes(answer) == {"t": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_a_controller_that_does_not_answer_holds_nobody_up_for_long() -> None:
    cluster = Cluster(2)
    client = cluster[1].client()
    client.send(asking("t"), 12)
    cluster.sent[:] = [item for item in cluster.sent if not isinstance(item[1], EnvelopeRequest)]
    cluster.advance(WAIT_MS)
    assert codes(client.answers()[0]) == {"t": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_rules_decide_about_the_client_that_asks() -> None:
    cluster = Cluster(2, authorizer_class_name=STANDARD_AUTHORIZER, super_users=ADMIN)
    allow(cluster, Operation.DESCRIBE, "t")
    answer = cluster.call(of(cluster, ALICE), asking("t"), 12)
    assert codes(answer) == {"t": ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    allow(cluster, Operation.CREATE, "t")
    assert codes(cluster.call(of(cluster, ALICE), asking("t"), 12)) == {"t": ErrorCode.NONE}
