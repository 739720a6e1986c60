"""The settings of a listener's logins, and what is refused before it listens."""

from __future__ import annotations

import pytest

from broker.config.config import Config, config_of
from broker.config.config_keys import ConfigError
from broker.config.sasl_settings import sasl_settings

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


def config(**more: str) -> Config:
    settings = {"listeners": "SASL_PLAINTEXT://127.0.0.1:9", **more}
    return config_of({key.replace("__", "."): value for key, value in settings.items()})


def test_scram_needs_no_setting() -> None:
    settings = sasl_settings(config(), "SASL_PLAINTEXT")
    assert settings.mechanisms == ("SCRAM-SHA-256", "SCRAM-SHA-512")
    assert (settings.receive_bytes_max, settings.failure_delay_ms) == (524_288, 100)


def test_the_most_particular_value_is_in_effect() -> None:
    values = config_of(
        {
            "listeners": "SASL_PLAINTEXT://127.0.0.1:9,OTHER://127.0.0.1:8",
            "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,OTHER:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            "sasl.jaas.config": JAAS,
            "connections.max.reauth.ms": "1000",
            "listener.name.other.connections.max.reauth.ms": "2000",
            "listener.name.other.scram-sha-256.connections.max.reauth.ms": "3000",
            "listener.name.other.plain.sasl.jaas.config": JAAS.replace("alice", "bob"),
        }
    )
    first, other = sasl_settings(values, "SASL_PLAINTEXT"), sasl_settings(values, "OTHER")
    assert first.lifetimes_ms == {"PLAIN": 1000, "SCRAM-SHA-256": 1000}
    assert other.lifetimes_ms == {"PLAIN": 2000, "SCRAM-SHA-256": 3000}
    assert (first.plain_users, other.plain_users) == ({"alice": "secret"}, {"bob": "secret"})
    assert "alice" not in repr(first)
    assert "alice" not in repr(values)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("sasl.enabled.mechanisms", "PLAIN", r"plain.sasl.jaas.config.*is not set"),
        ("sasl.enabled.mechanisms", "GSSAPI", r"a list of PLAIN, SCRAM-SHA-256"),
        ("sasl.enabled.mechanisms", "", r"at least one mechanism"),
        ("sasl.jaas.config", "nonsense", r"\(hidden\).*one login module"),
        ("listener.name.x.sasl.jaas.config", JAAS, r"listener X that does not exist"),
        ("listener.name.sasl_plaintext.plain.ssl.client.auth", "none", r"is not a key"),
    ],
)
def test_what_cannot_be_used_ends_the_start(key: str, value: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        config_of({"listeners": "SASL_PLAINTEXT://127.0.0.1:9", key: value})


def test_a_module_of_another_mechanism_is_refused() -> None:
    with pytest.raises(ConfigError, match="which is not PLAIN's"):
        config_of(
            {
                "listeners": "SASL_PLAINTEXT://127.0.0.1:9",
                "sasl.enabled.mechanisms": "PLAIN",
                "sasl.jaas.config": SCRAM,
            }
        )


def test_a_listener_with_logins_may_be_reached_by_others() -> None:
    assert config_of({"listeners": "SASL_PLAINTEXT://0.0.0.0:9"}).specs[0].protocol.sasl


@pytest.mark.parametrize("url", ["http://issuer.example/keys", "ftp://x/y", "keys.json", "file://keys.json"])
def test_keys_of_tokens_come_over_https_or_from_a_file(url: str) -> None:
    with pytest.raises(ConfigError, match=r"neither file:///PATH nor https"):
        config_of({"sasl.oauthbearer.jwks.endpoint.url": url})


def test_tokens_need_a_place_of_keys() -> None:
    with pytest.raises(ConfigError, match=r"unsigned tokens are never accepted"):
        config(sasl__enabled__mechanisms="OAUTHBEARER")
    url = "https://issuer.example/keys"
    made = config(sasl__enabled__mechanisms="OAUTHBEARER", sasl__oauthbearer__jwks__endpoint__url=url)
    oauth = sasl_settings(made, "SASL_PLAINTEXT").oauth
    assert oauth is not None
    assert (oauth.keys_url, oauth.skew_ms, oauth.name_claim, oauth.audiences) == (url, 30_000, "sub", ())
