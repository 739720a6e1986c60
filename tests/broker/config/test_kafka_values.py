"""Values of Kafka's protective keys that may be ignored, and those that may not."""

from __future__ import annotations

import pytest

from broker.config.kafka_keys import KAFKA_KEYS, PROTECTIVE
from broker.config.kafka_values import HANDLER_KEY, HANDLERS, OF_OTHER_BROKERS, SAME_HERE, refusal
from broker.config.sasl_names import MECHANISMS

SECURITY = "org.apache.kafka.common.security"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("principal.builder.class", f"{SECURITY}.authenticator.DefaultKafkaPrincipalBuilder"),
        ("sasl.mechanism.inter.broker.protocol", "PLAIN"),
        ("security.inter.broker.protocol", "SASL_SSL"),
        ("ssl.endpoint.identification.algorithm", ""),
        ("ssl.protocol", "TLSv1.2"),
        ("sasl.kerberos.min.time.before.relogin", "60000"),
        ("sasl.kerberos.ticket.renew.jitter", "0.05"),
    ],
)
def test_what_changes_nothing_may_be_ignored(name: str, value: str) -> None:
    assert refusal(name, value) is None


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("principal.builder.class", "org.acme.Builder", "can only be .*DefaultKafkaPrincipalBuilder here"),
        ("ssl.engine.factory.class", "org.acme.Engine", "no class is loaded"),
        ("ssl.protocol", "SSLv3", "can only be TLSv1.3 or"),
        ("ssl.keystore.password", "x", "is for JKS and PKCS12 stores, and only PEM is read; convert"),
        ("ssl.provider", "BCFIPS", "protects a Kafka broker"),
        ("security.providers", "org.acme.Provider", "protects a Kafka broker"),
        ("create.topic.policy.class.name", "org.acme.Policy", "protects a Kafka broker"),
        ("client.quota.callback.class", "org.acme.Quota", "protects a Kafka broker"),
        (HANDLER_KEY, "org.acme.Handler", "one mechanism of a listener"),
    ],
)
def test_what_would_be_missed_may_not_be_ignored(name: str, value: str, sentence: str) -> None:
    import re

    reason = refusal(name, value)
    assert reason is not None
    assert re.search(sentence, reason)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_only_kafkas_own_handlers_of_a_mechanism_are_known(mechanism: str) -> None:
    assert all(refusal(HANDLER_KEY, known, mechanism) is None for known in HANDLERS[mechanism])
    unsecured = f"{SECURITY}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
    assert refusal(HANDLER_KEY, unsecured, mechanism)


def test_the_tables_name_keys_of_kafka() -> None:
    extra = ("principal.builder.class", "sasl.oauthbearer.header.urlencode")
    names = [name for name in KAFKA_KEYS if name.startswith(PROTECTIVE)]
    assert set(SAME_HERE) <= {*names, *extra}
    assert [prefix for prefix in OF_OTHER_BROKERS if not any(n.startswith(prefix) for n in names)] in (
        [],
        ["sasl.oauthbearer.header.urlencode"],
    )
