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
from protocol.messages import describe_configs
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

SALTED = b"canary-of-a-hash"


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


def test_no_secret_leaves_the_server(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    settings: dict[str, Any] = {**CANARIES, "listener_overrides": LISTENERS}
    audited = Audited(**settings)
    create(audited.admin, "t")
    user = scram.ScramCredentialUpsertion(
        name="n", mechanism=1, iterations=4096, salt=b"salt" * 4, salted_password=SALTED
    )
    audited.admin.call(scram.AlterUserScramCredentialsRequest(deletions=[], upsertions=[user]), 0)
    said = b"".join(asked(audited))
    assert b"ssl.key.password" in said, "the settings were described"
    snapshot = Snapshot.take(audited.broker)
    snapshot.data_directory = "/"
    metrics, _ = render(snapshot, GroupSnapshot(held_partitions=0), TransactionSnapshot(), "")
    for place in (said, metrics, str(audited.events).encode(), caplog.text.encode()):
        assert b"canary" not in place


def test_a_configuration_shows_none_of_its_secrets() -> None:
    audited = Audited(**CANARIES, listener_overrides=LISTENERS)
    assert "canary" not in repr(audited.config)
    assert "canary" not in repr(audited.broker.live_config.layers)
