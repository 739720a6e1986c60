"""One group."""

from __future__ import annotations

import json

from tests.broker.gateway import Gateway
from tests.broker.groups import commit, join
from tests.broker.kit import batch, create, send
from tests.console.web.kit import Web


def test_its_partitions_are_shown_with_offset_end_and_lag() -> None:
    web = Web()
    create(web.broker.client(), "t", partitions=2)
    send(web.broker.client(), "t", batch(b"a", b"b", b"c"), 1)
    commit(web.broker.client(), "g", ("t", 1, 1))
    first, row = json.loads(web.get("/groups/g?as=json").body)
    assert (row["topic"], row["partition"], row["offset"], row["end"], row["lag"]) == ("t", 1, 1, 3, 2)
    assert (first["partition"], first["offset"], first["lag"]) == (0, None, 0)
    page = web.get("/groups/g")
    assert "0 members Behind " in page.text
    assert "2 records" in page.text
    assert page.links("1") == ["/topics/t/records?p=1&order=oldest&at=1%3A1"]
    assert "The group has no member now" in page.text


def test_its_members_are_shown() -> None:
    web = Web(broker=Gateway(group_initial_rebalance_delay_ms=0))
    create(web.broker.client(), "t")
    member, _ = join(web.broker.client(), "g")
    (row,) = json.loads(web.get("/groups/g/members?as=json").body)
    assert (row["member"], row["topics"], row["host"]) == (member, ["t"], "10.0.0.9")
    assert "· 1 member Behind" in web.get("/groups/g").text


def test_one_that_does_not_exist_is_a_sentence() -> None:
    page = Web().get("/groups/a%2Fb")
    assert (page.status, page.problem) == (404, "there is no group 'a/b'")


def test_a_name_of_a_stranger_cannot_script() -> None:
    web = Web()
    create(web.broker.client(), "t")
    commit(web.broker.client(), '"><script>x</script>/..', ("t", 0, 0))
    (href,) = web.get("/groups").links('"><script>x</script>/..')
    page = web.get(href)
    assert page.status == 200
    assert "<script>x" not in page.html


def test_read_only_offers_no_changes() -> None:
    web = Web(read_only=True)
    create(web.broker.client(), "t")
    commit(web.broker.client(), "g", ("t", 0, 0))
    page = web.get("/groups/g")
    assert page.status == 200
    assert page.links("Delete…") == []
