"""Clients of three libraries with a test's settings; what the library takes may be given as well, and wins.

The settings make a test quick and repeatable: consumers begin at the first record, leave commits to the test,
and look for new topics often; producers wait for all acknowledgements.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kawal_pytest.kawal_broker import KawalError

METADATA_MS = 500


def library(module: str, package: str) -> Any:
    """Import a client library.  Raises: KawalError, which names the package to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise KawalError(
            f"the fixture needs the package {package!r}, which cannot be imported here: {error}"
        ) from error


class KafkaPython:
    """kafka-python's producers, consumers and administrators for one broker."""

    def __init__(self, bootstrap: str) -> None:
        self._kafka = library("kafka", "kafka-python")
        self._bootstrap = bootstrap
        self._made: list[Any] = []

    def producer(self, **settings: Any) -> Any:
        """Return a KafkaProducer."""
        return self._keep(self._kafka.KafkaProducer(**{**self._common(), "acks": "all", **settings}))

    def consumer(self, *topics: str, **settings: Any) -> Any:
        """Return a KafkaConsumer of these topics; with `group_id` as a member of that group."""
        own = {
            "group_id": None,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "consumer_timeout_ms": 10_000,
        }
        return self._keep(self._kafka.KafkaConsumer(*topics, **{**self._common(), **own, **settings}))

    def admin(self, **settings: Any) -> Any:
        """Return a KafkaAdminClient."""
        return self._keep(self._kafka.KafkaAdminClient(**{**self._common(), **settings}))

    def close(self) -> None:
        """Close every client that was made; the fixture does so when the test ends."""
        while self._made:
            self._made.pop().close()

    def _common(self) -> dict[str, Any]:
        return {"bootstrap_servers": self._bootstrap, "metadata_max_age_ms": METADATA_MS}

    def _keep(self, client: Any) -> Any:
        self._made.append(client)
        return client


class ConfluentKafka:
    """confluent-kafka's producers, consumers and administrators for one broker."""

    def __init__(self, bootstrap: str) -> None:
        self._confluent = library("confluent_kafka", "confluent-kafka")
        self._bootstrap = bootstrap
        self._producers: list[Any] = []
        self._consumers: list[Any] = []

    def producer(self, settings: dict[str, Any] | None = None) -> Any:
        """Return a Producer."""
        made = self._confluent.Producer({**self._common(), "linger.ms": 0, **(settings or {})})
        self._producers.append(made)
        return made

    def consumer(self, *topics: str, settings: dict[str, Any] | None = None) -> Any:
        """Return a Consumer of these topics, in the group `tests` unless the settings name another."""
        own = {"group.id": "tests", "auto.offset.reset": "earliest", "enable.auto.commit": False}
        made = self._confluent.Consumer({**self._common(), **own, **(settings or {})})
        self._consumers.append(made)
        if topics:
            made.subscribe(list(topics))
        return made

    def admin(self, settings: dict[str, Any] | None = None) -> Any:
        """Return an AdminClient."""
        admin = library("confluent_kafka.admin", "confluent-kafka")
        return admin.AdminClient({**self._common(), **(settings or {})})

    def close(self) -> None:
        """Drop what was not sent, and close the consumers; the fixture does so when the test ends."""
        while self._producers:
            self._producers.pop().purge()
        while self._consumers:
            self._consumers.pop().close()

    def _common(self) -> dict[str, Any]:
        return {
            "bootstrap.servers": self._bootstrap,
            "topic.metadata.refresh.interval.ms": METADATA_MS,
            "reconnect.backoff.max.ms": 200,
        }


class Aiokafka:
    """aiokafka's producers, consumers and administrators; `async with` starts and stops them."""

    def __init__(self, bootstrap: str) -> None:
        self._aiokafka = library("aiokafka", "aiokafka")
        self._bootstrap = bootstrap

    def producer(self, **settings: Any) -> Any:
        """Return an AIOKafkaProducer."""
        return self._aiokafka.AIOKafkaProducer(**{**self._common(), "acks": "all", **settings})

    def consumer(self, *topics: str, **settings: Any) -> Any:
        """Return an AIOKafkaConsumer of these topics; with `group_id` as a member of that group."""
        own = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
        return self._aiokafka.AIOKafkaConsumer(*topics, **{**self._common(), **own, **settings})

    def admin(self, **settings: Any) -> Any:
        """Return an AIOKafkaAdminClient."""
        admin = library("aiokafka.admin", "aiokafka")
        return admin.AIOKafkaAdminClient(**{**self._common(), **settings})

    def _common(self) -> dict[str, Any]:
        return {"bootstrap_servers": self._bootstrap, "metadata_max_age_ms": METADATA_MS}
