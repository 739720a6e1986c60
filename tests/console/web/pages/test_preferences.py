"""The page of settings."""

from __future__ import annotations

from tests.broker.kit import batch, create, send
from tests.console.web.kit import Web


def test_choices_are_kept_in_a_cookie_and_used() -> None:
    web = Web()
    create(web.broker.client(), "t")
    send(web.broker.client(), "t", batch(b"v"))
    answer = web.post("/settings", zone="Asia/Kolkata", theme="dark")
    assert (answer.status, answer.headers["location"]) == (303, "/settings")
    cookie = answer.headers["set-cookie"].partition(";")[0]
    page = web.get("/topics/t/records", headers={"Cookie": cookie})
    assert "2023-11-15T03:43:20.000+05:30" in page.text
    assert 'data-theme="dark"' in page.html
    assert "2023-11-14T22:13:20.000Z" in web.get("/topics/t/records").text


def test_what_cannot_be_is_refused() -> None:
    page = Web().post("/settings", zone="<Mars>", theme="dark")
    assert (page.status, "<Mars>" in page.problem) == (400, True)


def test_it_asks_no_broker() -> None:
    web = Web()
    web.away = True
    assert web.get("/settings").status == 200
