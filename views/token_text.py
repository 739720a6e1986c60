"""The text and the places of a statement's tokens: for names of columns and for the text that is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_AS_WRITTEN = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER)
# Written in upper case; sqlglot knows more keywords, which may be names of columns and functions here.
_KEYWORD_LIST = """
SELECT FROM WHERE AND OR NOT IN IS NULL LIKE ILIKE BETWEEN CASE WHEN THEN ELSE END CAST AS TRUE
FALSE ESCAPE MATCH NMATCH REGEXP RLIKE CONTAINS DISTINCT UNKNOWN DIV
"""
_KEYWORDS = frozenset(_KEYWORD_LIST.split())


def normalised(read: Sequence[Token], text: str) -> str:
    """Return the tokens as one line of text: single blanks, no comments, keywords in upper case.

    Tokens that touch each other in `text` do so here, except operators, where blanks do not matter.
    """
    parts: list[str] = []
    last: Token | None = None
    for token in read:
        word = text[token.start : token.end + 1]
        if token.token_type not in _AS_WRITTEN and word.upper() in _KEYWORDS:
            word = word.upper()
        if last is not None and _is_apart(last, token):
            parts.append(" ")
        parts.append(" ".join(word.split()) if token.token_type not in _AS_WRITTEN else word)
        last = token
    return "".join(parts)


def _is_apart(left: Token, right: Token) -> bool:
    if left.end + 1 == right.start and (_joins(left) or _joins(right)):
        return False
    if right.token_type in (TokenType.COMMA, TokenType.R_PAREN):
        return False
    if left.token_type is TokenType.L_PAREN:
        return False
    # A call: the bracket touches the name of the function.
    return not (right.token_type is TokenType.L_PAREN and left.end + 1 == right.start)


def _joins(token: Token) -> bool:
    return token.token_type in (TokenType.DOT, TokenType.DASH)


def depth_zero(read: Sequence[Token], start: int = 0) -> Iterator[int]:
    """Yield the positions from `start` on that are outside brackets."""
    depth = 0
    for position in range(start, len(read)):
        kind = read[position].token_type
        if kind in _CLOSING:
            depth -= 1
        if depth == 0:
            yield position
        if kind in _OPENING:
            depth += 1


def position_of(read: Sequence[Token], kind: TokenType) -> int | None:
    """Return the first position of `kind` outside brackets; IS DISTINCT FROM does not count as FROM."""
    for position in depth_zero(read):
        if read[position].token_type is kind and (
            position == 0 or read[position - 1].token_type is not TokenType.DISTINCT
        ):
            return position
    return None


def cut_at_commas(read: Sequence[Token]) -> list[Sequence[Token]]:
    """Cut at the commas outside brackets."""
    parts: list[Sequence[Token]] = []
    start = 0
    for position in depth_zero(read):
        if read[position].token_type is TokenType.COMMA:
            parts.append(read[start:position])
            start = position + 1
    parts.append(read[start:])
    return parts
