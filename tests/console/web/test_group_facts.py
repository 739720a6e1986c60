"""One group, from Kafka's requests alone."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from console.web import group_facts as module
from console.web.group_facts import GroupFacts, MemberRow, PlaceRow, group_facts
from console.wire import NotKawal
from console.wire import ask as ask_server
from protocol.messages.kawal_groups import KawalGroupsRequest
from tests.broker.gateway import Gateway
from tests.broker.groups import beating, commit, join
from tests.broker.kit import batch, create, send
from tests.console.web.kit import ADDRESS, Web


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Web:
    """Return a console on a broker that does not know Kawal's own request."""

    def ask(bootstrap: str, request: Any, version: int = 0) -> Any:
        if isinstance(request, KawalGroupsRequest):
            raise NotKawal("closed")
        return ask_server(bootstrap, request, version)

    monkeypatch.setattr(module, "ask_server", ask)
    found = Web(broker=Gateway(group_initial_rebalance_delay_ms=0))
    create(found.broker.client(), "t", partitions=2)
    send(found.broker.client(), "t", batch(b"a", b"b", b"c"), 1)
    return found


def facts(web: Web, group: str) -> GroupFacts:
    async def main() -> GroupFacts:
        return await web.console._everyone.run(group_facts, ADDRESS, group)

    return trio.run(main)


def test_a_classic_group_has_members_and_lag_of_what_it_committed(web: Web) -> None:
    client = web.broker.client()
    member = join(client, "g")
    commit(client, "g", ("t", 1, 1), member=member)
    found = facts(web, "g")
    assert found.members == [MemberRow(member[0], "test", "10.0.0.9", None, "Stable", None, None, None)]
    assert found.places == [PlaceRow("t", 1, None, 1, 3, 2, None)]
    assert not found.told


def test_a_consumer_group_tells_who_has_which_partition(web: Web) -> None:
    client = web.broker.client()
    beaten = client.call(beating("c", "m-1", 0, topics=["t"]), 1)
    assert beaten.error_code == 0
    found = facts(web, "c")
    assert [(member.member, member.topics) for member in found.members] == [("m-1", ["t"])]
    assert [(row.partition, row.member, row.lag) for row in found.places] == [(0, "m-1", 0), (1, "m-1", 3)]


def test_its_page_says_what_this_broker_does_not_tell(web: Web) -> None:
    commit(web.broker.client(), "g", ("t", 1, 1))
    page = web.get("/groups/g")
    assert page.status == 200
    assert "This broker does not tell for how long a group is behind" in page.text
