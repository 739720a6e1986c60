"""The rights of one client."""

from __future__ import annotations

from broker.security.authorized_operations import CLUSTER_OPERATIONS, Operation, bits
from broker.security.authorizer import Authorizer, Policy
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
