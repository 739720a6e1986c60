"""The text of a view: what follows AS in TDengine's CREATE TOPIC, or the whole of that statement.

    whole := CREATE TOPIC [IF NOT EXISTS] name [meta] AS view        meta := WITH META | ONLY META
    view  := SELECT projections FROM source [alias] [WHERE condition]
           | [meta AS] STABLE source [WHERE condition] [meta]
           | [meta AS] DATABASE source [meta]
           | UNFIT source ["(" column ("," column)* ")"] [WHERE condition]

A name is a word, words and numbers joined by `.` and `-` without blanks between them as in topic names, or
anything in back-quotes.  `binder.py` says what conditions and projections may contain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from views.clauses import alias_of, check_clauses, refuse_windows
from views.dialect import near, parse_select, tokenize
from views.errors import NotAllowed, SyntaxProblem
from views.star import Star, star_of
from views.token_text import cut_at_commas, normalised, position_of

# `2026.us` is one VAR, point included; keywords are words of names, too.
_WORDS_IN_NAMES = (TokenType.DOT, TokenType.DASH, TokenType.NUMBER, TokenType.IDENTIFIER, TokenType.VAR)
PROJECTIONS_MAX: Final = 256


class Kind(Enum):
    """The kind of a view's statement."""

    QUERY = "query"
    STABLE = "stable"
    DATABASE = "database"
    UNFIT = "unfit"


class Meta(Enum):
    """Whether changes of topics and columns are delivered: not, with the records, or alone."""

    NONE = "none"
    WITH = "with"
    ONLY = "only"


@dataclass(frozen=True, slots=True)
class Projection:
    """One column of the result: its parse tree, or its star; and its name, "" for that of a column."""

    node: Any
    name: str
    text: str
    star: Star | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """A view as it was written; nothing in it has been looked up yet.

    `text` is normalised (blanks, comments, upper-case keywords) and is to be stored: parsing it gives an
    equal statement.  `topic` and `if_not_exists` come from a whole CREATE TOPIC, `columns` from UNFIT.
    """

    kind: Kind
    source: str
    meta: Meta
    text: str
    alias: str = ""
    topic: str | None = None
    if_not_exists: bool = False
    projections: tuple[Projection, ...] = ()
    predicate: Any = None
    columns: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Statement) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def parse_view(text: str, *, topic: str | None = None) -> Statement:
    """Read a view; in a whole CREATE TOPIC the name must be `topic`, if that is given.

    Raises: SyntaxProblem, NotAllowed, TooComplex.
    """
    read = tokenize(text)
    while read and read[-1].token_type is TokenType.SEMICOLON:
        read.pop()
    if any(token.token_type is TokenType.SEMICOLON for token in read):
        raise SyntaxProblem("there must be one statement, but a semicolon separates several")
    if not read:
        raise SyntaxProblem(
            "the statement is empty; write SELECT … FROM topic, STABLE topic, UNFIT topic or DATABASE name"
        )
    return _Reader(text, read).statement(topic)


