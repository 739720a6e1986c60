"""The rules of `kawal.request.log`: a pattern of client ids, or an API's name, a colon and such a pattern."""

from __future__ import annotations

from typing import Final

from broker.config.config_keys import Value
from protocol.api_keys import ApiKey

ANY: Final = "*"
_NAMES: Final = frozenset(key.name.lower() for key in ApiKey)


def split_rule(rule: str) -> tuple[str | None, str]:
    """Return the API's name, None for all of them, and the pattern of client ids."""
    api, colon, clients = rule.partition(":")
    if not colon:
        return None, rule
    return None if api == ANY else api, clients


def rules_problem(rules: Value) -> str | None:
    """Return what is wrong with the rules, None when nothing is."""
    assert isinstance(rules, tuple)
    for api, _ in map(split_rule, rules):
        if api is not None and api not in _NAMES:
            from difflib import get_close_matches  # only needed to word an error

            close = get_close_matches(api, _NAMES, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            return (
                f"{api!r} before the colon is no API{hint}; rules are CLIENT, API:CLIENT or *:CLIENT, such as"
                " 'spark-*' or 'fetch:*'"
            )
    return None
