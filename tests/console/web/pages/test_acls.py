"""Access rules in a browser."""

from __future__ import annotations

import json

import pytest

from protocol.messages.create_acls import CreateAclsRequest
from tests.broker.guarded import Guarded
from tests.console.web.kit import Web

RULE = {
    "principal": "alice",
    "permission": "allow",
    "operation": "read",
    "resource": "topic",
    "name": "orders",
    "pattern": "prefixed",
}


@pytest.fixture
def web() -> Web:
    """Return a console that acts as a super user."""
    return Web(broker=Guarded(super_users="User:ANONYMOUS"))


def test_a_rule_is_shown_in_words_added_listed_and_removed(web: Web) -> None:
    assert "There is no rule" in web.get("/acls").text
    page = web.get("/new/acl?" + "&".join(f"{name}={value}" for name, value in RULE.items()))
    assert "kawal acls add --user User:alice --operation read --topic orders --prefixed" in page.text
    assert "allow User:alice from *: read on topic names that begin with orders" in page.text
    assert json.loads(web.get("/acls?as=json").body) == []
    assert web.send("/new/acl", RULE).status == 303
    (row,) = json.loads(web.get("/acls?user=alice&as=json").body)
    assert row == {**RULE, "principal": "User:alice", "host": "*"}
    assert json.loads(web.get("/acls?user=bob&as=json").body) == []
    (path,) = web.get("/acls").links("Remove…")
    assert "--yes" in web.get(path).text
    assert web.send("/acls/remove", RULE).status == 303
    assert json.loads(web.get("/acls?as=json").body) == []


def test_removing_one_rule_leaves_those_that_are_like_it(web: Web) -> None:
    web.send("/new/acl", RULE)
    web.send("/new/acl", {**RULE, "pattern": "literal"})
    assert web.send("/acls/remove", RULE).status == 303
    (row,) = json.loads(web.get("/acls?as=json").body)
    assert row["pattern"] == "literal"
    assert web.send("/acls/remove", RULE).status == 404
    assert "there is no such rule" in web.get("/acls/remove?principal=alice&name=orders").problem


@pytest.mark.parametrize("query", ["principal=alice", "principal=alice&name=t&operation=fly"])
def test_what_is_no_rule_is_a_sentence(web: Web, query: str) -> None:
    assert web.get(f"/new/acl?{query}").status == 400


def test_a_rule_that_is_there_already_has_no_button(web: Web) -> None:
    web.send("/new/acl", RULE)
    page = web.get("/new/acl?" + "&".join(f"{name}={value}" for name, value in RULE.items()))
    assert page.problem == "there is this rule already"


def test_a_broker_without_an_authorizer_says_so() -> None:
    page = Web().get("/acls")
    assert (page.status, "has no authorizer" in page.text) == (200, True)


def test_a_user_who_may_not_see_rules_is_told(web: Web) -> None:
    assert Web(broker=Guarded()).get("/acls").status == 403


def test_a_read_only_console_offers_and_sends_no_change(web: Web) -> None:
    looking = Web(broker=web.broker, read_only=True)
    assert looking.get("/acls").links("New access rule…") == []
    assert looking.send("/new/acl", RULE).status == 403
    assert looking.send("/acls/remove", RULE).status == 403
    assert not [sent for sent in looking.sent if isinstance(sent, CreateAclsRequest)]
