"""Tests of groups/states_markdown.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from groups.states_markdown import BEGIN, END, main, tables, with_tables

PAGE = Path(__file__).parents[2] / "docs" / "groups.md"


def test_the_page_shows_the_tables_that_run() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page) == page, f"run: python -m groups.states_markdown {PAGE}"


def test_the_tables_are_put_between_the_markers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nof yesterday\n{END}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["states_markdown", str(page)])
    main()
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert tables() in text
    assert "of yesterday" not in text
