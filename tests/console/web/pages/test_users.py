"""Users in a browser."""

from __future__ import annotations

import json
import logging

import pytest

from tests.console.web.kit import Web


def test_a_user_is_added_listed_and_removed_by_the_name() -> None:
    web = Web()
    assert "There is no user of SCRAM yet" in web.get("/users").text
    assert "kawal users add al/ice" in web.get("/new/user?name=al%2Fice").text
    assert web.post("/new/user", name="al/ice", password="secret-7").status == 303
    (row,) = json.loads(web.get("/users?as=json").body)
    assert (row["user"], len(row["mechanisms"])) == ("al/ice", 2)
    assert "kawal users alter al/ice" in web.get("/new/user?name=al%2Fice").text
    (path,) = web.get("/users").links("Remove…")
    assert "kawal users remove al/ice" in web.get(path).text
    assert web.post(path, confirm="alice").status == 400
    assert web.post(path, confirm="al/ice").status == 303
    assert json.loads(web.get("/users?as=json").body) == []
    assert web.get(path).problem == "there is no user 'al/ice'"
    assert web.post(path, confirm="al/ice").status == 404


def test_a_password_is_in_no_page_no_log_and_no_request(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    web = Web()
    done = web.post("/new/user", name="alice", password="secret-7")
    assert "secret-7" not in web.get(done.headers["location"]).html
    assert "secret-7" not in caplog.text
    assert "secret-7" not in str(web.sent)


@pytest.mark.parametrize(("name", "password"), [("", "x"), ("a", ""), ("a\nb", "x"), ("a\0b", "x")])
def test_a_user_needs_a_name_and_a_password(name: str, password: str) -> None:
    web = Web()
    assert web.post("/new/user", name=name, password=password).status == 400
    assert json.loads(web.get("/users?as=json").body) == []


def test_a_read_only_console_has_no_form_and_sends_no_change() -> None:
    web = Web(read_only=True)
    assert 'method="post"' not in web.get("/new/user?name=a").html
    assert web.post("/new/user", name="a", password="x").status == 403
    assert web.post("/users/a/remove", confirm="a").status == 403
