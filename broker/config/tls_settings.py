"""The settings of one listener's TLS, checked as far as text can be.

broker/server/tls.py makes an OpenSSL context of it, which reads the files and checks key and certificates.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from broker.config.config_keys import ConfigError, Value
from broker.config.listener_specs import ListenerSpec

CONVERSION: Final = (
    "only PEM is read; convert a store with 'openssl pkcs12 -in STORE.p12 -out server.pem -nodes' (a JKS "
    "store first with 'keytool -importkeystore -srckeystore STORE.jks -destkeystore STORE.p12 -deststoretype"
    " pkcs12')"
)

SUITES: Final = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
}
"""OpenSSL's names of the cipher suites of TLS 1.2, by those of IANA, which Java uses."""

SUITES_1_3: Final = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
"""The suites of TLS 1.3, which Python cannot choose among."""


class Values(Protocol):
    """The configuration, as far as TLS needs it."""

    def of_listener(self, listener: str, name: str, mechanism: str = "") -> Value:
        """Return the value of a key for one listener."""


class TlsSettings(NamedTuple):
    """The settings of one listener; of each pair of file and text, one at most is given."""

    listener: str
    keystore_file: str | None
    certificate_chain: str | None
    key: str | None
    key_password: str | None
    truststore_file: str | None
    trusted: str | None
    client_auth: str
    mapping_rules: str
    protocols: tuple[str, ...]
    ciphers: tuple[str, ...]
    """By OpenSSL's names; empty: its own choice."""

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are read."""
        return tuple(path for path in (self.keystore_file, self.truststore_file) if path)


def tls_settings(config: Values, spec: ListenerSpec) -> TlsSettings:
    """Return the settings of an encrypted listener.  Raises: ConfigError."""

    def value(name: str) -> str | None:
        found = config.of_listener(spec.name, name)
        return str(found) if found is not None else None

    protocols = config.of_listener(spec.name, "ssl.enabled.protocols")
    suites = config.of_listener(spec.name, "ssl.cipher.suites")
    assert isinstance(protocols, tuple)
    assert isinstance(suites, tuple)
    older = tuple(SUITES.get(suite, suite) for suite in suites if suite not in SUITES_1_3)
    if suites and not older:
        protocols = tuple(version for version in protocols if version == "TLSv1.3")
    settings = TlsSettings(
        listener=spec.name,
        keystore_file=value("ssl.keystore.location"),
        certificate_chain=value("ssl.keystore.certificate.chain"),
        key=value("ssl.keystore.key"),
        key_password=value("ssl.key.password"),
        truststore_file=value("ssl.truststore.location"),
        trusted=value("ssl.truststore.certificates"),
        client_auth=value("ssl.client.auth") or "none",
        mapping_rules=value("ssl.principal.mapping.rules") or "DEFAULT",
        protocols=protocols,
        ciphers=older,
    )
    _check(settings)
    return settings


def _check(settings: TlsSettings) -> None:
    prefix = f"listener.name.{settings.listener.lower()}."
    if settings.keystore_file and (settings.key or settings.certificate_chain):
        raise ConfigError(
            f"{prefix}ssl.keystore.location",
            None,
            "and a separate key or certificate are both given; remove one of them",
            kafka="Both SSL key store location and separate private key are specified.",
        )
    if bool(settings.key) != bool(settings.certificate_chain):
        raise ConfigError(
            f"{prefix}ssl.keystore.key", None, "and ssl.keystore.certificate.chain are only useful together"
        )
    if not settings.keystore_file and not settings.key:
        raise ConfigError(
            f"{prefix}ssl.keystore.location",
            None,
            f"is not set, and the listener {settings.listener} needs a certificate; name a PEM file with the"
            " private key and the certificate chain",
        )
    if settings.truststore_file and settings.trusted:
        raise ConfigError(
            f"{prefix}ssl.truststore.location", None, "and separate certificates are both given; remove one"
        )
    if settings.client_auth != "none" and not settings.truststore_file and not settings.trusted:
        raise ConfigError(
            f"{prefix}ssl.truststore.location",
            None,
            f"is not set, and ssl.client.auth={settings.client_auth} needs the certificates of the"
            " authorities that sign those of clients",
        )
    if not settings.protocols:
        raise ConfigError(f"{prefix}ssl.enabled.protocols", "", "at least one version is needed")


def store_problem(kind: object) -> str | None:
    """Return what is wrong with the format of a store, or None."""
    return None if kind == "PEM" else CONVERSION
