"""People log in as users of the broker."""

from __future__ import annotations

from typing import Any

import pytest

from console.login import LoginRefused
from console.security import Security
from tests.broker.kit import create
from tests.console.web import kit
from tests.console.web.kit import MemoryLink, Web

SASL = Security("SASL_PLAINTEXT", "SCRAM-SHA-256")


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Web:
    """Return a console whose broker knows ada, with the password `right`."""
    from console.outgoing import rules

    class Judging(MemoryLink):
        def __init__(self, web: Web, address: str) -> None:
            over: Any = rules()
            if (over.security.user, over.security.password) != ("ada", "right"):
                raise LoginRefused(f"the broker refused the login of user {over.security.user!r}")
            super().__init__(web, address)

    monkeypatch.setattr(kit, "MemoryLink", Judging)
    found = Web(login=True, security=SASL)
    create(found.broker.client(), "t")
    return found


def cookie_of(web: Web) -> str:
    answer = web.post("/login", user="ada", password="right", back="/topics?q=t")
    assert (answer.status, answer.headers["location"]) == (303, "/topics?q=t")
    return answer.headers["set-cookie"].partition(";")[0]


def test_a_page_leads_to_the_form_and_back(web: Web) -> None:
    answer = web.get("/topics?q=t")
    assert (answer.status, answer.headers["location"]) == (303, "/login?back=%2Ftopics%3Fq%3Dt")
    form = web.get(answer.headers["location"])
    assert 'name="back" value="/topics?q=t"' in form.html
    page = web.get("/topics", headers={"Cookie": cookie_of(web)})
    assert page.status == 200
    assert "Log out ada" in page.text


def test_a_program_is_told_to_log_in(web: Web) -> None:
    assert web.get("/topics?as=json").status == 401


def test_a_wrong_password_is_the_brokers_sentence(web: Web) -> None:
    page = web.post("/login", user="ada", password="wrong")
    assert (page.status, page.problem) == (401, "the broker refused the login of user 'ada'")
    assert "wrong" not in page.html
    assert "set-cookie" not in page.headers


def test_a_name_and_a_password_are_needed(web: Web) -> None:
    assert web.post("/login", user="ada", password="").status == 400


def test_the_form_leads_nowhere_else(web: Web) -> None:
    answer = web.post("/login", user="ada", password="right", back="//evil.example")
    assert answer.headers["location"] == "/"


def test_logging_out_ends_it(web: Web) -> None:
    cookie = cookie_of(web)
    answer = web.post("/logout", headers={"Cookie": cookie})
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert web.get("/topics", headers={"Cookie": cookie}).status == 303


def test_it_ends_when_idle_for_half_an_hour(web: Web) -> None:
    cookie = cookie_of(web)
    web.clock += 30 * 60
    assert web.get("/topics", headers={"Cookie": cookie}).status == 303


def test_a_script_proves_itself_by_the_token_of_the_login(web: Web) -> None:
    cookie = cookie_of(web)
    text = web.get("/settings", headers={"Cookie": cookie}).text
    token = text.partition("X-Kawal-Token: ")[2].split()[0]
    form = {"Cookie": cookie, "Sec-Fetch-Site": ""}
    assert web.post("/settings", headers=form, zone="UTC").status == 403
    assert web.post("/settings", headers={**form, "X-Kawal-Token": token}, zone="UTC").status == 303


def test_without_logins_there_is_none() -> None:
    assert Web().post("/login", user="ada", password="x").status == 404
    assert Web().post("/logout").headers["location"] == "/"
