"""Tests of groups/markdown_tables.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from groups.markdown_tables import answer_text, put_between, rewrite, table
from groups.states import GroupState
from protocol.error_codes import ErrorCode


def test_a_table_has_a_head_a_rule_and_its_rows() -> None:
    assert list(table(["a", "b"], [["1", "2"], ["3", "4"]])) == [
        "| a | b |",
        "|---|---|",
        "| 1 | 2 |",
        "| 3 | 4 |",
    ]


def test_an_error_is_shown_with_its_number_and_all_else_by_its_name() -> None:
    assert answer_text(ErrorCode.UNKNOWN_MEMBER_ID) == "UNKNOWN_MEMBER_ID 25"
    assert answer_text(GroupState.EMPTY) == GroupState.EMPTY.value


def test_a_text_replaces_what_was_between_the_lines(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\nBEGIN\nof yesterday\nEND\nafter\n", encoding="utf-8")
    rewrite(page, lambda text: put_between(text, "BEGIN", "END", "new"))
    assert page.read_text(encoding="utf-8") == "before\nBEGIN\n\nnew\n\nEND\nafter\n"


def test_a_page_without_these_lines_is_refused() -> None:
    with pytest.raises(AssertionError, match="lacks the lines"):
        put_between("nothing here", "BEGIN", "END", "new")
