"""The partitions of a deleted topic are closed some at a time, and what waits for them is answered."""

from __future__ import annotations

from broker.catalogue.closed_partitions import CLOSED_AT_ONCE, close_partitions
from tests.broker.gateway import Gateway
from tests.broker.kit import create


class Closing:
    """A partition that tells when it is closed."""

    def __init__(self, index: int, closed: list[int]) -> None:
        self.wait_key = index
        self._closed = closed

    def close(self) -> None:
        self._closed.append(self.wait_key)


def test_few_are_closed_at_once_and_many_in_steps(gateway: Gateway) -> None:
    broker = gateway.broker
    create(gateway.client(), "t")
    topic = broker.find_topic("t")
    for count, at_once in ((CLOSED_AT_ONCE, CLOSED_AT_ONCE), (CLOSED_AT_ONCE + 1, 0)):
        closed: list[int] = []
        topic.partitions = {index: Closing(index, closed) for index in range(count)}  # type: ignore[misc]
        close_partitions(topic, broker.waiters, broker.scheduler, broker.clock)
        assert (len(closed), topic.partitions) == (at_once, {})
        gateway.settle()
        assert closed == list(range(count))


def test_what_is_opened_meanwhile_is_kept(gateway: Gateway) -> None:
    create(gateway.client(), "t", CLOSED_AT_ONCE + 1)
    for index in range(CLOSED_AT_ONCE + 1):
        gateway.partition("t", index)
    topic = gateway.broker.find_topic("t")
    close_partitions(topic, gateway.broker.waiters, gateway.broker.scheduler, gateway.broker.clock)
    opened = gateway.partition("t")
    gateway.settle()
    assert topic.partitions == {0: opened}
