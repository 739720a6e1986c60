"""The entries of kawal.session.headers."""

from __future__ import annotations

import pytest

from broker.config.session_headers import ENTRIES_MAX, SESSION_BYTES_MAX, problem_of, session_headers

ENTRIES = (
    "client:gw:1:site=plant-4",
    "client:gw:1:line=a=b:c",
    "transaction:loader:site=office",
    "transaction:loader:empty=",
)


def test_an_id_may_have_colons_and_a_value_anything_but_a_comma() -> None:
    assert problem_of(ENTRIES) is None
    assert session_headers(ENTRIES, "gw:1", None) == (("site", b"plant-4"), ("line", b"a=b:c"))


def test_where_both_ids_give_a_header_that_of_the_transactional_id_counts() -> None:
    assert session_headers(ENTRIES, "gw:1", "loader") == (
        ("site", b"office"),
        ("line", b"a=b:c"),
        ("empty", b""),
    )


@pytest.mark.parametrize(("client", "transaction"), [("gw", None), (None, None), ("loader", "gw:1")])
def test_other_producers_get_none(client: str | None, transaction: str | None) -> None:
    assert session_headers(ENTRIES, client, transaction) == ()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("site=plant", "is not client:ID:NAME=VALUE"),
        ("user:gw:site=plant", "is not client:ID:NAME=VALUE"),
        ("client:gw:site", "is not client:ID:NAME=VALUE"),
        ("client::site=plant", "is not client:ID:NAME=VALUE"),
        ("client:gw:=plant", "is not client:ID:NAME=VALUE"),
        ("client:gw:kawal-producer-id=x", "Kawal's own"),
        ("client:gw:1:site=other", "has a header 'site' already"),
        ("client:new:" + "x=" + "é" * (SESSION_BYTES_MAX // 2), "take more than 1024 bytes"),
    ],
)
def test_what_is_wrong_with_an_entry_is_said(entry: str, said: str) -> None:
    assert said in (problem_of((*ENTRIES, entry)) or "")


def test_the_number_of_entries_is_limited() -> None:
    entries = [f"client:{number}:a=b" for number in range(ENTRIES_MAX + 1)]
    assert problem_of(entries[1:]) is None
    assert "are the most" in (problem_of(entries) or "")
