"""Statements of people: compiled once, with mistakes at their place."""

from __future__ import annotations

import pytest

from console.web.errors import PageError
from console.web.masks import TopicMask
from console.web.sources import Source
from console.web.statements import (
    Compiled,
    Mistake,
    asks_history,
    compile_search,
    compile_statement,
    mistake_in,
    named_columns,
    quoted,
    search_statement,
)
from views.columns import parse_columns

FLIGHTS = Source("flights", parse_columns("id bigint, carrier string, delay int, site string tag"))


def mistake(where: str) -> Mistake:
    found = compile_search(FLIGHTS, where)
    assert isinstance(found, Mistake)
    return found


def test_the_same_search_is_compiled_once() -> None:
    first, again = compile_search(FLIGHTS, "delay > 15"), compile_search(FLIGHTS, "delay > 15")
    assert isinstance(first, Compiled)
    assert first is again


def test_an_unknown_column_is_marked_where_it_stands() -> None:
    found = mistake("delay > 1\n  AND dely > 2")
    assert (found.line, len(found.before)) == ("  AND dely > 2", 6)
    assert found.sentence.startswith("column 'dely' is unknown")


def test_lines_are_counted_from_those_of_the_person() -> None:
    found = mistake("delay > 1 AND\ncarrier IN 3")
    assert "'3' at line 2, column 12" in found.sentence
    assert (found.line, len(found.before)) == ("carrier IN 3", 11)


def test_a_place_after_hidden_characters_is_under_their_escapes() -> None:
    found = mistake("carrier = '\u202e' AND dely > 2")
    assert found.line == r"carrier = '\u202e' AND dely > 2"
    assert found.line[len(found.before) :].startswith("dely")


def test_a_long_line_is_cut_around_the_place() -> None:
    found = mistake("delay > 1 AND " * 100 + "dely > 2")
    assert len(found.line) <= 160
    assert found.line[len(found.before) :].startswith("dely")


def test_a_sentence_without_a_place_has_none() -> None:
    assert mistake_in("a", "the statement is empty") == Mistake("the statement is empty")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("carrier, delay", ("carrier", "delay")),
        (" a ,, a,b ", ("a", "b")),
        ("`odd, name`, x", ("odd, name", "x")),
        ("`a``b`", ("a`b",)),
        ("`open, x", ("open, x",)),
        (" " * 5000 + "`" * 5001, ("`" * 2500,)),
        ("", ()),
    ],
)
def test_columns_are_named_in_a_list(text: str, names: tuple[str, ...]) -> None:
    assert named_columns(text) == names


def test_names_that_are_no_words_are_quoted() -> None:
    assert [quoted(name) for name in ("a_1", "1a", "a-b", "a`b")] == ["a_1", "`1a`", "`a-b`", "`a``b`"]


def test_a_search_is_the_view_that_it_would_be() -> None:
    text = search_statement("flights", "delay > 15", ("carrier", "odd name"))
    assert text == "SELECT carrier, `odd name` FROM `flights` WHERE\ndelay > 15"


def test_tags_ask_for_what_only_the_server_knows() -> None:
    tags, plain = compile_search(FLIGHTS, "site = 'LIS'"), compile_search(FLIGHTS, "delay > 1")
    assert isinstance(tags, Compiled)
    assert isinstance(plain, Compiled)
    assert (asks_history(tags), asks_history(plain)) == (True, False)


def test_framed_values_are_left_to_the_server() -> None:
    framed = Source("flights", FLIGHTS.columns, framed=True)
    with pytest.raises(PageError, match="which only the server reads"):
        compile_search(framed, "delay > 1")
    assert isinstance(compile_search(framed, "_offset > 1"), Compiled)


def test_what_is_masked_is_refused_whatever_was_compiled_before() -> None:
    compile_search(FLIGHTS, "delay > 15")
    masked = Source("flights", FLIGHTS.columns, mask=TopicMask(columns=frozenset({"delay"})))
    with pytest.raises(PageError, match="delay is masked"):
        compile_search(masked, "delay > 15")
    with pytest.raises(PageError, match="delay is masked"):
        compile_statement(masked, "SELECT delay FROM flights")
