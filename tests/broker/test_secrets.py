"""No secret of settings or users is in an answer, an error, a metric, an event or a line of the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from broker.coordinators.group_snapshot import GroupSnapshot
from broker.coordinators.transaction_snapshot import TransactionSnapshot
from broker.server.exposition import render
from broker.snapshot import Snapshot
from protocol.messages import alter_user_scram_credentials as scram
from protocol.messages import describe_configs, incremental_alter_configs
from tests.broker.access_cases import CASES
from tests.broker.audited import Audited
from tests.broker.gateway import take_outgoing
from tests.broker.kit import create

CANARIES = {
    "delegation_token_secret_key": "canary-of-tokens",
    "ssl_key_password": "canary-of-the-key",
    "ssl_keystore_key": "canary-of-the-store",
    "sasl_jaas_config": 'PlainLoginModule required user_a="canary-of-a";',
    "kawal_schema_registry_user_info": "registry:canary-of-the-registry",
}
"""Settings with a secret."""

LISTENERS = {
    "listener.name.in.plain.sasl.jaas.config": 'PlainLoginModule required user_b="canary-of-b";',
    "listener.name.in.ssl.key.password": "canary-of-in",
}

WITH_LISTENERS: dict[str, Any] = {
    **CANARIES,
    "listeners": ("PLAINTEXT://127.0.0.1:0", "IN://127.0.0.1:0"),
    "listener_security_protocol_map": "PLAINTEXT:PLAINTEXT,IN:PLAINTEXT",
    "listener_overrides": LISTENERS,
}

SALTED = b"canary-of-a-hash"

BY_CLIENTS = {
    "listener.name.in.ssl.keystore.key": "canary-of-a-client",
    "listener.name.in.ssl.keystore.certificate.chain": "canary-of-a-chain",
    "listener.name.in.ssl.truststore.certificates": "canary-of-a-trust-store",
}
"""Settings that a client makes while the server runs."""


def asked(audited: Audited) -> Iterator[bytes]:
    """Send every request of the table of access as the super user, and some about settings and users."""
    for case in CASES:
        client = audited.admin
        client.send(case.make(), case.version)
        audited.settle()
        audited.advance(10_000)
        yield take_outgoing(client.connection)
    for kind, name in ((4, "1"), (4, ""), (8, "1")):
        resource = describe_configs.DescribeConfigsResource(
            resource_type=kind, resource_name=name, configuration_keys=None
        )
        request = describe_configs.DescribeConfigsRequest(
            resources=[resource], include_synonyms=True, include_documentation=True
        )
        client = audited.admin
        client.send(request, 4)
        audited.settle()
        answer = take_outgoing(client.connection)
        assert answer
        yield answer


def set_by_a_client(audited: Audited) -> None:
    """Set what is secret of a listener."""
    lines = [
        incremental_alter_configs.AlterableConfig(name=name, config_operation=0, value=text)
        for name, text in BY_CLIENTS.items()
    ]
    resource = incremental_alter_configs.AlterConfigsResource(
        resource_type=4, resource_name="1", configs=lines
    )
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(
        resources=[resource], validate_only=False
    )
    (answer,) = audited.admin.call(request, 1).responses
    assert (answer.error_code, answer.error_message) == (0, None)


def test_no_secret_leaves_the_server(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    audited = Audited(**WITH_LISTENERS)
    create(audited.admin, "t")
    user = scram.ScramCredentialUpsertion(
        name="n", mechanism=1, iterations=4096, salt=b"salt" * 4, salted_password=SALTED
    )
    audited.admin.call(scram.AlterUserScramCredentialsRequest(deletions=[], upsertions=[user]), 0)
    set_by_a_client(audited)
    said = b"".join(asked(audited))
    assert b"ssl.key.password" in said, "the settings were described"
    assert b"listener.name.in.ssl.keystore.key" in said
    snapshot = Snapshot.take(audited.broker)
    snapshot.data_directory = "/"
    metrics, _ = render(snapshot, GroupSnapshot(held_partitions=0), TransactionSnapshot(), "")
    for place in (said, metrics, str(audited.events).encode(), caplog.text.encode()):
        assert b"canary" not in place


def test_a_configuration_shows_none_of_its_secrets() -> None:
    audited = Audited(**WITH_LISTENERS)
    set_by_a_client(audited)
    assert "canary" not in repr(audited.config)
    assert "canary" not in repr(audited.broker.live_config.layers)
