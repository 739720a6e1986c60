"""Tags at every offset: a batch looked at again gives what it gave first, whatever was left or forgotten."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.views.rows import UNHURRIED
from views import tag_history
from views.partition_tags import PartitionTags
from views.tag_history import BatchTags, Cut, TagHistory, text_bytes
from views.tags import TagTable

READERS = [("place", str)]

Row = tuple[bytes | None, str | None]
"""A record's key, and the tag that it carries."""


def give(tags: BatchTags, rows: list[Row]) -> list[Any]:
    """Return the tags of a batch's records."""
    return [tags.resolve(READERS, key, (), (place,))[0] for key, place in rows]


def learn(history: TagHistory, base_offset: int, rows: list[Row]) -> list[Any]:
    tags = history.open(base_offset)
    given = give(tags, rows)
    tags.commit(base_offset + len(rows))
    return given


def test_a_batch_knows_what_came_before_it_and_nothing_that_came_later() -> None:
    history = TagHistory(0)
    batches: list[list[Row]] = [[(b"k", None), (b"k", "a")], [(b"k", None)], [(b"k", "b")], [(b"k", None)]]
    first = [learn(history, 2 * number, rows) for number, rows in enumerate(batches)]
    assert first == [[None, "a"], ["a"], ["b"], ["b"]]
    assert [learn(history, 2 * number, rows) for number, rows in enumerate(batches)] == first
    assert learn(history, 8, [(b"k", None)]) == ["b"]


def test_what_a_batch_that_was_left_half_way_said_is_forgotten() -> None:
    history = TagHistory(0)
    learn(history, 0, [(b"old", "a")])
    left = history.open(1)
    assert give(left, [(b"old", "b"), (b"old", "c"), (b"new", "d")]) == ["b", "c", "d"]
    left.abandon()
    assert learn(history, 1, [(b"old", None), (b"new", None), (b"old", "b")]) == ["a", None, "b"]
    assert len(history) == 1


def test_beyond_the_bounds_the_oldest_is_forgotten_and_the_rest_is_exact() -> None:
    history = TagHistory(0, keys_max=2)
    learn(history, 0, [(b"a", "1"), (b"b", "2")])
    assert history.begin == 0
    learn(history, 2, [(b"c", "3")])
    assert (len(history), history.begin) == (2, 3)
    assert learn(history, 3, [(b"a", None), (b"b", None), (b"c", None)]) == [None, "2", "3"]
    for number in range(3):
        learn(history, 6 + number, [(b"b", f"{number}")])
    assert history.begin == 9, "three earlier states of two keys"
    assert learn(history, 9, [(b"b", None)]) == ["2"]


def test_a_partition_that_begins_within_a_batch_knows_what_all_of_the_batch_said() -> None:
    """The first answer and every later one are the same: a reader receives the batch as a whole."""
    history, offset = PartitionTags().at(1, log_start=1)
    assert offset == 1
    assert learn(history, 0, [(b"k", "a"), (b"k", None)]) == ["a", "a"]
    assert learn(history, 2, [(b"k", None)]) == ["a"]
    assert learn(history, 0, [(b"k", "a"), (b"k", None)]) == ["a", "a"]


def test_keys_inherit_tags_where_none_was_tagged_when_the_topic_grew() -> None:
    tags = PartitionTags()
    history, _ = tags.at(0, log_start=0)
    learn(history, 0, [(b"other", None)])
    history, _ = tags.at(1, log_start=0, cuts=[Cut(1, {b"k": (0, {"place": "a"})})])
    assert learn(history, 1, [(b"k", None)]) == ["a"]


def test_many_keys_are_forgotten_at_once() -> None:
    history, table = TagHistory(0, keys_max=80), TagTable(keys_max=80)
    sizes = []
    for number in range(200):
        learn(history, number, [(b"%d" % number, "x")])
        table.learn(b"%d" % number, "place", "x")
        sizes.append(len(history))
    assert max(sizes) == 82, "a 32nd more than the bound"
    assert min(sizes[80:]) == 80
    assert 80 <= len(table) <= 82
    assert learn(history, 200, [(b"%d" % number, None) for number in (1, 120, 199)]) == [None, "x", "x"]


