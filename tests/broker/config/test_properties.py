"""Files of properties, read as Java reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.config.properties import FILE_BYTES_MAX, PropertiesFileError, parsed, read_properties


def pairs(text: str) -> list[tuple[str, str]]:
    return [(each.key, each.value) for each in parsed(text, "f")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a=b", [("a", "b")]),
        ("  a : b c ", [("a", "b c ")]),
        ("a b=c", [("a", "b=c")]),
        ("a==b", [("a", "=b")]),
        ("a", [("a", "")]),
        ("# no\n! no\n\n\t\na=b\r\nc=d", [("a", "b"), ("c", "d")]),
        ("a=b\\\n   c\\\n\td\ne=f", [("a", "bcd"), ("e", "f")]),
        ("a=b\\\\\nc=d", [("a", "b\\"), ("c", "d")]),
        ("a=\\u00fc\\t\\q\\n", [("a", "ü\tq\n")]),
        ("a=\\ud83d\\ude00", [("a", "\U0001f600")]),
        ("a=\\ud83d!", [("a", "\ufffd!")]),
        ("a\\ b\\=c=d", [("a b=c", "d")]),
        ("a=b\\\n# c", [("a", "b# c")]),
        ("a=b\\", [("a", "b")]),
        ("\\\n! no\n\\\n\n\\\na=b", [("a", "b")]),
        ("a=b\n\\", [("a", "b"), ("", "")]),
    ],
)
def test_text_is_read_as_java_reads_it(text: str, found: list[tuple[str, str]]) -> None:
    assert pairs(text) == found


def test_a_property_knows_its_line_and_hides_its_value() -> None:
    _, second = parsed("a=b\\\n\nc=secret", "f")
    assert (second.key, second.place) == ("c", "f, line 3")
    assert "secret" not in repr(second)


@given(st.text().map(lambda text: text.replace("\\u", "\\v")))
def test_any_text_is_read(text: str) -> None:
    assert len(pairs(text)) <= text.count("\n") + text.count("\r") + 1


@pytest.mark.parametrize("text", ["a=\\u12g4", "a\\u=b", "a=b\\\\\\u00", "a=C:\\users"])
def test_a_wrong_escape_is_refused_with_its_line_and_without_the_value(text: str) -> None:
    with pytest.raises(PropertiesFileError, match=r"^f, line 2: after .u four hexadecimal digits") as refused:
        pairs(f"ok=\\\\users\n{text}secret")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a=\xff", "cannot read .*utf-8"),
        (b"a" * (FILE_BYTES_MAX + 1), "is larger than"),
        (None, "No such file"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(content: bytes | None, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PropertiesFileError, match=sentence):
        read_properties(str(path))


def test_a_file_that_is_not_utf_8_can_be_read_as_java_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_bytes(b"a=\xfc")
    assert read_properties(str(path), other_encoding="latin-1")[0].value == "ü"
