"""Entries of a listing are plain values."""

from broker.config.config_keys import ConfigSource
from broker.config.described_configs import Described, Synonym
from broker.config.server_keys import KEYS


def test_an_entry_compares_by_value() -> None:
    chain = (Synonym("node.id", "1", ConfigSource.DEFAULT_CONFIG),)
    entry = Described(KEYS["node.id"], "1", ConfigSource.DEFAULT_CONFIG, chain)
    assert entry == Described(KEYS["node.id"], "1", ConfigSource.DEFAULT_CONFIG, chain)
    assert entry.synonyms[0].source == 5
