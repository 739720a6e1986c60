"""The programs there are, and the command that starts each."""

from __future__ import annotations

import shutil
import sys

from compat_tests.clients.program import ROOT
from compat_tests.java import QUICK_START

BUILT = ROOT / ".cache" / "clients"


def _python(module: str) -> list[str]:
    return [sys.executable, "-m", f"compat_tests.clients.{module}.main"]


def _go(name: str) -> list[str]:
    return [str(BUILT / "go" / name)]


def _java(folder: str) -> list[str]:
    return java_client("Main", folder=folder)


def java_client(main_class: str, *arguments: str, folder: str = "newest") -> list[str]:
    """Return the command that runs a class of the Java programs."""
    java = shutil.which("java")
    assert java, "no java found: install a Java runtime, 17 or later (make test does it where it may)"
    built = BUILT / "java" / folder
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    path = f"{built / 'classes'}:{built / 'jars'}/*"
    return [java, "-Xmx192m", *QUICK_START, quiet, "-cp", path, main_class, *arguments]


def _node(folder: str) -> list[str]:
    node = shutil.which("node")
    assert node, "no node found: install Node.js, 18 or later"
    return [node, str(BUILT / "node" / folder / "main.js")]


COMMANDS: dict[str, list[str]] = {
    "aiokafka": _python("aiokafka"),
    "confluent-kafka": _python("confluent_kafka"),
    "kafka-python": _python("kafka_python"),
    "kcat": _python("kcat"),
    "java": _java("newest"),
    "java-3.9": _java("oldest"),
    "kafkajs": _node("kafkajs"),
    "confluent-kafka-javascript": _node("confluent"),
    "rdkafka-rust": [str(BUILT / "rust" / "debug" / "client")],
    "franz-go": _go("franz-go"),
    "sarama": _go("sarama"),
    "kafka-go": _go("kafka-go"),
}
"""Client -> command. `make clients` builds those that are not Python."""

NOT_PINNED = frozenset({"aiokafka", "confluent-kafka", "kafka-python", "kcat"})
"""Clients that come in ranges of versions: the matrix has the version it was made with."""

EMPTY_READ_AS_NULL = frozenset({"kafka-go"})
"""Clients that cannot tell an empty key, value or header from null when they read."""

OWN_TIMESTAMPS = frozenset({"kcat"})
"""Clients that set the time of every record themselves."""

GROUPS_ONLY = {
    "kafkajs": "KafkaJS reads in groups only; it seeks in a group of its own to read one partition"
}
"""Clients that cannot assign themselves a partition, and what they do instead."""

NOT_IDEMPOTENT = frozenset({"kafka-go"})
"""Clients without an idempotent producer: records sent again after a lost answer may be there twice."""
