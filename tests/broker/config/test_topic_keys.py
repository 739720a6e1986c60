"""Every topic configuration: default, type and the values Kafka 4.3.1 accepts.

The accepted values were recorded by creating topics with validate_only on a running Kafka 4.3.1, each
configuration with each of `PROBES`.
"""

import pytest

from broker.catalogue.topic_configs import validate
from broker.config.config_keys import ConfigError, text_of
from broker.config.topic_keys import INTERNAL_SEGMENT_BYTES, TOPIC_KEYS

# fmt: off
PROBES = [
    "", "-3", "-2", "-1", "0", "1", "3", "9", "17", "18", "22", "23", "1024", "1048575", "1048576",
    "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "0.5", "1.5", "NaN", "true",
    "TRUE", "yes", "delete", "compact", "compact,delete", "delete,delete", "none", "uncompressed", "gzip",
    "Gzip", "CreateTime", "*", "0:1", "0:1,1:2", "x", " 5 ", "1_0", "1e3", "0x10", "-131072",
    "-131073", "1000000000000",
]
# fmt: on
POSITIVE = ["1", "3", "9", "17", "18", "22", "23", "1024", "1048575", "1048576", "2147483647", " 5 "]
LONG_POSITIVE = [*POSITIVE, "2147483648", "9223372036854775807", "1000000000000"]
BOOLEAN = ["true", "TRUE"]
REPLICAS = ["", "*", "0:1", "0:1,1:2"]
ACCEPTED_BY_KAFKA = {
    "compression.lz4.level": ["1", "3", "9", "17", " 5 "],
    "compression.gzip.level": ["-1", "1", "3", "9", " 5 "],
    "compression.zstd.level": ["-3", "-2", "-1", "0", "1", "3", "9", "17", "18", "22", " 5 ", "-131072"],
    "cleanup.policy": ["", "delete", "compact", "compact,delete", "delete,delete"],
    "compression.type": ["uncompressed", "gzip"],
    "message.timestamp.type": ["CreateTime"],
    "follower.replication.throttled.replicas": REPLICAS,
    "leader.replication.throttled.replicas": REPLICAS,
    "preallocate": BOOLEAN,
    "remote.log.copy.disable": BOOLEAN,
    "remote.log.delete.on.disable": BOOLEAN,
    "unclean.leader.election.enable": BOOLEAN,
    "remote.storage.enable": BOOLEAN,
    "delete.retention.ms": ["0", *LONG_POSITIVE],
    "file.delete.delay.ms": ["0", *LONG_POSITIVE],
    "flush.messages": LONG_POSITIVE,
    "flush.ms": ["0", *LONG_POSITIVE],
    "index.interval.bytes": ["0", *POSITIVE],
    "local.retention.bytes": ["-2", "-1", "0", *LONG_POSITIVE],
    "local.retention.ms": ["-2", "-1", "0", *LONG_POSITIVE],
    "max.compaction.lag.ms": LONG_POSITIVE,
    "max.message.bytes": ["0", *POSITIVE],
    "message.timestamp.after.max.ms": ["0", *LONG_POSITIVE],
    "message.timestamp.before.max.ms": ["0", *LONG_POSITIVE],
    # Kafka takes NaN, too; here a ratio that is not a number is refused.
    "min.cleanable.dirty.ratio": ["0", "1", "0.5"],
    "min.compaction.lag.ms": ["0", *LONG_POSITIVE],
    "min.insync.replicas": POSITIVE,
    "retention.bytes": ["-131072", "-131073", "-3", "-2", "-1", "0", *LONG_POSITIVE],
    "retention.ms": ["-1", "0", *LONG_POSITIVE],
    "segment.bytes": ["1048576", "2147483647"],
    "segment.index.bytes": [probe for probe in POSITIVE if probe not in ("1", "3")],
    "segment.jitter.ms": ["0", *LONG_POSITIVE],
    "segment.ms": LONG_POSITIVE,
    "internal.segment.bytes": ["-131072", "-131073", "-3", "-2", "-1", "0", *POSITIVE],
}
"""The probes that Kafka 4.3.1 accepted, by configuration."""


def accepted(name: str) -> set[str]:
    found = set()
    for probe in PROBES:
        try:
            validate(name, probe)
        except ConfigError:
            continue
        found.add(probe)
    return found


@pytest.mark.parametrize("name", [*TOPIC_KEYS, INTERNAL_SEGMENT_BYTES.name])
def test_the_values_kafka_accepts_are_accepted_and_no_others(name: str) -> None:
    assert accepted(name) == set(ACCEPTED_BY_KAFKA[name])


def test_all_of_kafkas_topic_configurations_are_there() -> None:
    assert len(TOPIC_KEYS) == 33
    assert list(TOPIC_KEYS) == sorted(TOPIC_KEYS)


def test_every_default_is_a_value_its_key_accepts() -> None:
    for key in TOPIC_KEYS.values():
        assert key.parse(text_of(key.default)) == key.default, key.name
        assert key.doc.endswith("."), key.name
