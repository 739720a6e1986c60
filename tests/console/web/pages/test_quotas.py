"""Quotas in a browser."""

from __future__ import annotations

import json

import pytest

from protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from tests.console.web.kit import Web


def rows(web: Web) -> list[tuple[str, str, str]]:
    return [tuple(row.values()) for row in json.loads(web.get("/quotas?as=json").body)]


def test_a_quota_is_set_changed_and_removed_after_a_plan() -> None:
    web = Web()
    assert "There is no quota" in web.get("/quotas").text
    page = web.get("/new/quota?user=alice&client_id=*&quota=fetch-bytes&value=1048576")
    assert "kawal quotas set --user alice --default-client-id --fetch-bytes 1048576" in page.text
    assert "none 1048576" in page.text
    assert rows(web) == []
    form = {"user": "alice", "client_id": "*", "quota": "fetch-bytes"}
    assert web.send("/new/quota", {**form, "value": "1048576"}).status == 303
    (row,) = rows(web)
    assert row[1:] == ("fetch-bytes", "1048576")
    (path,) = web.get("/quotas").links(row[0])
    assert "1048576 1048576" in web.get(path).text
    page = web.get("/new/quota?user=alice&client_id=*&quota=fetch-bytes")
    assert "kawal quotas remove --user alice --default-client-id --only fetch-bytes" in page.text
    assert web.send("/new/quota", {**form, "value": ""}).status == 303
    assert rows(web) == []
    page = web.get("/new/quota?user=alice&client_id=*&quota=fetch-bytes")
    assert page.problem == "there is no such quota"


@pytest.mark.parametrize("value", ["many", "nan", "inf", "-1", "0"])
def test_what_is_no_rate_is_a_sentence(value: str) -> None:
    web = Web()
    assert web.get(f"/new/quota?user=a&quota=fetch-bytes&value={value}").status == 400
    assert web.post("/new/quota", user="a", quota="fetch-bytes", value=value).status == 400
    assert web.post("/new/quota", quota="fetch-bytes", value="1").status == 400
    assert rows(web) == []


def test_a_read_only_console_sends_no_change() -> None:
    web = Web(read_only=True)
    assert web.get("/new/quota?user=a&value=1").status == 200
    assert web.post("/new/quota", user="a", quota="fetch-bytes", value="1").status == 403
    assert not [sent for sent in web.sent if isinstance(sent, AlterClientQuotasRequest)]
