"""The listing of a broker's configurations, in the cases seen on Kafka 4.3.1."""

from broker.config.acl_keys import OF_AUTHORIZER
from broker.config.config import config_of
from broker.config.config_keys import ConfigSource
from broker.config.config_layers import layered
from broker.config.described_configs import Described
from broker.config.server_configs import described
from broker.config.server_keys import KEYS

STATIC, DEFAULT = ConfigSource.STATIC_BROKER_CONFIG, ConfigSource.DEFAULT_CONFIG


def listing(**values: object) -> dict[str, Described]:
    config = config_of({name.replace("_", "."): value for name, value in values.items()})
    return {entry.key.name: entry for entry in described(layered(config))}


def test_every_key_is_listed_once_in_order_of_its_name() -> None:
    names = [entry.key.name for entry in described(layered(config_of({})))]
    assert names == sorted(set(names))
    ours = sum(name.startswith(("kawal.", "errors.")) or name in OF_AUTHORIZER for name in KEYS)
    assert len(names) == 340 + ours


def test_a_value_that_was_set_comes_before_its_default() -> None:
    entry = listing(log_segment_bytes=2_000_000)["log.segment.bytes"]
    assert (entry.value, entry.source) == ("2000000", STATIC)
    assert [tuple(synonym) for synonym in entry.synonyms] == [
        ("log.segment.bytes", "2000000", STATIC),
        ("log.segment.bytes", "1073741824", DEFAULT),
    ]


def test_minutes_fall_back_to_hours() -> None:
    entry = listing(log_retention_minutes=7, log_retention_hours=5)["log.retention.minutes"]
    assert [tuple(synonym) for synonym in entry.synonyms] == [
        ("log.retention.minutes", "7", STATIC),
        ("log.retention.hours", "5", STATIC),
        ("log.retention.hours", "168", DEFAULT),
    ]


def test_what_is_not_set_has_no_synonyms() -> None:
    entry = listing(log_retention_hours=5)["log.retention.ms"]
    assert (entry.value, entry.source, entry.synonyms) == (None, DEFAULT, ())


def test_addresses_carry_their_security_protocol() -> None:
    entry = listing(listeners="127.0.0.1:0,[::1]:9092")["listeners"]
    assert entry.value == "PLAINTEXT://127.0.0.1:0,PLAINTEXT://[::1]:9092"
    assert entry.synonyms[1].value == "PLAINTEXT://127.0.0.1:9092"
    assert listing()["advertised.listeners"].value is None


def test_kafkas_other_names_show_our_values() -> None:
    entries = listing(node_id=7, log_dirs="/data")
    assert (entries["broker.id"].value, entries["log.dir"].value) == ("7", "/data")
    assert entries["process.roles"].value == "broker,controller"


def test_of_several_nodes_one_is_the_controller() -> None:
    (entry,) = (
        entry
        for entry in described(layered(config_of({})), is_controller=False)
        if entry.key.name == "process.roles"
    )
    assert (entry.value, [synonym.value for synonym in entry.synonyms]) == ("broker", ["broker"])


def test_keys_without_effect_show_kafkas_default() -> None:
    entry = listing()["num.io.threads"]
    assert (entry.value, entry.source) == ("8", DEFAULT)
    assert [tuple(synonym) for synonym in entry.synonyms] == [("num.io.threads", "8", DEFAULT)]
    assert listing()["ssl.keystore.password"].synonyms == ()