def test_who_reads_what_is_forgotten_begins_anew_beside_the_others() -> None:
    tags = PartitionTags(keys_max=1)
    newest, begin = tags.at(5, log_start=0)
    assert begin == 0
    for offset, key in enumerate((b"a", b"b", b"c")):
        learn(newest, offset, [(key, "x")])
    assert tags.at(5, log_start=0) == (newest, 3)
    again, begin = tags.at(1, log_start=0)
    assert (again is newest, begin) == (False, 0)
    learn(again, 0, [(b"a", "x")])
    assert tags.at(1, log_start=0) == (again, 1)
    assert learn(again, 1, [(b"a", None)]) == ["x"]
    assert tags.at(9, log_start=7) == (newest, 7)


BATCH = st.lists(
    st.tuples(st.sampled_from([None, b"a", b"b", b"c", b"d"]), st.sampled_from([None, "x", "y"])),
    min_size=1,
    max_size=4,
)


def modelled(batches: list[list[Row]]) -> list[list[Any]]:
    known: dict[bytes, str] = {}
    given: list[list[Any]] = []
    for rows in batches:
        given.append([])
        for key, place in rows:
            if key is not None and place is not None:
                known[key] = place
            given[-1].append(place if key is None or place is not None else known.get(key))
    return given


@UNHURRIED
@given(st.lists(BATCH, min_size=1, max_size=12), st.data())
def test_any_order_of_looking_gives_what_looking_once_in_order_gives(
    batches: list[list[Row]], data: st.DataObject
) -> None:
    """Look as a view does: at any batch, from where the history says, and leave one half way now and then."""
    wanted = modelled(batches)
    starts = [sum(map(len, batches[:number])) for number in range(len(batches) + 1)]
    tags = PartitionTags(keys_max=data.draw(st.sampled_from([4, 100])))
    for _ in range(data.draw(st.integers(1, 8))):
        number = data.draw(st.integers(0, len(batches) - 1))
        history, begin = tags.at(starts[number], log_start=0)
        for other in range(starts.index(begin), number + 1):
            if data.draw(st.booleans()):
                left = history.open(starts[other])
                give(left, batches[other][: data.draw(st.integers(0, 4))])
                left.abandon()
            assert learn(history, starts[other], batches[other]) == wanted[other]


def test_long_keys_and_tags_are_forgotten_before_they_take_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tag_history, "TEXT_BYTES_MAX", 10_000)
    history = TagHistory(0)
    for number in range(100):
        learn(history, number, [(b"%d" % number * 100, "x" * 1_000)])
        assert history.size_bytes <= 10_000 + 100 * tag_history.KEY_BYTES
    assert 0 < len(history) < 10
    assert learn(history, 100, [(b"99" * 100, None), (b"1" * 100, None)]) == ["x" * 1_000, None]


def test_what_keys_had_before_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tag_history, "TEXT_BYTES_MAX", 10_000)
    history = TagHistory(0)
    for number in range(100):
        learn(history, number, [(b"k", f"{number}" * 1_000)])
    assert history.size_bytes <= 30_000
    assert learn(history, 100, [(b"k", None)]) == ["99" * 1_000]


@UNHURRIED
@given(st.lists(BATCH, min_size=1, max_size=12), st.lists(st.booleans(), min_size=12, max_size=12))
def test_the_text_that_is_counted_is_what_is_kept(batches: list[list[Row]], left: list[bool]) -> None:
    history, offset = TagHistory(0, keys_max=2), 0
    for rows, is_left in zip(batches, left, strict=False):
        if is_left:
            tags = history.open(offset)
            give(tags, rows)
            tags.abandon()
        learn(history, offset, rows)
        offset += len(rows)
        newest = sum(len(key or b"") + text_bytes(tags) for key, tags in history.newest.items())
        earlier = sum(text_bytes(tags) for states in history._earlier.values() for _, tags in states)
        assert (history._newest_text, history._earlier_text) == (newest, earlier)
