"""The bit fields of operations: the numbers that Apache Kafka 4.3.1 sends."""

from broker.security.authorized_operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS, Operation, bits


def test_the_sums_are_kafkas() -> None:
    assert (TOPIC_OPERATIONS, CLUSTER_OPERATIONS) == (3576, 8096)


def test_each_operation_is_the_bit_of_its_number() -> None:
    assert bits(Operation.READ, Operation.WRITE) == 0b11000
