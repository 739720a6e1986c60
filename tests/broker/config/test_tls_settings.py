"""The TLS of a listener in text, and settings that cannot be meant."""

import pytest

from broker.config.config import Config, config_of
from broker.config.config_keys import ConfigError
from broker.config.tls_settings import store_problem, tls_settings

BASE = {"listeners": "SSL://127.0.0.1:0", "ssl.keystore.location": "/server.pem"}
OUTSIDE = {"listeners": "SSL://0.0.0.0:9093", "ssl.truststore.location": "/ca.pem"}


def test_a_listener_s_own_value_comes_before_that_for_all() -> None:
    config = config_of(
        BASE
        | {
            "listeners": "SSL://127.0.0.1:0,IN://127.0.0.1:0",
            "listener.security.protocol.map": "SSL:SSL,IN:SSL",
            "listener.name.in.ssl.keystore.location": "/in.pem",
            "listener.name.in.ssl.cipher.suites": (
                "TLS_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
            ),
        }
    )
    outside, inside = (tls_settings(config, spec) for spec in config.specs)
    assert (outside.files, outside.ciphers) == (("/server.pem",), ())
    assert (inside.files, inside.ciphers) == (("/in.pem",), ("ECDHE-RSA-AES128-GCM-SHA256",))
    assert config.of_listener("IN", "ssl.client.auth") == "none"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"listeners": "SSL://127.0.0.1:0"}, "needs a certificate"),
        (BASE | {"listener.name.ssl.ssl.keystore.key": "x"}, "both given"),
        ({"listeners": "SSL://127.0.0.1:0", "ssl.keystore.key": "x"}, "only useful together"),
        (BASE | {"ssl.client.auth": "required"}, "authorities that sign"),
        (BASE | {"ssl.client.auth": "always"}, "none, requested, required"),
        (
            BASE | {"ssl.truststore.location": "/a", "listener.name.ssl.ssl.truststore.certificates": "x"},
            "both given",
        ),
        (BASE | {"ssl.enabled.protocols": "TLSv1.1"}, "TLSv1.2, TLSv1.3"),
        (BASE | {"ssl.enabled.protocols": ""}, "at least one version"),
        (BASE | {"ssl.keystore.type": "JKS"}, "keytool -importkeystore"),
        (BASE | {"ssl.principal.mapping.rules": "RULE:x"}, "is no rule"),
        (
            BASE | {"listener.name.ssl.ssl.keystore.locaton": "/x"},
            "did you mean 'listener.name.ssl.ssl.keystore.location'",
        ),
        (BASE | OUTSIDE | {"ssl.client.auth": "requested"}, "need no certificate.*--insecure"),
    ],
)
def test_what_would_be_half_configured_is_refused(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config_of(settings)


def test_a_listener_whose_clients_need_certificates_may_be_reached_by_others() -> None:
    config = config_of(BASE | OUTSIDE | {"ssl.client.auth": "required"})
    assert tls_settings(config, config.specs[0]).client_auth == "required"
    with pytest.raises(ConfigError, match=r"ssl\.client\.auth=required"):
        config_of(BASE | OUTSIDE)


def test_secrets_are_not_shown() -> None:
    config = config_of(
        BASE | {"ssl.key.password": "canary-1", "listener.name.ssl.ssl.key.password": "canary-2"}
    )
    assert "canary" not in repr(config)
    assert config.of_listener("SSL", "ssl.key.password") == "canary-2"
    assert "ssl_key_password" not in repr(Config())


def test_only_pem_is_a_store() -> None:
    assert store_problem("PEM") is None
    assert "openssl pkcs12" in (store_problem("PKCS12") or "")


def test_suites_of_tls_1_3_alone_leave_no_older_version() -> None:
    config = config_of(BASE | {"ssl.cipher.suites": "TLS_AES_256_GCM_SHA384"})
    settings = tls_settings(config, config.specs[0])
    assert (settings.protocols, settings.ciphers) == (("TLSv1.3",), ())
