"""The table of the server's keys keeps its own rules."""

from broker.config.config_keys import text_of
from broker.config.server_keys import KEYS, SECTIONS


def test_no_key_stands_twice() -> None:
    assert len(KEYS) == sum(map(len, SECTIONS.values()))


def test_every_default_is_a_value_its_key_accepts() -> None:
    for key in KEYS.values():
        assert key.default is None or key.parse(text_of(key.default)) == key.default, key.name


def test_every_key_has_a_sentence_and_numbers_of_time_and_size_have_units() -> None:
    for key in KEYS.values():
        assert key.doc.endswith("."), key.name
        assert "\n" not in key.doc
        if key.name.endswith((".ms", ".bytes", ".hours", ".minutes")):
            assert key.unit, key.name


def test_synonyms_are_keys() -> None:
    assert {name for key in KEYS.values() for name in key.synonyms} <= KEYS.keys()


def test_ours_are_told_from_kafkas_by_their_beginning() -> None:
    assert KEYS["kawal.flush.ms"].kafka_name == "log.flush.interval.ms"
    assert KEYS["kawal.vnodes"].kafka_name == ""
    assert KEYS["num.partitions"].kafka_name == "num.partitions"
