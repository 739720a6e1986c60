"""Asking a registry; what is asked of a real one over HTTP is in compat_tests."""

from __future__ import annotations

import io
from collections.abc import Callable
from http.client import BadStatusLine
from typing import Any
from urllib.error import HTTPError, URLError

import pytest

from registry import client as module
from registry.client import ANSWER_BYTES_MAX, Client, address_problem
from registry.errors import Unreachable

URL = "http://registry:8081"


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], list[Any]]:
    """Return a function that says what requests are answered with, and returns those that come."""

    def answer(found: Any) -> list[Any]:
        asked: list[Any] = []

        def urlopen(request: Any, timeout: float) -> Any:
            asked.append(request)
            if isinstance(found, Exception):
                raise found
            return io.BytesIO(found)

        monkeypatch.setattr(module, "urlopen", urlopen)
        return asked

    return answer


def test_a_page_is_asked_for(web: Callable[[Any], list[Any]]) -> None:
    asked = web(b'{"schema": "{}"}')
    assert Client(f"{URL}/prefix/").ask("schemas/ids/1") == {"schema": "{}"}
    assert asked[0].full_url == f"{URL}/prefix/schemas/ids/1"
    web(HTTPError(URL, 404, "gone", {}, None))  # type: ignore[arg-type]
    assert Client(URL).ask("x") is None


def test_a_name_and_a_password_are_sent_and_never_shown(web: Callable[[Any], list[Any]]) -> None:
    asked = web(b"{}")
    client = Client("http://reader:s%40me@registry:8081")
    client.ask("x")
    assert asked[0].get_header("Authorization") == "Basic cmVhZGVyOnNAbWU="
    assert client.url == URL


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (HTTPError(URL, 401, "no", {}, None), "answers 401 to"),  # type: ignore[arg-type]
        (URLError("refused"), "cannot reach the schema registry at .*: refused"),
        (TimeoutError("timed out"), "cannot reach the schema registry"),
        (BadStatusLine("SSH-2.0"), "cannot reach the schema registry"),
        (b"<html>", "does not answer with JSON"),
        (b"\xff", "does not answer with JSON"),
        (b"[" * 1_000_000, "does not answer with JSON"),
        (b" " * (ANSWER_BYTES_MAX + 1), "answers with more than"),
    ],
)
def test_a_registry_that_does_not_answer_is_told(
    found: Any, sentence: str, web: Callable[[Any], list[Any]]
) -> None:
    web(found)
    with pytest.raises(Unreachable, match=sentence):
        Client(URL).ask("x")


def test_an_answer_that_comes_byte_by_byte_ends_in_time(web: Callable[[Any], list[Any]]) -> None:
    web(b"{}")
    with pytest.raises(Unreachable, match="timed out"):
        Client(URL, timeout_seconds=0).ask("x")


@pytest.mark.parametrize(
    "url", ["localhost:8081", "file:///etc/passwd", "http://", "http://[", "http://a:99999", ""]
)
def test_an_address_of_another_kind_is_told(url: str) -> None:
    assert address_problem(url)
    assert address_problem(URL) is None
