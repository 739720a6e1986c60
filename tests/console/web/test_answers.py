"""Answers as bytes; streams are tested in test_site."""

from __future__ import annotations

import pytest

from console.web.answers import AnswerPages, event_bytes, own_path
from console.web.visit import Download, Redirect, Settings


@pytest.mark.parametrize("path", ["/", "/topics?q=a", "/groups/a%2Fb"])
def test_a_path_of_ours_stays(path: str) -> None:
    assert own_path(path) == path


@pytest.mark.parametrize(
    "path", ["", "topics", "//evil.example", "/\\evil.example", "http://evil.example", "/a\r\nX: y", "/ä"]
)
def test_what_leads_elsewhere_leads_to_the_overview(path: str) -> None:
    assert own_path(path) == "/"


def test_a_redirection_sets_its_cookies() -> None:
    page = AnswerPages(Settings("b:1")).other(Redirect("/topics", ("a=1", "b=2")))
    assert page.status == 303
    assert [value for name, value in page.headers if name == "Set-Cookie"] == ["a=1", "b=2"]
    assert ("Location", "/topics") in page.headers


def test_a_download_is_an_attachment_of_bytes_in_a_sandbox() -> None:
    page = AnswerPages(Settings("b:1")).other(Download(b"<script>", 'a"\r\nb/ü.value'))
    headers = dict(page.headers)
    assert page.content_type == "application/octet-stream"
    assert headers["Content-Security-Policy"].startswith("sandbox")
    assert headers["Content-Disposition"] == (
        "attachment; filename=\"a___b__.value\"; filename*=UTF-8''a%22%0D%0Ab%2F%C3%BC.value"
    )


def test_an_event_keeps_its_lines_and_lets_none_be_forged() -> None:
    assert event_bytes("a\r\nid: 9\rb", "row", "1") == b"id: 1\nevent: row\ndata: a\ndata: id: 9\ndata: b\n\n"
