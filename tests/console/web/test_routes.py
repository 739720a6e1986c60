"""The table of pages."""

from __future__ import annotations

import pytest

from console.web.routes import ROUTES, Table
from console.web.visit import Answer, Visit, get


async def page(_: Visit) -> Answer:
    raise AssertionError


TABLE = Table((get("/topics", page), get("/topics/new", page), get("/topics/{topic}/x/{offset}", page)))


def test_names_may_hold_anything_that_is_encoded() -> None:
    found = TABLE.find("GET", "/topics/a%2Fb%3F%00%C3%BC/x/7")
    assert found is not None
    assert found.names == {"topic": "a/b?\0ü", "offset": "7"}


@pytest.mark.parametrize(
    "path", ["", "/", "/topics/", "/topics//x/7", "/topics/a/x/7/", "/topics/a/b/x/7", "topics"]
)
def test_other_paths_have_no_page(path: str) -> None:
    assert TABLE.find("GET", path) is None


def test_head_is_get_and_methods_are_told() -> None:
    assert TABLE.find("HEAD", "/topics") is not None
    assert TABLE.find("POST", "/topics") is None
    assert TABLE.methods("/topics") == ["GET", "HEAD"]


def test_no_row_hides_another() -> None:
    table = Table(ROUTES)
    for route in ROUTES:
        path = "/".join("x" if part.startswith("{") else part for part in route.pattern.split("/"))
        found = table.find(route.method, path)
        assert found is not None
        assert found.route == route


def test_what_changes_something_is_never_a_get() -> None:
    assert [route for route in ROUTES if route.changes and route.method == "GET"] == []
    assert {route.method for route in ROUTES} <= {"GET", "POST"}
