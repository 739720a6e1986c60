"""The error that ends a page."""

from __future__ import annotations

from console.web.errors import PageError


def test_it_has_a_status_and_a_sentence() -> None:
    error = PageError(404, "there is no topic 't'")
    assert (error.status, str(error)) == (404, "there is no topic 't'")
