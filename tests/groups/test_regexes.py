"""Tests of groups/regexes.py."""

from __future__ import annotations

import pytest

from groups import regexes
from groups.errors import InvalidRegularExpression
from groups.regexes import INSTRUCTION_BYTES, RegexIndex
from tests.groups.driver import Topics


@pytest.fixture
def topics() -> Topics:
    topics = Topics()
    for name in ("a1", "a2", "b1", "a1.extra"):
        topics.create(name, 1)
    return topics


@pytest.mark.parametrize(
    ("regex", "found"),
    [
        ("a1", {"a1"}),
        ("a.", {"a1", "a2"}),
        ("(a|b)1", {"a1", "b1"}),
        ("a1.*", {"a1", "a1.extra"}),
        ("", set()),
        ("(?i)A1", {"a1"}),
    ],
)
def test_the_whole_name_must_match(topics: Topics, regex: str, found: set[str]) -> None:
    assert RegexIndex(topics).resolve(regex) == found


@pytest.mark.parametrize(
    "regex", ["(", "[z-a]", "a{2,1}", r"(a)\1", "(?=a)", "*", "(((a{1000}){1000}){1000})"]
)
def test_what_re2_does_not_know_is_refused(topics: Topics, regex: str) -> None:
    with pytest.raises(InvalidRegularExpression, match="regular expression"):
        RegexIndex(topics).resolve(regex)


def test_a_pattern_that_would_take_years_elsewhere_takes_no_time(topics: Topics) -> None:
    topics.create("a" * 200, 1)
    assert RegexIndex(topics).resolve("(a+)+(a+)+(a+)+b") == frozenset()


def test_topics_that_come_and_go_are_followed(topics: Topics) -> None:
    index = RegexIndex(topics)
    index.resolve("a.")
    topics.create("a3", 1)
    topics.create("c", 1)
    topics.delete("a1")
    index.changed(["a3", "c"], ["a1"])
    assert index.resolve("a.") == {"a2", "a3"}


def test_patterns_out_of_use_are_forgotten(topics: Topics) -> None:
    index = RegexIndex(topics)
    for regex in ("a.", "b."):
        index.resolve(regex)
    index.forget_unused(["a."])
    topics.delete("b1")
    assert index.resolve("b.") == frozenset()
    assert list(index._matches) == ["a.", "b."]


def test_a_pattern_knows_the_memory_of_its_program_until_it_is_forgotten(topics: Topics) -> None:
    index = RegexIndex(topics)
    index.resolve("a" * 1_000)
    index.resolve("b.")
    assert index.program_bytes("a" * 1_000) > 1_000 * INSTRUCTION_BYTES > index.program_bytes("b.")
    index.drop("g", "b.")
    assert "b." not in index
    assert "a" * 1_000 in index


def test_a_pattern_matches_what_its_member_may_see(topics: Topics) -> None:
    index = RegexIndex(topics)
    index.asking = {"a1", "b1"}.__contains__
    index.follow("g", "a.*")
    assert index.visible("g", "a.*") == {"a1"}
    assert index.visible("other", "a.*") == {"a1", "a2", "a1.extra"}


def test_a_member_that_may_see_everything_takes_the_place_of_one_that_may_not(topics: Topics) -> None:
    index = RegexIndex(topics)
    index.asking = set[str]().__contains__
    index.follow("g", "a.*")
    index.asking = None
    index.follow("g", "a.*")
    assert index.visible("g", "a.*") == {"a1", "a2", "a1.extra"}


def test_nothing_is_added_while_it_is_not_known_who_looks(topics: Topics) -> None:
    index = RegexIndex(topics)
    assert index.visible("g", "a.*", known=frozenset({"a2", "deleted"})) == {"a2"}


def test_eyes_are_forgotten_with_their_pattern(topics: Topics) -> None:
    index = RegexIndex(topics)
    index.asking = set[str]().__contains__
    index.follow("g", "a.*")
    index.forget_unused([])
    assert not index.is_followed("g", "a.*")


def test_a_pattern_is_forgotten_with_the_last_group_that_has_it(topics: Topics) -> None:
    index = RegexIndex(topics)
    index.asking = {"a1"}.__contains__
    for group_id in ("g", "h"):
        index.follow(group_id, "a.*")
        index.visible(group_id, "a.*")
        index.told(group_id, ("regex", "a.*"), True)
    index.told("g", ("member", "a.*"), False)
    index.told("g", ("regex", "a.*"), False)
    assert (index.is_followed("g", "a.*"), index.is_followed("h", "a.*")) == (False, True)
    assert "a.*" in index
    index.told("h", ("regex", "a.*"), False)
    assert "a.*" not in index
    assert (index._matches, index._sees, index._groups) == ({}, {}, {})


def test_a_search_by_a_thread_finds_what_there_is_when_it_ends(topics: Topics) -> None:
    index = RegexIndex(topics)
    search = index.search("a.*")
    topics.create("a3", 1)
    topics.create("c", 1)
    topics.delete("a1")
    index.changed(["a3", "c"], ["a1"])
    search.run()
    topics.delete("a2")
    index.changed([], ["a2"])
    # What came and went again is not there either.
    topics.create("a4", 1)
    index.changed(["a4"], [])
    topics.delete("a4")
    index.changed([], ["a4"])
    assert index.resolve("a.*") == {"a3", "a1.extra"}
    index.end(search)
    index.changed(["a5"], [])
    assert index.resolve("a.*") == {"a3", "a1.extra", "a5"}


def test_a_pattern_is_searched_once_for_two_that_bring_it(topics: Topics) -> None:
    index = RegexIndex(topics)
    first, second = index.search("a."), index.search("a.")
    first.run()
    assert index.resolve("a.") == {"a1", "a2"}
    topics.create("a3", 1)
    index.changed(["a3"], [])
    second.run()
    assert index.resolve("a.") == {"a1", "a2", "a3"}
    assert not index.needs_search("a.")
    index.end(first)
    index.end(second)


def test_a_search_that_was_not_done_or_for_no_pattern_leaves_it_to_the_heartbeat(topics: Topics) -> None:
    index = RegexIndex(topics)
    wrong, unfinished = index.search("("), index.search("a.")
    wrong.run()
    with pytest.raises(InvalidRegularExpression):
        index.resolve("(")
    assert index.resolve("a.") == {"a1", "a2"}
    index.end(wrong)
    index.end(unfinished)


def test_beside_many_topics_a_new_pattern_needs_a_search(
    topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = RegexIndex(topics)
    index.resolve("a.")
    assert not index.needs_search("b.")
    monkeypatch.setattr(regexes, "TOPICS_AT_ONCE", 3)
    assert index.needs_search("b.")
    assert not index.needs_search("a.")
