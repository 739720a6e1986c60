"""Changes that are asked of a node which follows: the controller makes them, as the client's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.catalogue import asking
from broker.catalogue.catalogue_records import AclAdded
from broker.catalogue.config_resources import ResourceType
from broker.config.acl_keys import STANDARD_AUTHORIZER
from broker.connections.response_errors import error_codes
from broker.handlers import APIS, FORWARDED
from broker.requests.forwarding import AWAY, LATE
from broker.security.authorized_operations import Operation
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages import describe_quorum
from protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.envelope import EnvelopeRequest
from protocol.messages.kawal_databases import DatabaseItem, KawalDatabasesRequest
from protocol.messages.kawal_topics import TopicAction
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.access_cases import CASES, Case
from tests.broker.client_quotas import entry
from tests.broker.cluster import Cluster
from tests.broker.gateway import Client
from tests.broker.guarded import ADMIN, ALICE, CLUSTER, rule
from tests.broker.kit import creation


def _is_sent_on(case: Case) -> bool:
    request = case.make()
    kinds = {item.resource_type for item in getattr(request, "resources", ())}
    # What shows something is answered here, and splits are refused.
    splits = case.api == ApiKey.KAWAL_TOPICS and request.action == TopicAction.SPLIT
    changes = getattr(request, "action", True) != 0 and not splits
    return case.api in FORWARDED and changes and kinds != {ResourceType.BROKER_LOGGER}


CHANGES = list(filter(_is_sent_on, CASES))
"""Requests of every API that is sent on."""

every_change = pytest.mark.parametrize("case", CHANGES, ids=lambda case: case.api.name.lower())


def making(name: str, timeout_ms: int = 1000) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[creation(name, 4)], timeout_ms=timeout_ms)


def guarded(**settings: Any) -> Cluster:
    return Cluster(2, authorizer_class_name=STANDARD_AUTHORIZER, super_users=ADMIN, **settings)


def of(cluster: Cluster, principal: str, number: int = 1) -> Client:
    client = cluster[number].client()
    client.connection.principal = principal
    return client


def codes_of(answer: Any) -> set[int]:
    """Return all error codes in an answer."""
    return set(error_codes(answer) or ()) - {0}


def take_envelope(cluster: Cluster) -> tuple[EnvelopeRequest, Callable[[Any], None]]:
    """Take the one envelope that is on its way, and what takes its answer."""
    (item,) = [item for item in cluster.sent if isinstance(item[1], EnvelopeRequest)]
    cluster.sent.remove(item)
    return item[1], item[3]


def answer_envelope(cluster: Cluster) -> None:
    """Have the controller answer the one envelope that is on its way, and nothing else."""
    request, done = take_envelope(cluster)
    done(cluster.ask(0, request, 0))
    cluster[1].settle()


def test_every_api_that_is_sent_on_is_tried_here() -> None:
    token_apis = {
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
    }
    assert {case.api for case in CHANGES} | token_apis == FORWARDED
    assert set(APIS) >= FORWARDED


def test_a_client_reads_what_it_has_written_on_either_node() -> None:
    cluster = Cluster(2)
    for name, writer, reader in (("a", 1, 0), ("b", 1, 1), ("c", 0, 1)):
        answer = cluster.call(cluster[writer].client(), making(name), 7)
        assert answer.topics[0].error_code == ErrorCode.NONE
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        found = cluster.call(cluster[reader].client(), asked, 12)
        assert len(found.topics[0].partitions) == 4


def test_the_answer_waits_until_this_node_knows_the_change() -> None:
    cluster = Cluster(2)
    client = cluster[1].client()
    client.send(making("t"), 7)
    answer_envelope(cluster)
    assert "t" in cluster[0].broker.catalogue.by_name
    assert client.answers() == []
    cluster.settle()
    assert client.answers()[0].topics[0].error_code == ErrorCode.NONE


def test_the_wait_for_the_change_ends_with_the_time_that_the_client_gives() -> None:
    cluster = Cluster(2)
    client = cluster[1].client()
    client.send(making("t", timeout_ms=500), 7)
    answer_envelope(cluster)
    cluster[1].advance(499)
    assert client.answers() == []
    cluster[1].advance(1)
    (answer,) = client.answers()
    assert answer.topics[0].error_code == ErrorCode.NONE


@every_change
def test_while_the_controller_is_away_clients_are_told_to_look_for_it(case: Case) -> None:
    cluster = Cluster(2)
    cluster.kill(0)
    answer = cluster.call(cluster[1].client(), case.make(), case.version)
    assert codes_of(answer) == {ErrorCode.NOT_CONTROLLER}, answer


def test_the_sentence_says_that_the_change_may_have_been_made() -> None:
    cluster = Cluster(2)
    cluster.kill(0)
    answer = cluster.call(cluster[1].client(), making("t"), 7)
    assert answer.topics[0].error_message == AWAY


def test_a_controller_that_does_not_answer_is_not_waited_for_longer_than_the_client_allows() -> None:
    cluster = Cluster(2)
    client = cluster[1].client()
    client.send(making("t", timeout_ms=700), 7)
    take_envelope(cluster)
    cluster.advance(699)
    assert client.answers() == []
    cluster.advance(1)
    (answer,) = client.answers()
    assert (answer.topics[0].error_code, answer.topics[0].error_message) == (
        ErrorCode.REQUEST_TIMED_OUT,
        LATE,
    )


def test_an_answer_that_comes_too_late_or_twice_is_ignored() -> None:
    cluster = Cluster(2)
    client = cluster[1].client()
    client.send(making("t", timeout_ms=700), 7)
    request, done = take_envelope(cluster)
    cluster.advance(700)
    cluster.settle()
    assert len(client.answers()) == 1
    done(cluster.ask(0, request, 0))
    cluster.settle()
    assert client.answers() == []


def test_a_change_whose_answer_is_lost_is_made_once_and_seen_by_who_tries_again() -> None:
    cluster = Cluster(2)
    client = cluster[1].client()
    client.send(making("t"), 7)
    request, done = take_envelope(cluster)
    cluster.ask(0, request, 0)
    done(None)
    cluster.settle()
    assert client.answers()[0].topics[0].error_code == ErrorCode.NOT_CONTROLLER
    again = cluster.call(client, making("t"), 7)
    assert again.topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_topics_grow_and_go_through_either_node() -> None:
    cluster = Cluster(2)
    client = cluster[1].client()
    cluster.call(client, making("t"), 7)
    growth = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="t", count=6, assignments=None)],
        timeout_ms=1000,
        validate_only=False,
    )
    assert cluster.call(client, growth, 3).results[0].error_code == ErrorCode.NONE
    assert [node.broker.catalogue.by_name["t"].partition_count for node in cluster] == [6, 6]
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1000)
    assert cluster.call(client, request, 6).responses[0].error_code == ErrorCode.NONE
    assert ["t" in node.broker.catalogue.by_name for node in cluster] == [False, False]


@every_change
def test_what_a_principal_may_not_do_it_may_not_do_through_another_node(case: Case) -> None:
    cluster = guarded()
    direct = cluster.call(of(cluster, ALICE, 0), case.make(), case.version)
    through = cluster.call(of(cluster, ALICE), case.make(), case.version)
    assert codes_of(through) == codes_of(direct)
    assert codes_of(through), through


def test_a_rule_that_names_the_clients_host_counts_through_another_node() -> None:
    cluster = guarded()
    allowed = rule(Operation.CREATE, CLUSTER, "kafka-cluster", host="10.0.0.7")
    cluster[0].broker.metadata_log.append(AclAdded(**allowed._asdict()), cluster[0].now_ms)
    cluster.settle()
    for host, wanted in (
        ("10.0.0.7", ErrorCode.NONE),
        ("::ffff:10.0.0.7", ErrorCode.TOPIC_ALREADY_EXISTS),
        ("10.0.0.8", ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    ):
        client = cluster[1].client(host)
        client.connection.principal = ALICE
        answer = cluster.call(client, making("t"), 7)
        assert answer.topics[0].error_code == wanted


def test_the_envelope_goes_to_the_controller_and_to_nobody_else() -> None:
    cluster = Cluster(3)
    cluster[2].client().send(making("t"), 7)
    sent = [node_id for node_id, request, *_ in cluster.sent if isinstance(request, EnvelopeRequest)]
    assert sent == [0]


def test_the_quorum_is_the_controllers_whichever_node_is_asked() -> None:
    cluster = Cluster(3)
    topic = describe_quorum.RequestTopicData(
        topic_name="__cluster_metadata", partitions=[describe_quorum.RequestPartitionData(partition_index=0)]
    )
    request = describe_quorum.DescribeQuorumRequest(topics=[topic])
    answers = [cluster.call(node.client(), request, 2) for node in cluster]
    for answer in answers:
        assert answer.topics[0].partitions[0].leader_id == 0
        assert [(node.node_id, node.listeners[0].host, node.listeners[0].port) for node in answer.nodes] == [
            (0, "gateway", 9092)
        ]


def test_a_client_above_its_quota_of_changes_is_not_read_at_the_node_that_it_is_connected_to() -> None:
    cluster = Cluster(2)
    change = entry({"client-id": "test"}, ("controller_mutation_rate", 1.0))
    cluster.call(cluster[1].client(), AlterClientQuotasRequest(entries=[change], validate_only=False), 1)
    client, other = cluster[1].client(), cluster[1].client()
    assert cluster.call(client, making("a", 1_000), 7).throttle_time_ms == 0
    for number in range(5):
        answer = cluster.call(client, making(f"b{number}"), 7)
        if answer.throttle_time_ms:
            break
    assert answer.topics[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    client.send(MetadataRequest(topics=[]), 12)
    cluster.advance(answer.throttle_time_ms - 1)
    assert client.answers() == []
    assert cluster.call(other, MetadataRequest(topics=[]), 12).throttle_time_ms == 0
    cluster.advance(1)
    assert len(client.answers()) == 1


@pytest.mark.parametrize(("names", "in_threads"), [(1, 0), (2_000, 2)])
def test_wide_requests_are_encoded_and_the_answers_to_joined_ones_decoded_in_threads(
    monkeypatch: pytest.MonkeyPatch, names: int, in_threads: int
) -> None:
    """Messages that are not hot take a millisecond for each 2 KB."""
    cluster = Cluster(2)
    client, offload = cluster[1].client(), cluster[1].broker.scheduler.offload
    threads: list[bool] = []

    def counting(work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        def counted() -> object:
            threads.append(True)
            try:
                return work()
            finally:
                threads.pop()

        offload(counted, done)

    coded: list[str] = []

    def noted(name: str) -> None:
        function = getattr(asking, name)

        def call(*arguments: Any) -> Any:
            if threads:
                coded.append(name)
            return function(*arguments)

        monkeypatch.setattr(asking, name, call)

    monkeypatch.setattr(cluster[1].broker.scheduler, "offload", counting)
    noted("encode")
    noted("decode")
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=f"t{n}") for n in range(names)], timeout_ms=1)
    client.send(request, 6)
    cluster.settle()
    asked = KawalDatabasesRequest(
        action=0, databases=[DatabaseItem(name=f"database-{n}", settings=[]) for n in range(names)]
    )
    client.send(asked, 0)
    cluster.settle()
    assert coded.count("encode") == in_threads
    assert coded.count("decode") == in_threads // 2
