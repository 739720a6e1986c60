"""Masks as they are written, and records without what is masked."""

from __future__ import annotations

import msgspec
import pytest

from console.errors import UsageError
from console.web.masks import EVERYTHING, NO_MASK, Masks, TopicMask, joined_masks, parse_mask
from protocol.record_reader import Record


def masked(value: bytes | None, *masks: str, headers: tuple[tuple[str, bytes | None], ...] = ()) -> Record:
    return Masks(map(parse_mask, masks)).of("cards").record(Record(7, 1, b"k", value, headers))


@pytest.mark.parametrize("text", ["", ":key", "a b:key", "a/b", "cards:"])
def test_what_is_no_mask_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a mask"):
        parse_mask(text)


def test_a_topic_alone_masks_everything() -> None:
    found = masked(b"{}", "c*", headers=(("trace", b"1"), ("none", None)))
    assert found == Record(7, 1, b"(masked)", b"(masked)", (("trace", b"(masked)"), ("none", None)))


def test_null_stays_null() -> None:
    assert masked(None, "cards").value is None


def test_a_column_is_masked_in_any_case_with_its_tag() -> None:
    found = masked(
        b'{"Number":4111,"amount":1.10,"number":{"a":1}}',
        "cards:NUMBER",
        headers=(("kawal.tag.number", b"4111"), ("trace", b"1")),
    )
    assert found.value == b'{"Number":"(masked)","amount":1.10,"number":"(masked)"}'
    assert found.headers == (("kawal.tag.number", b"(masked)"), ("trace", b"1"))


def test_a_member_that_comes_twice_or_is_written_with_escapes_is_masked() -> None:
    found = masked(b'{"n\\u0075mber":4111,"number":4222}', "cards:number")
    assert b"4111" not in (found.value or b"")
    assert b"4222" not in (found.value or b"")


@pytest.mark.parametrize("value", [b"4111", b'["4111"]', b'{"number":"4111"', b"\xff4111", b"[" * 5000])
def test_a_value_whose_columns_cannot_be_told_is_masked_as_a_whole(value: bytes) -> None:
    assert masked(value, "cards:number").value == b"(masked)"


def test_a_column_called_key_is_written_in_quotes() -> None:
    mask = Masks([parse_mask("cards:`key`")]).of("cards")
    assert (mask.key, mask.columns) == (False, frozenset({"key"}))
    assert msgspec.json.decode(mask.record(Record(0, 0, b"k", b'{"key":1}')).value or b"") == {
        "key": "(masked)"
    }


def test_other_topics_stay_as_they_are() -> None:
    masks = Masks([parse_mask("cards:value")])
    record = Record(0, 0, b"k", b"v")
    assert masks.of("orders") == NO_MASK
    assert masks.of("orders").record(record) is record


def test_two_masks_together_hide_what_either_does() -> None:
    one, other = TopicMask(key=True), TopicMask(columns=frozenset({"a"}))
    assert joined_masks(one, other) == TopicMask(key=True, columns=frozenset({"a"}))
    assert joined_masks(NO_MASK, EVERYTHING) == EVERYTHING
