"""Tags: from a record's header, from its value, or from earlier records of its key."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.record_reader import Record
from tests.views.rows import encoded, make_view, run, values
from views.tags import TagTable

COLUMNS = "v int, place string tag, floor int tag, since timestamp tag, extra json tag"
VIEW = make_view("SELECT v, place, floor FROM t", COLUMNS)


def record(offset: int, key: bytes | None, value: dict[str, Any], **headers: bytes | None) -> Record:
    named = tuple((f"kawal.tag.{name}", content) for name, content in headers.items())
    return Record(offset, 0, key, encoded(value), named)


def places(given: list[Record], tags: TagTable | None = None) -> list[tuple[Any, Any]]:
    return [(row["place"], row["floor"]) for row in values(run(VIEW, given, tags))]


def test_a_key_keeps_the_tags_of_its_first_record() -> None:
    given = [
        record(0, b"a", {"v": 1, "place": "north", "floor": 3}),
        record(1, b"b", {"v": 2, "place": "south"}),
        record(2, b"a", {"v": 3}),
        record(3, b"b", {"v": 4, "floor": 1}),
        record(4, b"b", {"v": 5}),
        record(5, b"c", {"v": 6}),
    ]
    assert places(given) == [
        ("north", 3),
        ("south", None),
        ("north", 3),
        ("south", 1),
        ("south", 1),
        (None, None),
    ]


def test_a_header_counts_before_the_value_and_the_value_before_what_is_known() -> None:
    given = [
        record(0, b"a", {"place": "value", "floor": 1}, place=b"header"),
        record(1, b"a", {}),
        record(2, b"a", {"place": "changed"}, floor=b"7"),
        record(3, b"a", {}, place=None),
    ]
    assert places(given) == [("header", 1), ("header", 1), ("changed", 7), ("changed", 7)]


def test_records_without_a_key_have_only_what_they_carry() -> None:
    assert places([record(0, None, {"place": "x"}), record(1, None, {})]) == [("x", None), (None, None)]


def test_a_table_goes_on_from_batch_to_batch_and_forgets_the_oldest_key() -> None:
    tags = TagTable(keys_max=2)
    places([record(at, b"k%d" % at, {"place": f"p{at}"}) for at in range(3)], tags)
    assert len(tags) == 2
    assert tags.of(b"k0") == {}
    assert tags.of(b"k2") == {"place": "p2"}
    assert places([record(3, b"k2", {}), record(4, b"k0", {})], tags) == [("p2", None), (None, None)]


def test_a_record_that_does_not_match_is_learnt_from_all_the_same() -> None:
    view = make_view("STABLE t WHERE place = 'north' AND floor IS NULL", COLUMNS)
    given = [
        record(0, b"a", {"place": "north", "floor": 1}),
        record(1, b"b", {"place": "north"}),
        record(2, b"b", {}),
    ]
    assert run(view, given).matched == 2


@pytest.mark.parametrize("content", [b"x", b"1.5x", b"", b"\xff", b"99999999999"])
def test_a_header_that_is_no_value_of_the_type_makes_the_record_unfit(content: bytes) -> None:
    filtered = run(VIEW, [record(0, b"a", {}, floor=content)])
    assert (filtered.matched, filtered.unfit) == (0, 1)


def test_tags_of_any_type_come_from_headers() -> None:
    view = make_view("SELECT since, extra FROM t", COLUMNS)
    given = [record(0, b"a", {}, since=b"1970-01-01T00:00:01Z", extra=b'{"a":[1]}'), record(1, b"a", {})]
    row = {"since": 1_000, "extra": {"a": [1]}}
    assert values(run(view, given)) == [row, row]


def test_a_json_tag_that_is_no_json_makes_the_record_unfit() -> None:
    view = make_view("SELECT extra FROM t", COLUMNS)
    assert run(view, [record(0, b"a", {}, extra=b'{"a"')]).unfit == 1
