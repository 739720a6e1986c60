"""Client settings for TLS and logins, by Kafka's names and librdkafka's."""

from __future__ import annotations

import pytest

from broker.config.properties import parsed
from console.errors import CommandError
from console.security import PLAIN, Security, kept, security_of

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def read(text: str) -> Security:
    known, _ = kept(parsed(text, "f"))
    return security_of(known, "f")


def test_nothing_set_is_plain() -> None:
    assert read("client.id=a") == PLAIN
    assert not PLAIN.encrypts
    assert not PLAIN.logs_in


def test_settings_of_kafka_s_tools_are_read() -> None:
    found = read(
        "security.protocol=sasl_ssl\nsasl.mechanism=SCRAM-SHA-512\nssl.truststore.type=PEM\n"
        "ssl.truststore.location=/ca.pem\nssl.keystore.location=/me.pem\nssl.key.password=k\n"
        f'sasl.jaas.config={SCRAM} required username="alice" password="a\\\\"b";\n'
        "ssl.endpoint.identification.algorithm=\n"
    )
    assert found == Security(
        protocol="SASL_SSL",
        mechanism="SCRAM-SHA-512",
        user="alice",
        password='a"b',
        ca="/ca.pem",
        certificate="/me.pem",
        key_password="k",
        checks_host=False,
    )
    assert 'a"b' not in repr(found)
    assert found.encrypts
    assert found.logs_in
    assert found.has_certificate


@pytest.mark.parametrize(
    ("options", "by_token"),
    [('tokenauth="true"', True), ("tokenauth=TRUE", True), ('tokenauth="false"', False), ("", False)],
)
def test_a_login_module_may_name_a_delegation_token(options: str, by_token: bool) -> None:
    login = f'sasl.jaas.config={SCRAM} required username="id" password="hmac" {options};\n'
    found = read(f"security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-256\n{login}")
    assert (found.user, found.password, found.by_token) == ("id", "hmac", by_token)


def test_settings_of_librdkafka_are_read() -> None:
    found = read(
        "security.protocol=SASL_SSL\nsasl.mechanisms=PLAIN\nsasl.username=a\nsasl.password=b\n"
        "ssl.ca.location=/ca.pem\nssl.certificate.location=/me.pem\nssl.key.location=/key.pem\n"
    )
    assert (found.mechanism, found.user, found.password) == ("PLAIN", "a", "b")
    assert (found.ca, found.certificate, found.key) == ("/ca.pem", "/me.pem", "/key.pem")
    assert found.checks_host


def test_keys_without_effect_are_named_once() -> None:
    known, others = kept(parsed("a=1\na=2\nsecurity.protocol=SSL\nb=3", "f"))
    assert list(known) == ["security.protocol"]
    assert others == ["a", "b"]


LOGIN = "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-256\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("security.protocol=TLS", "f, line 1: security.protocol is 'TLS'; it must be PLAINTEXT, SSL, "),
        ("\nssl.ca.location=/ca", "f, line 2: ssl.ca.location is given without security.protocol; add"),
        ("security.protocol=SASL_SSL", "which needs sasl.mechanism; add sasl.mechanism=PLAIN, SCRAM"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=GSSAPI", "f, line 2: sasl.mechanism is 'GSSAPI'; it"),
        (LOGIN, "f has no user and password for SCRAM-SHA-256; add sasl.username"),
        (LOGIN + "sasl.username=a", "f has no password for SCRAM-SHA-256; add"),
        (
            LOGIN + "sasl.jaas.config=canary",
            "f, line 3: sasl.jaas.config cannot be used: it must be one login",
        ),
        (
            LOGIN + f"sasl.jaas.config={SCRAM.replace('scram.Scram', 'plain.Plain')} required;",
            "is for PLAIN, ",
        ),
        (
            "security.protocol=SSL\nssl.truststore.type=JKS",
            "ssl.truststore.type is 'JKS', and only PEM is read",
        ),
        (
            "security.protocol=SSL\nssl.key.location=/k",
            "line 2: ssl.key.location is given without a certificate",
        ),
        ("security.protocol=SSL\nssl.ca.location=/a\nssl.ca.pem=b", "are both given; remove one"),
        (
            "security.protocol=SSL\nssl.certificate.pem=b",
            "line 2: ssl.certificate.pem is given without ssl.key",
        ),
        ("security.protocol=SSL\nssl.endpoint.identification.algorithm=x", "it must be https, or empty"),
    ],
)
def test_a_wrong_value_is_one_sentence_with_place_and_cure(text: str, sentence: str) -> None:
    with pytest.raises(CommandError) as refused:
        read(text)
    assert sentence in str(refused.value)
    assert "canary" not in str(refused.value)