class _Reader:
    """A reader of the tokens of one statement."""

    def __init__(self, text: str, read: list[Token]) -> None:
        self.text = text
        self.read = read
        self.at = 0

    def statement(self, expected: str | None) -> Statement:
        """Read the whole statement."""
        topic, if_not_exists, meta = None, False, Meta.NONE
        if self._word(self.at) == "CREATE":
            topic, if_not_exists = self._create_topic(expected)
            meta = self._meta()
            self._expect("AS")
        elif (meta := self._meta()) is not Meta.NONE:
            self._expect("AS")
        word = self._word(self.at)
        if word in ("SELECT", "UNFIT"):
            if meta is not Meta.NONE:
                raise NotAllowed(f"{meta.value.upper()} META is for STABLE and DATABASE, not for {word}")
            read = self._select if word == "SELECT" else self._unfit
            return read(topic, if_not_exists)
        if word in ("STABLE", "DATABASE"):
            self.at += 1
            return self._whole(Kind[word], meta, topic, if_not_exists)
        if word == "WITH":
            raise NotAllowed("WITH queries (common table expressions) are not possible in a view")
        raise SyntaxProblem(f"expected SELECT, STABLE, UNFIT or DATABASE, found {self._here()}")

    def _create_topic(self, expected: str | None) -> tuple[str, bool]:
        self.at += 1
        self._expect("TOPIC")
        if_not_exists = self._word(self.at) == "IF"
        if if_not_exists:
            for word in ("IF", "NOT", "EXISTS"):
                self._expect(word)
        name, self.at = self._name(self.at)
        if expected is not None and name != expected:
            raise SyntaxProblem(f"the statement creates topic {name!r}, but the topic's name is {expected!r}")
        return name, if_not_exists

    def _meta(self) -> Meta:
        word = self._word(self.at)
        if word in ("WITH", "ONLY") and self._word(self.at + 1) == "META":
            self.at += 2
            return Meta[word]
        return Meta.NONE

    def _meta_at_end(self, meta: Meta) -> Meta:
        if self._word(len(self.read) - 1) != "META" or self.at >= len(self.read) - 1:
            return meta
        word = self._word(len(self.read) - 2)
        if word not in ("WITH", "ONLY"):
            return meta
        if meta is not Meta.NONE:
            raise SyntaxProblem("META is given twice")
        del self.read[-2:]
        return Meta[word]

    def _whole(self, kind: Kind, meta: Meta, topic: str | None, if_not_exists: bool) -> Statement:
        """Read a supertable or a database, whose records stay as they are."""
        meta = self._meta_at_end(meta)
        start = self.at
        source, self.at = self._name(self.at)
        predicate = None
        text = f"{kind.name} {normalised(self.read[start:], self.text)}"
        if self.at < len(self.read):
            if kind is Kind.DATABASE or self._word(self.at) != "WHERE":
                possible = "the end" if kind is Kind.DATABASE else "WHERE or the end"
                raise SyntaxProblem(f"expected {possible}, found {self._here()}")
            predicate = self._condition(start, source)
        if meta is not Meta.NONE:
            text = f"{meta.name} META AS {text}"
        return Statement(
            kind, source, meta, text, topic=topic, if_not_exists=if_not_exists, predicate=predicate
        )

    def _condition(self, start: int, source: str) -> Any:
        """Read WHERE and all after it, as of `SELECT * FROM source`; the source's name begins at `start`."""
        head = [self._token("SELECT"), _star(self.read[start]), self._token("FROM")]
        tokens = [*head, self._source_token(start, source), *self.read[self.at :]]
        refuse_windows(tokens, 4)
        select = parse_select(tokens, self.text)
        check_clauses(select)
        return select.args["where"].this

    def _unfit(self, topic: str | None, if_not_exists: bool) -> Statement:
        """Read UNFIT: the records of a topic that do not fit its columns, or those that are named."""
        start = self.at = self.at + 1
        source, self.at = self._name(start)
        text = f"UNFIT {normalised(self.read[start : self.at], self.text)}"
        columns: tuple[str, ...] = ()
        predicate = None
        if self.at < len(self.read) and self.read[self.at].token_type is TokenType.L_PAREN:
            columns, listed = self._listed_columns()
            text += f" ({listed})"
        if self.at < len(self.read):
            if self._word(self.at) != "WHERE":
                possible = (
                    "WHERE or the end" if columns else "a list of columns in brackets, WHERE or the end"
                )
                raise SyntaxProblem(f"expected {possible}, found {self._here()}")
            text += f" {normalised(self.read[self.at :], self.text)}"
            predicate = self._condition(start, source)
        return Statement(
            Kind.UNFIT,
            source,
            Meta.NONE,
            text,
            topic=topic,
            if_not_exists=if_not_exists,
            predicate=predicate,
            columns=columns,
        )

    def _listed_columns(self) -> tuple[tuple[str, ...], str]:
        """Read `(column, column)`; return the names, and the text between the brackets."""
        start = self.at + 1
        while self.at < len(self.read) and self.read[self.at].token_type is not TokenType.R_PAREN:
            self.at += 1
        if self.at == len(self.read):
            raise SyntaxProblem("the list of columns after the topic is not closed by )")
        inside = self.read[start : self.at]
        self.at += 1
        names: list[str] = []
        for part in cut_at_commas(inside):
            if len(part) != 1 or not _is_column_name(part[0]):
                raise SyntaxProblem(
                    f"{normalised(part, self.text)[:60]!r} in the list of columns is not a name; names with"
                    " characters other than letters, digits and _ must be in back-quotes"
                )
            names.append(part[0].text)
        return tuple(names), normalised(inside, self.text)

    def _select(self, topic: str | None, if_not_exists: bool) -> Statement:
        read = self.read[self.at :]
        from_at = position_of(read, TokenType.FROM)
        if from_at is None or from_at + 1 == len(read):
            raise SyntaxProblem("FROM is missing: a view reads one topic, as in SELECT … FROM topic")
        if read[from_at + 1].token_type is TokenType.L_PAREN:
            raise NotAllowed("a sub-query in FROM is not possible in a view; name one topic")
        source, end = self._name(self.at + from_at + 1)
        refuse_windows(self.read, end)
        source_token = self._source_token(self.at + from_at + 1, source)
        select = parse_select([*read[: from_at + 1], source_token, *self.read[end:]], self.text)
        check_clauses(select)
        where = select.args.get("where")
        return Statement(
            Kind.QUERY,
            source,
            Meta.NONE,
            normalised(read, self.text),
            alias=alias_of(select),
            topic=topic,
            if_not_exists=if_not_exists,
            projections=self._projections(select, read[1:from_at]),
            predicate=None if where is None else where.this,
        )

    def _projections(self, select: exp.Select, read: Sequence[Token]) -> tuple[Projection, ...]:
        nodes, texts = select.expressions, cut_at_commas(read)
        if len(nodes) != len(texts) or not all(texts):
            raise SyntaxProblem("the columns between SELECT and FROM cannot be told apart")
        if len(nodes) > PROJECTIONS_MAX:
            raise NotAllowed(f"the view has {len(nodes)} columns; at most {PROJECTIONS_MAX} are allowed")
        projections = []
        for node, part in zip(nodes, texts, strict=True):
            text = normalised(part, self.text)
            if isinstance(node, exp.Alias):
                projections.append(Projection(node.this, node.alias, text))
            elif (star := star_of(node, part)) is not None:
                projections.append(Projection(None, "", text, star))
            else:
                projections.append(Projection(node, "" if isinstance(node, exp.Column) else text, text))
        return tuple(projections)

    def _name(self, at: int) -> tuple[str, int]:
        """Read the name of a topic or database; return it and the position after it."""
        parts: list[str] = []
        end = None
        while at < len(self.read):
            token = self.read[at]
            is_word = token.token_type in _WORDS_IN_NAMES or token.text.replace("_", "a").isalnum()
            if (
                not is_word
                or token.token_type is TokenType.STRING
                or (end is not None and token.start != end + 1)
            ):
                break
            is_hex = token.token_type is TokenType.HEX_STRING
            parts.append(self.text[token.start : token.end + 1] if is_hex else token.text)
            end = token.end
            at += 1
        if not parts:
            raise SyntaxProblem(f"expected the name of a topic or database, found {self._here(at)}")
        return "".join(parts), at

    def _source_token(self, at: int, name: str) -> Token:
        token = self.read[at]
        return Token(TokenType.IDENTIFIER, name, token.line, token.col, token.start, token.end)

    def _token(self, word: str) -> Token:
        return Token(TokenType[word], word, 1, 1, 0, 0)

    def _expect(self, word: str) -> None:
        if self._word(self.at) != word:
            raise SyntaxProblem(f"expected {word}, found {self._here()}")
        self.at += 1

    def _word(self, at: int) -> str:
        if not 0 <= at < len(self.read) or self.read[at].token_type is TokenType.IDENTIFIER:
            return ""
        return self.read[at].text.upper()

    def _here(self, at: int | None = None) -> str:
        at = self.at if at is None else at
        return near(self.read[at]) if at < len(self.read) else "the end of the statement"


def _is_column_name(token: Token) -> bool:
    if token.token_type is TokenType.IDENTIFIER:
        return True
    return token.token_type is not TokenType.STRING and token.text.replace("_", "a").isalnum()


def _star(near_to: Token) -> Token:
    return Token(TokenType.STAR, "*", near_to.line, near_to.col, near_to.start, near_to.end)
