"""The SQL dialect of views: TDengine's flavour, read by sqlglot and checked for bounds before and after.

Strings are in single or double quotes, which are doubled inside; there are no backslash escapes, so that
patterns are written as they are.  Names that are not words are in back-quotes.  `1h` is a duration, `0x1F` a
number.  sqlglot does not interpret functions at all: only `functions.py` knows them.

sqlglot takes 0.1 s to import: it and its importers are loaded when the first view is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, Final

from sqlglot import exp, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from views.columns import is_unicode
from views.errors import NotAllowed, SyntaxProblem, TooComplex

TEXT_LENGTH_MAX: Final = 16 << 10
# Words and signs, counted roughly before sqlglot cuts them (which takes 2 µs each) and exactly afterwards.
TOKENS_MAX: Final = 3_000
_PIECES_MAX: Final = 6_000
# The parser moves once or twice for each token of an ordinary statement; this is 30 to 50 ms of its time.
STEPS_MAX: Final = 2 * TOKENS_MAX
# sqlglot takes about 15 Python frames for each level.
BRACKETS_DEEP_MAX: Final = 24
# Words that open a level without a bracket.
_OPENERS_MAX: Final = 40

_PIECE = re.compile(r"\w+|[^\w\s]")
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_PREFIXES = (TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE, TokenType.CASE)


class Exhausted(Exception):
    """Parsing takes too long; not one of sqlglot's errors, which its parser would catch."""


def _member(_parser: Any, this: exp.Expr, name: exp.Expr) -> exp.Expr:
    """Build `this -> name` without reading the name as a path."""
    return exp.JSONExtract(this=this, expression=name)


class ViewDialect(Dialect):
    """The part of SQL that is read at all; `binder.py` then takes the few nodes it knows, no others."""

    IDENTIFIERS_CAN_START_WITH_DIGIT = True

    class Tokenizer(tokens.Tokenizer):
        """TDengine's text operators, and words that only it has."""

        QUOTES: ClassVar[Any] = ["'", '"']
        STRING_ESCAPES: ClassVar[Any] = ["'", '"']
        IDENTIFIERS: ClassVar[Any] = ["`"]
        COMMENTS: ClassVar[Any] = ["--", ("/*", "*/")]
        HEX_STRINGS: ClassVar[Any] = [("0x", ""), ("0X", "")]
        KEYWORDS: ClassVar[Any] = {
            **tokens.Tokenizer.KEYWORDS,
            "MATCH": TokenType.RLIKE,
            "REGEXP": TokenType.RLIKE,
            "NMATCH": TokenType.IRLIKE,
            "CONTAINS": TokenType.OVERLAPS,
            "<=>": TokenType.NULLSAFE_EQ,
        }

    class Parser(parser.Parser):
        """No functions but CAST and CASE: all others stay a name and its arguments."""

        FUNCTIONS: ClassVar[Any] = {}
        NO_PAREN_FUNCTIONS: ClassVar[Any] = {}
        FUNCTION_PARSERS: ClassVar[Any] = {"CAST": lambda self: self._parse_cast(True)}
        NO_PAREN_FUNCTION_PARSERS: ClassVar[Any] = {"CASE": lambda self: self._parse_case()}
        COLUMN_OPERATORS: ClassVar[Any] = {TokenType.DOT: None, TokenType.ARROW: _member}
        steps = 0

        def _advance(self, times: int = 1) -> None:
            # sqlglot tries one reading after another, twice as many with each level of some constructs:
            # `struct(` 24 times would take minutes.
            self.steps += 1
            if self.steps > STEPS_MAX:
                raise Exhausted
            super()._advance(times)


DIALECT: Final = ViewDialect()


def tokenize(text: str) -> list[Token]:
    """Cut `text` into tokens and check the bounds of length and nesting.

    Raises: SyntaxProblem, TooComplex.
    """
    if len(text) > TEXT_LENGTH_MAX:
        raise TooComplex(f"the statement has {len(text)} characters; at most {TEXT_LENGTH_MAX} are allowed")
    if sum(1 for _ in _PIECE.finditer(text)) > _PIECES_MAX:
        raise TooComplex(f"the statement has more than {TOKENS_MAX} words and signs")
    if "\0" in text or not is_unicode(text):
        raise SyntaxProblem("the statement holds a NUL character or half a surrogate pair")
    try:
        read: list[Token] = DIALECT.tokenize(text)
    except SqlglotError as error:
        problem = not_closed(text) or f"the statement cannot be read: {_first_line(error)}"
        raise SyntaxProblem(problem) from None
    if len(read) > TOKENS_MAX:
        raise TooComplex(f"the statement has {len(read)} words and signs; at most {TOKENS_MAX} are allowed")
    _check_nesting(read)
    return read


