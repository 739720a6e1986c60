"""Nothing in text is hidden."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as some

from console.web.text import Shown, in_template, shown, shown_bytes, shown_lines


def test_what_cannot_be_seen_or_moves_what_can_is_an_escape() -> None:
    assert shown("a\u202eb\u200b\x1b[0m\n\U000e0041\xa0") == r"a\u202eb\u200b\x1b[0m\n\u{e0041}\xa0"
    assert shown("ordinary text, ä 漢 😀 العربية") == "ordinary text, ä 漢 😀 العربية"


@given(some.text())
def test_no_control_format_or_separator_is_left(text: str) -> None:
    found = shown(text)
    hidden = [char for char in found if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")]
    assert hidden == []
    assert [char for char in found if char.isspace() and char != " "] == []


def test_every_such_character_is_known() -> None:
    for code in range(0x110000):
        char = chr(code)
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"):
            assert shown(char) != char, hex(code)


def test_lines_keep_their_ends_and_tabs_alone() -> None:
    assert shown_lines("a\n\tb\r\x00") == "a\n\tb\\r\\x00"


def test_bytes_are_text_or_hexadecimal() -> None:
    assert shown_bytes("ä\n".encode()) == "ä\n"
    assert shown_bytes(b"\xff\x00a\xc3") == r"\xff\x00a\xc3"


def test_a_template_shows_whatever_it_is_given() -> None:
    assert in_template(None) == ""
    assert in_template(2**63 - 1) == 2**63 - 1
    assert in_template("\u202e") == r"\u202e"
    assert in_template(ValueError("\u202e")) == r"\u202e"
    assert in_template(Shown("\u202e")) == "\u202e"
