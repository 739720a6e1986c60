"""One entry of the listings that DescribeConfigs answers."""

from __future__ import annotations

from typing import NamedTuple

from broker.config.config_keys import ConfigSource, Key


class Synonym(NamedTuple):
    """One value in the chain a configuration falls back along."""

    name: str
    value: str | None
    source: ConfigSource


class Described(NamedTuple):
    """One entry of DescribeConfigs; `synonyms` begins with the value that holds, if there is one."""

    key: Key
    value: str | None
    source: ConfigSource
    synonyms: tuple[Synonym, ...]
