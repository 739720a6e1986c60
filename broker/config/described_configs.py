"""The entries of the listings in answers to DescribeConfigs."""

from __future__ import annotations

from typing import NamedTuple

from broker.config.config_keys import ConfigSource, Key


class Synonym(NamedTuple):
    """One value in a configuration's chain of fallbacks."""

    name: str
    value: str | None
    source: ConfigSource


class Described(NamedTuple):
    """One entry of DescribeConfigs; `synonyms` begins with the value in effect, if there is one."""

    key: Key
    value: str | None
    source: ConfigSource
    synonyms: tuple[Synonym, ...]
