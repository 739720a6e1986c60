"""The names of clients as Kafka writes them, `User:alice`, in settings and in access rules."""

from __future__ import annotations


def principal_problem(principal: str) -> str | None:
    """Return what is wrong with the text of a principal; None if nothing is.

    Source: SecurityUtils.parseKafkaPrincipal.
    """
    kind, colon, name = principal.partition(":")
    if kind and colon and name:
        return None
    return f"expected a string in format principalType:principalName but got {principal}"


def split_principals(text: str) -> tuple[str, ...]:
    """Return the principals of a list; semicolons part them, as the names of certificates have commas."""
    return tuple(principal for part in text.split(";") if (principal := part.strip()))


def principals_problem(value: object) -> str | None:
    """Return what is wrong with such a list; None if nothing is."""
    text = str(value or "")
    if ",User:" in text.replace(" ", ""):
        # Kafka takes it for one name, which no client has.
        return "names are separated by semicolons, for names of certificates have commas: User:a;User:b"
    problems = map(principal_problem, split_principals(text))
    return next((problem for problem in problems if problem is not None), None)
