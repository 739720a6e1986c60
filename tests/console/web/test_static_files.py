"""Static files come from a table."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest

import console.web
from console.web.static_files import FILES, StaticFiles
from tests.console.web.kit import Web

FOLDER = Path(console.web.__file__).parent / "static"


def test_a_file_is_served_for_ever_under_the_name_of_its_content() -> None:
    path = StaticFiles().path("console.css")
    answer = Web().get(path)
    assert answer.body == (FOLDER / "console.css").read_bytes()
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_a_browser_that_has_it_gets_nothing_new() -> None:
    path = StaticFiles().path("console.js")
    tag = Web().get(path).headers["etag"]
    answer = Web().get(path, headers={"If-None-Match": tag})
    assert (answer.status, answer.body) == (304, b"")


def test_it_is_compressed_once_for_all() -> None:
    path = StaticFiles().path("vendor/htmx.js")
    answer = Web().get(path, headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(answer.body) == (FOLDER / "vendor" / "htmx.js").read_bytes()


@pytest.mark.parametrize(
    "path",
    [
        "/static/console.css",
        "/static/../site.py",
        "/static/%2e%2e/site.py",
        "/static/0/console.css",
        "/static/",
    ],
)
def test_nothing_else_is(path: str) -> None:
    assert Web().get(path).status == 404


def test_it_cannot_be_changed_and_not_be_read_from_other_sites() -> None:
    path = StaticFiles().path("console.css")
    assert Web().post(path).status == 405
    assert Web().get(path, headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "style"}).status == 403
    assert Web().get(path, headers={"Host": "evil.example"}).status == 421


def test_those_who_have_not_logged_in_see_the_form_in_colour() -> None:
    assert Web(login=True).get(StaticFiles().path("console.css")).status == 200


def test_every_file_there_is_is_in_the_table() -> None:
    there = {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.is_file()}
    assert there - set(FILES) == {"vendor/list.json", "vendor/htmx.LICENSE"} | {
        f"vendor/{entry['licence_into']}"
        for entry in json.loads((FOLDER / "vendor" / "list.json").read_text())
    }


def test_files_of_others_are_those_of_the_list() -> None:
    for entry in json.loads((FOLDER / "vendor" / "list.json").read_text()):
        data = (FOLDER / "vendor" / entry["into"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == entry["sha256"], entry["name"]
        assert (FOLDER / "vendor" / entry["licence_into"]).read_text().strip()


def test_the_first_page_loads_at_most_40_kb() -> None:
    files = ("console.css", "console.js", "icon.svg", "vendor/htmx.js")
    sizes = [len(gzip.compress((FOLDER / name).read_bytes())) for name in files]
    assert sum(sizes) + len(gzip.compress(Web().get("/").body)) <= 40_000
    assert len((FOLDER / "console.css").read_bytes()) <= 15_000
