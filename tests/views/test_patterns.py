"""LIKE and MATCH: the texts they match, and that no pattern makes them slow."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.views.rows import UNHURRIED, evaluate, make_plan
from views.patterns import Pattern


def like(text: str, pattern: str, more: str = "") -> object:
    quoted = pattern.replace("'", "''")
    return evaluate(f"s LIKE '{quoted}'{more}", {"s": text}, "s string")


@pytest.mark.parametrize(
    ("text", "pattern", "matches"),
    [
        ("abc", "abc", True),
        ("abc", "ABC", False),
        ("abc", "a%", True),
        ("abc", "%c", True),
        ("abc", "%b%", True),
        ("abc", "a%c", True),
        ("abc", "_b_", True),
        ("abc", "__", False),
        ("é\n😀", "_\n_", True),
        ("a\nb", "a%b", True),
        ("", "", True),
        ("", "%", True),
        ("x", "", False),
        ("a%c", "a\\%c", True),
        ("abc", "a\\%c", False),
        ("a\\c", "a\\\\c", True),
        ("a.c", "a.c", True),
        ("abc", "a.c", False),
        ("it's", "it's", True),
        ("aXb", "a\\Xb", True),
    ],
)
def test_like_matches_the_whole_text(text: str, pattern: str, matches: bool) -> None:
    assert like(text, pattern) is matches


def test_like_has_an_escape_a_negation_and_null() -> None:
    assert like("a%", "a!%", " ESCAPE '!'") is True
    assert evaluate("s NOT LIKE 'a%'", {"s": "b"}, "s string") is True
    assert evaluate("s NOT LIKE 'a!%' ESCAPE '!'", {"s": "a%"}, "s string") is False
    assert evaluate("s LIKE 'a%'", {}, "s string") is None
    assert evaluate("s LIKE NULL", {"s": "b"}, "s string") is None
    assert evaluate("s ILIKE 'É_X%'", {"s": "é1xy"}, "s string") is True
    assert evaluate("s NOT ILIKE 'abc'", {"s": "ABC"}, "s string") is False


def test_match_looks_anywhere_in_the_text() -> None:
    assert evaluate("s MATCH '^a+\\d'", {"s": "aa1"}, "s string") is True
    assert evaluate("s NMATCH 'b'", {"s": "aa1"}, "s string") is True
    assert evaluate("s REGEXP '(?i)A1'", {"s": "aa1"}, "s string") is True
    assert evaluate("s MATCH 'b'", {}, "s string") is None


TEXT = st.text(alphabet="ab%_\\é\n", max_size=8)


@UNHURRIED
@given(TEXT, st.lists(st.sampled_from(["a", "b", "%", "_", "\\%", "\\_", "\\\\", "é", "\n"]), max_size=7))
def test_like_is_what_a_regular_expression_would_find(text: str, pieces: list[str]) -> None:
    parts = {"%": ".*", "_": "."}
    wanted = re.fullmatch(
        "".join(parts.get(piece, re.escape(piece[-1])) for piece in pieces), text, re.DOTALL
    )
    assert like(text, "".join(pieces)) is (wanted is not None)


@pytest.mark.parametrize(
    "condition", ["s LIKE '" + "%a" * 200 + "b'", "s MATCH '(a*)*(a|aa)*b$'", "s MATCH '(x+x+)+y'"]
)
def test_patterns_that_make_other_engines_run_for_years_are_quick(condition: str) -> None:
    assert evaluate(condition, {"s": "a" * 50_000}, "s string") is False
    assert evaluate(condition, {"s": "x" * 50_000}, "s string") is False


def size_of(condition: str) -> int:
    return make_plan(f"SELECT s FROM t WHERE {condition}", "s string").program_size


def test_a_statement_tells_how_many_steps_its_patterns_may_take_for_a_character() -> None:
    assert 0 < size_of("s MATCH 'a'") < 20
    wide = "s MATCH '[ab]*a[ab]{900}c'"
    assert size_of(wide) > 900
    assert size_of(f"{wide} OR {wide}") == 2 * size_of(wide)
    assert size_of("s LIKE '%a%b%' AND s = 'c'") == 0, "these need no program"


@pytest.mark.parametrize(
    ("condition", "most_bytes"),
    [
        ("a MATCH '(?i)error|warning|timeout'", 40 << 10),
        ("a ILIKE '%error%'", 20 << 10),
        ("a MATCH '[ab]*a[ab]{900}c'", 256 << 10),
        ("a LIKE '%a____________%'", 256 << 10),
    ],
)
def test_patterns_have_a_bound_for_their_memory_and_words_a_small_one(
    condition: str, most_bytes: int
) -> None:
    plan = make_plan(f"SELECT a FROM t WHERE {condition}", "a string")
    assert plan.predicate is not None
    assert isinstance(plan.predicate.value, Pattern)
    assert most_bytes / 4 < plan.predicate.value.bytes_max <= most_bytes


def test_the_library_keeps_no_pattern_of_its_own() -> None:
    make_plan("SELECT a FROM t WHERE a MATCH 'x+y'", "a string")
    import re2

    assert re2._Regexp._make.cache_info().currsize == 0
