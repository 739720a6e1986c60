"""The table of what may stand in an expression: all else is refused with a sentence that names it."""

from __future__ import annotations

import pytest

from tests.views.rows import make_plan
from views.errors import NotAllowed, SyntaxProblem, TypeProblem, UnknownColumn

FEW = "a int, b double, c string, d timestamp, e json, f bool, g string tag, u timestamp(us)"

NOT_ALLOWED = {
    "COUNT(*)": "aggregate COUNT",
    "SUM(a)": "the aggregate SUM is not possible",
    "PERCENTILE(a, 5)": "the aggregate PERCENTILE is not possible",
    "DIFF(a)": "the aggregate DIFF is not possible",
    "SUM(a) OVER (PARTITION BY c)": "the window function",
    "ROW_NUMBER() OVER ()": "the window function",
    "(SELECT 1)": "a sub-query is not possible",
    "a IN (SELECT a FROM t)": "sub-query",
    "EXISTS (SELECT 1)": "sub-query",
    "a > ANY (SELECT 1)": "sub-query",
    "NOW()": "NOW is not possible in a view: reading a record again",
    "now": "NOW is not possible",
    "CURRENT_TIMESTAMP": "CURRENT_TIMESTAMP is not possible",
    "RAND()": "RAND is not possible",
    "TODAY()": "TODAY is not possible",
    "LOWR(c)": "the function LOWR is unknown; did you mean LOWER",
    "EVIL(c)": "the function EVIL is unknown",
    "__import__('os')": "the function __IMPORT__ is unknown",
    "c COLLATE 'x'": "Collate",
    "a[1]": "Bracket",
    ":name": "Placeholder",
    "?": "Placeholder",
    "@v": "Parameter",
    "CAST(a AS decimal(10, 2))": "CAST to decimal",
    "CAST(a AS date)": "CAST to date is not possible",
    "CAST(a AS int[])": "is not possible",
    "a IS DISTINCT": "IS takes NULL, TRUE or FALSE|cannot be read",
    "INTERVAL 1 HOUR": "Interval",
    "~a": "BitwiseNot",
    "a << 1": "BitwiseLeftShift",
    "c SIMILAR TO 'x'": "SimilarTo",
    "x -> x + 1": "is unknown|is not possible",
}


@pytest.mark.parametrize(("expression", "words"), NOT_ALLOWED.items())
def test_what_is_not_on_the_list_is_refused_by_its_name(expression: str, words: str) -> None:
    with pytest.raises((NotAllowed, UnknownColumn, SyntaxProblem), match=words):
        make_plan(f"SELECT {expression} AS x FROM t", FEW)


TYPE_PROBLEMS = {
    "a + c": "\\+ takes numbers, not a string; CAST it",
    "f * 2": "\\* takes numbers, not a bool",
    "e + 1": "\\+ takes numbers, not a json; CAST it",
    "-c": "- takes a number, not a string",
    "a = c": "= cannot compare a int with a string; CAST one of them",
    "a > 'x'": "> cannot compare a int with a string",
    "f = 1": "= cannot compare a bool with a bigint",
    "e = 1": "= does not compare json; CAST it",
    "d = 'tomorrow'": "'tomorrow' is not a timestamp; write it like",
    "d > 1.5": "> cannot compare a timestamp\\(ms\\) with a double",
    "d < 1h": "< does not compare durations",
    "d * 2": "\\* does not take a timestamp\\(ms\\) and a bigint",
    "d + d": "moves a timestamp by an integer or by a duration",
    "d + 1.5": "moves a timestamp by an integer",
    "d + 1u": "a duration of 1000 ns is not a whole number of ms",
    "1 - d": "- does not take a bigint and a timestamp",
    "1h": "1h AS x is a duration, which cannot be the value of a column",
    "COALESCE(1h, 2h)": "COALESCE does not take durations",
    "a AND f": "AND needs conditions, but one of its sides is a int",
    "NOT a": "NOT needs conditions",
    "a IS TRUE": "IS needs conditions",
    "CASE WHEN a THEN 1 END": "WHEN needs conditions",
    "CASE WHEN f THEN 1 ELSE 'x' END": "CASE mixes a bigint and a string; CAST one of them",
    "COALESCE(a, c)": "COALESCE mixes a int and a string",
    "a IN (1, 'x')": "= cannot compare a int with a string",
    "a BETWEEN 1 AND 'x'": "<= cannot compare a int with a string",
    "a LIKE 'x'": "LIKE takes a string, not a int; CAST it",
    "c LIKE g": "the pattern of LIKE must be a string in the statement",
    "c LIKE 'x\\'": "ends with its escape character",
    "c LIKE 'x' ESCAPE '!!'": "ESCAPE takes one character",
    "c MATCH '('": "the pattern '\\(' of MATCH is not possible",
    "c MATCH '((a{1000}){1000}){1000}'": "of MATCH is not possible",
    "c LIKE '" + "x" * 513 + "'": "more than 512 characters",
    "c MATCH '(?=x)'": "of MATCH is not possible",
    "a -> 'x'": "-> takes json, not a int",
    "e -> 1": "-> takes the name of a member in quotes",
    "e -> c": "-> takes the name of a member in quotes",
    "a CONTAINS 'x'": "CONTAINS takes json, not a int",
    "b & 1": "& takes integers, not a double",
    "b DIV 2": "DIV takes integers",
    "LOWER(a)": "argument 1 of LOWER must be a string, not a int; CAST it",
    "LOWER()": "LOWER takes 1 arguments, not 0",
    "SUBSTR(c)": "SUBSTR takes 2 to 3 arguments, not 1",
    "CONCAT(c)": "CONCAT takes 2 arguments or more, not 1",
    "HEADER(c)": "HEADER takes the name of a header in quotes",
    "TO_ISO8601(a)": "TO_ISO8601 takes a timestamp, not a int; CAST it",
    "TO_ISO8601(d, 'Mars/Olympus')": "the time zone 'Mars/Olympus' is unknown",
    "TO_ISO8601(d, c)": "takes a time zone in quotes",
    "TIMETRUNCATE(d, 5)": "takes a unit of time like 1s",
    "TIMETRUNCATE(d, 0s)": "takes a unit of time like 1s",
    "TIMEDIFF(d, a)": "TIMEDIFF takes a timestamp, not a int",
    "GREATEST(f, f)": "GREATEST does not order values of type bool",
    "CAST(f AS timestamp)": "CAST of a bool to a timestamp\\(ms\\) has no meaning",
    "CAST(b AS timestamp)": "CAST of a double to a timestamp\\(ms\\) has no meaning",
    "9223372036854775808": "larger than a bigint",
}


@pytest.mark.parametrize(("expression", "words"), TYPE_PROBLEMS.items())
def test_types_that_do_not_meet_are_refused_with_both_names(expression: str, words: str) -> None:
    with pytest.raises(TypeProblem, match=words):
        make_plan(f"SELECT {expression} AS x FROM t", FEW)


def test_a_number_beyond_doubles_is_no_number() -> None:
    with pytest.raises(SyntaxProblem, match="'1e999' is not a valid double"):
        make_plan("SELECT 1e999 AS x FROM t", FEW)
