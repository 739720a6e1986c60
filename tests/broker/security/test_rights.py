"""The rights of one client."""

from __future__ import annotations

from broker.security.authorized_operations import CLUSTER_OPERATIONS, Operation, bits
from broker.security.authorizer import REMEMBERED_MAX, Authorizer, Policy
from broker.security.rights import Rights
from tests.broker.guarded import ALICE, CLUSTER, GROUP, TOPIC, TRANSACTION, rule


def rights(*rules: object) -> Rights:
    return Rights(Authorizer(acls=rules), ALICE, "10.0.0.9")  # type: ignore[arg-type]


def test_each_kind_of_resource_has_names_of_its_own() -> None:
    mine = rights(rule(Operation.READ, TOPIC, "a"), rule(Operation.READ, GROUP, "b"))
    assert mine.may_topic(Operation.READ, "a")
    assert not mine.may_topic(Operation.READ, "b")
    assert mine.may_group(Operation.READ, "b")
    assert not mine.may_transactional_id(Operation.READ, "a")
    assert rights(rule(Operation.WRITE, TRANSACTION, "x")).may_transactional_id(Operation.DESCRIBE, "x")


def test_the_bits_are_the_operations_that_exist_for_the_kind() -> None:
    mine = rights(rule(Operation.ALL, GROUP, "g"), rule(Operation.READ, TOPIC, "t"))
    assert mine.operations(TOPIC, "t") == bits(Operation.READ, Operation.DESCRIBE)
    assert mine.operations(GROUP, "g") == 3400


def test_the_bits_of_the_cluster_need_describe() -> None:
    assert rights(rule(Operation.CREATE, CLUSTER, "kafka-cluster")).operations(CLUSTER, "kafka-cluster") == 0
    admin = Rights(Authorizer(Policy(frozenset({ALICE}))), ALICE, "10.0.0.9")
    assert admin.operations(CLUSTER, "kafka-cluster") == CLUSTER_OPERATIONS


def test_some_topic_is_enough_for_an_idempotent_producer() -> None:
    assert rights(rule(Operation.WRITE, TOPIC, "t")).may_some_topic(Operation.WRITE)
    assert not rights(rule(Operation.READ, TOPIC, "t")).may_some_topic(Operation.WRITE)


def test_what_is_known_about_topics_is_forgotten_when_rules_change() -> None:
    allowed = rule(Operation.READ, TOPIC, "t")
    authorizer = Authorizer(acls=[allowed])
    first, second = (Rights(authorizer, ALICE, "10.0.0.9") for _ in range(2))
    assert first.may_topic(Operation.READ, "t")
    authorizer.remove(allowed)
    assert not first.may_topic(Operation.READ, "t")
    assert not second.may_topic(Operation.READ, "t")
    authorizer.add(allowed)
    assert second.may_topic(Operation.READ, "t")
    authorizer.configure(Policy(frozenset({ALICE})))
    assert first.may_topic(Operation.ALTER, "other")


def test_the_topics_that_are_known_about_are_bounded_and_end_with_their_clients() -> None:
    authorizer = Authorizer(acls=[rule(Operation.READ, TOPIC, "t0")])
    idle = [Rights(authorizer, ALICE, f"10.0.0.{number}") for number in range(3)]
    for mine in idle:
        for number in range(REMEMBERED_MAX):
            mine.may_topic(Operation.READ, f"t{number}")
    assert [len(authorizer.topics_of(ALICE, f"10.0.0.{number}")) for number in range(3)] == [
        0,
        0,
        REMEMBERED_MAX,
    ]
    assert all(mine.may_topic(Operation.READ, "t0") for mine in idle)
    del idle, mine
    assert len(authorizer.topics_of(ALICE, "10.0.0.2")) == 0
