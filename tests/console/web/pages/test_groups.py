"""The list of groups."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console.web import group_list
from console.wire import ask as ask_server
from protocol.messages.kawal_groups import KawalGroupsRequest
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from tests.broker.groups import commit
from tests.broker.kit import batch, create, send
from tests.console.web.kit import Web


@pytest.fixture
def web() -> Web:
    found = Web()
    client = found.broker.client()
    create(client, "t", partitions=2)
    send(client, "t", batch(b"a", b"b", b"c"), 1)
    commit(client, "late", ("t", 1, 1))
    commit(client, "done", ("t", 1, 3))
    found.broker.now_ms += 5_000
    return found


def listed(web: Web, query: str = "") -> list[dict[str, Any]]:
    answer = web.get(f"/groups?as=json&{query}")
    assert answer.status == 200, answer.problem
    found: list[dict[str, Any]] = json.loads(answer.body)
    return found


def test_each_has_its_type_state_members_and_lag(web: Web) -> None:
    done, late = listed(web)
    assert (late["group"], late["type"], late["state"], late["members"]) == ("late", "classic", "Empty", 0)
    assert (late["lag"], done["lag"]) == (2, 0)
    assert late["lag_seconds"] == 5.0
    page = web.get("/groups")
    assert page.links("late") == ["/groups/late"]


def test_groups_are_found_by_a_part_of_their_name_and_by_state(web: Web) -> None:
    assert [row["group"] for row in listed(web, "q=AT")] == ["late"]
    assert [row["group"] for row in listed(web, "state=Empty")] == ["done", "late"]
    assert listed(web, "state=Stable") == []
    assert "No group fits; 2 groups there are in all" in web.get("/groups?state=Stable").text


def test_those_behind_come_first_if_so_wished(web: Web) -> None:
    assert [row["group"] for row in listed(web, "sort=-lag")] == ["late", "done"]
    assert [row["group"] for row in listed(web, "sort=-seconds")] == ["late", "done"]
    assert web.get("/groups?sort=x").status == 400


def test_without_groups_the_page_says_how_to_make_one() -> None:
    assert "kcat -b gateway:9092 -G billing orders" in Web().get("/groups").text


def test_10_000_groups_are_two_requests_and_200_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [ListedGroup(group_id=f"group-{number:05}", protocol_type="consumer") for number in range(10_000)]
    asked: list[Any] = []

    def ask(bootstrap: str, request: Any, version: int = 0) -> Any:
        asked.append(request)
        if isinstance(request, KawalGroupsRequest):
            return ask_server(bootstrap, request, version)
        return ListGroupsResponse(groups=many)

    monkeypatch.setattr(group_list, "ask_server", ask)
    page = Web().get("/groups?skip=200")
    assert len(asked) == 2
    assert len(asked[1].group_ids) == 200
    assert len(page.body) < 300_000
    assert page.html.count('<th scope="row">') == 200
    assert "201 to 400 of 10,000 groups" in page.text