def _check_nesting(read: Sequence[Token]) -> None:
    depth = prefixes = 0
    for token in read:
        if token.token_type in _OPENING:
            depth += 1
        elif token.token_type in _CLOSING:
            depth -= 1
        prefixes = prefixes + 1 if token.token_type in _PREFIXES else 0
        if depth > BRACKETS_DEEP_MAX or prefixes > BRACKETS_DEEP_MAX:
            raise TooComplex(f"{near(token)} is nested more than {BRACKETS_DEEP_MAX} levels deep")
    if sum(token.token_type is TokenType.CASE for token in read) > _OPENERS_MAX:
        raise TooComplex(f"the statement has more than {_OPENERS_MAX} CASE expressions")


def _check_words(read: Sequence[Token]) -> None:
    """Refuse what other databases write, with what to write here."""
    for left, right in pairwise(read):
        if right.text in _NOT_HERE and right.token_type not in _AS_WRITTEN:
            raise NotAllowed(f"{near(right)}: {_NOT_HERE[right.text]}")
        if left.token_type is TokenType.IN and right.token_type is not TokenType.L_PAREN:
            raise SyntaxProblem(f"{near(right)}: IN takes a list in brackets, as in a IN (1, 2)")


_AS_WRITTEN: Final = (TokenType.STRING, TokenType.IDENTIFIER)
_NOT_HERE: Final = {
    "->>": "->> is not possible in a view; write CAST(column->'name' AS string)",
    "#>": "#> is not possible in a view; write column->'name'->'name'",
    "#>>": "#>> is not possible in a view; write CAST(column->'name'->'name' AS string)",
    "::": ":: is not possible in a view; write CAST(value AS type)",
}


def not_closed(text: str) -> str:
    """Return a sentence about the quote or comment that is not closed, "" if all are."""
    at = 0
    while at < len(text):
        found = _OPENS.search(text, at)
        if found is None:
            return ""
        opening = found[0]
        end = text.find(_CLOSED_BY.get(opening, opening), found.end())
        if end < 0:
            if opening == "--":
                return ""
            line = text.count("\n", 0, found.start()) + 1
            column = found.start() - (text.rfind("\n", 0, found.start()) + 1) + 1
            return f"the {opening} at line {line}, column {column} is not closed"
        at = end + len(_CLOSED_BY.get(opening, opening))
    return ""


_OPENS: Final = re.compile(r"['\"`]|--|/\*")
_CLOSED_BY: Final = {"--": "\n", "/*": "*/"}


def parse_select(read: list[Token], text: str) -> exp.Select:
    """Parse the tokens of one SELECT.

    Raises: SyntaxProblem, TooComplex, NotAllowed for anything but a plain SELECT.
    """
    _check_words(read)
    try:
        parsed = [statement for statement in DIALECT.parser().parse(read, text) if statement is not None]
    except (RecursionError, Exhausted):
        raise TooComplex("the statement is nested too deeply") from None
    except SqlglotError as error:
        raise SyntaxProblem(f"the statement cannot be read: {_first_line(error)}") from None
    for statement in parsed:
        _free_of_cycles(statement)
    if len(parsed) != 1:
        raise SyntaxProblem(f"there must be one statement, not {len(parsed)}")
    if isinstance(parsed[0], exp.SetOperation):
        raise NotAllowed(f"{parsed[0].key.upper()} of several queries is not possible in a view")
    if not isinstance(parsed[0], exp.Select):
        raise SyntaxProblem(f"a view is a SELECT, not {parsed[0].key.upper()}")
    return parsed[0]


def _free_of_cycles(tree: Any) -> None:
    """Have a tree freed with the last reference to it.

    sqlglot's nodes refer to their parents, which nothing here asks for.  A tree of 16 KB of text takes 0.4 MB
    and is old for the collector before it is compiled: it would stay (broker/server/collector.py).
    """
    for node in list(tree.walk()):
        node.parent = None


def near(token: Token) -> str:
    """Return where a token is, for messages."""
    return f"{token.text[:40]!r} at line {token.line}, column {token.col - (token.end - token.start)}"


def _first_line(error: SqlglotError) -> str:
    details = getattr(error, "errors", None)
    if details:
        first = details[0]
        problem = str(first.get("description", "")).rstrip(".").lower()
        # sqlglot names its own classes here.
        problem = "something is missing" if problem.startswith("required keyword") else problem
        return f"{problem} near {str(first.get('highlight') or '')[:40]!r}, line {first.get('line')}"
    return str(error).splitlines()[0][:200]
