"""The hub of the views is their host."""

from __future__ import annotations

from broker.view_topics.view_host import ViewHost
from tests.broker.gateway import Gateway


def test_what_views_share_is_made_once_for_each_kind() -> None:
    host: ViewHost = Gateway().broker.views
    made: list[ViewHost] = []

    def one(host: ViewHost) -> list[int]:
        made.append(host)
        return [1]

    def other(_host: ViewHost) -> list[int]:
        return [2]

    assert host.shared(one) is host.shared(one)
    assert made == [host]
    assert host.shared(other) == [2]


def test_a_host_leads_to_the_broker_without_being_it() -> None:
    gateway = Gateway()
    host: ViewHost = gateway.broker.views
    assert host.metadata.catalogue is gateway.broker.catalogue
    assert host.loop.timers is gateway.broker.timers
    assert host.vnodes is gateway.broker.vnodes
