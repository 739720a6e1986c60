"""Kafka Connect, distributed, on SASL_SSL: worker, source, sink and their state; the same on Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.certificates import make_certificates
from compat_tests.conftest import StartBroker
from compat_tests.logins import USERS, add_scram_users, login_settings
from compat_tests.test_connect import STATE_TOPICS, Worker, policies, wait_for_lines, write
from compat_tests.topics import create_topic

LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required"


@pytest.fixture
def stopping() -> Iterator[list[Worker]]:
    """Yield a list of workers that are ended with the test, whatever happens."""
    workers: list[Worker] = []
    yield workers
    for worker in workers:
        worker.process.kill()


@pytest.mark.timeout(300, method="signal")
def test_lines_go_from_file_to_file_over_sasl_ssl(
    start_broker: StartBroker, tmp_path: Path, stopping: list[Worker]
) -> None:
    certificates = make_certificates(tmp_path / "certificates")
    broker = start_broker(
        **login_settings(SECURE="SASL_SSL"),
        **{"ssl.keystore.type": "PEM", "ssl.keystore.location": str(certificates.server)},
    )
    add_scram_users(broker)
    create_topic(broker, "lines", 1)
    source, sink = tmp_path / "in.txt", tmp_path / "out.txt"
    write(source, 0, 500)
    client = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{LOGIN} username="bob" password="{USERS["bob"]}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.authority),
    }
    # Connectors' clients do not inherit what the worker's own have.
    every = {
        f"{prefix}{key}": text for prefix in ("", "producer.", "consumer.") for key, text in client.items()
    }
    worker = Worker(tmp_path, broker, **{"bootstrap.servers": broker.bootstrap_of("SECURE")}, **every)
    worker.start()
    stopping.append(worker)
    worker.connector("source", connector_class="FileStreamSource", file=str(source), topic="lines")
    worker.connector("sink", connector_class="FileStreamSink", file=str(sink), topics="lines")
    wait_for_lines(worker, sink, 500)
    assert policies(broker) == dict.fromkeys(STATE_TOPICS, "compact")
    write(source, 500, 500)
    wait_for_lines(worker, sink, 1_000)
    worker.process.terminate(within_seconds=60)
