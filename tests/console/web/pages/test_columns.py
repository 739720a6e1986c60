"""Columns that a topic's records propose."""

from __future__ import annotations

from urllib.parse import quote

from tests.broker.kit import batch, create, send
from tests.console.web.kit import Web


def orders(*values: bytes, **settings: object) -> Web:
    web = Web(**settings)  # type: ignore[arg-type]
    create(web.broker.client(), "orders")
    if values:
        send(web.broker.client(), "orders", batch(*values))
    return web


def test_columns_are_proposed_planned_and_declared() -> None:
    web = orders(b'{"id":1,"total":12.5}', b'{"id":2,"total":3}', b"no json")
    page = web.get("/topics/orders/columns")
    assert "2 of 3 records looked at are JSON objects" in page.text
    assert ">id bigint, total double</textarea>" in page.html
    plan = web.get("/topics/orders/columns?columns=" + quote("id bigint, total double"))
    assert "kawal topics alter orders --config 'kawal.columns=id bigint, total double'" in plan.text
    assert web.get("/topics/orders/records?where=total+%3E+5").status == 400
    assert web.post("/topics/orders/columns", columns="id bigint, total double").status == 303
    assert "1 found" in web.get("/topics/orders/records?where=total+%3E+5").text


def test_a_wrong_type_is_told_before_anything_is_changed() -> None:
    web = orders(b'{"id":1}')
    plan = web.get("/topics/orders/columns?columns=id+uuid")
    assert "column 'id' has the unknown type 'uuid'" in plan.problem
    assert 'class="change"' not in plan.html


def test_a_topic_without_objects_or_records_is_told_so() -> None:
    assert "nothing to propose" in orders(b"a", b"1").get("/topics/orders/columns").text
    assert "The topic is empty" in orders().get("/topics/orders/columns").text
