"""Values of Kafka's keys that mean here what they mean there although the keys themselves are not served.

A key that protects a Kafka broker (`kafka_keys.PROTECTIVE`) is refused, for its owner believes in it.  Three
kinds of settings of such keys are no reason to refuse a file of Kafka's: those for connections that the
broker opens itself, towards other brokers or an issuer of tokens, of which there are none; those that say
what is done here in any case; and those that give the key Kafka's own default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from broker.config.kafka_keys import KAFKA_KEYS, PROTECTIVE
from broker.config.sasl_names import OAUTHBEARER, PLAIN, SCRAM

_SECURITY: Final = "org.apache.kafka.common.security."
_OAUTH: Final = f"{_SECURITY}oauthbearer."

OF_OTHER_BROKERS: Final = (
    "sasl.client.callback.handler.class",
    "sasl.kerberos.",
    "sasl.login.",
    "sasl.mechanism.",
    "sasl.oauthbearer.assertion.",
    "sasl.oauthbearer.client.credentials.",
    "sasl.oauthbearer.header.urlencode",
    "sasl.oauthbearer.jwt.retriever.class",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.token.endpoint.url",
    "security.inter.broker.protocol",
    "ssl.endpoint.identification.algorithm",
    "ssl.secure.random.implementation",
)
"""Prefixes of protective keys about connections that the broker opens, or without a meaning here."""

SAME_HERE: Final[Mapping[str, tuple[str, ...]]] = {
    "principal.builder.class": (f"{_SECURITY}authenticator.DefaultKafkaPrincipalBuilder",),
    "sasl.oauthbearer.jwt.validator.class": (
        f"{_OAUTH}DefaultJwtValidator",
        f"{_OAUTH}BrokerJwtValidator",
    ),
    "ssl.engine.factory.class": (f"{_SECURITY}ssl.DefaultSslEngineFactory",),
    "ssl.keymanager.algorithm": ("SunX509", "NewSunX509", "PKIX"),
    "ssl.protocol": ("TLSv1.3", "TLSv1.2", "TLS"),
    "ssl.trustmanager.algorithm": ("PKIX", "SunX509"),
}
"""Values by key with which the key says what is done here in any case."""

HANDLERS: Final[Mapping[str, tuple[str, ...]]] = {
    PLAIN: (f"{_SECURITY}plain.internals.PlainServerCallbackHandler",),
    **dict.fromkeys(SCRAM, (f"{_SECURITY}scram.internals.ScramServerCallbackHandler",)),
    OAUTHBEARER: (
        f"{_OAUTH}OAuthBearerValidatorCallbackHandler",
        f"{_OAUTH}secured.OAuthBearerValidatorCallbackHandler",
    ),
}
"""Kafka's classes by mechanism that judge logins as it is done here."""

HANDLER_KEY: Final = "sasl.server.callback.handler.class"

ASSIGNORS: Final[Mapping[str, str]] = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}
"""The short names of Kafka's assignors, for group.consumer.assignors."""


def refusal(name: str, value: str, mechanism: str = "") -> str | None:
    """Return why a setting of a key that protects a Kafka broker cannot be ignored, None if it can.

    `name` is the key without `listener.name.…`; the text is the end of a sentence about the key.
    """
    if name == HANDLER_KEY:
        known = HANDLERS.get(mechanism, ())
        if value in known:
            return None
        return _instead(known) if known else "is only possible for one mechanism of a listener"
    same = SAME_HERE.get(name)
    if same is not None:
        return None if value in same else _instead(same)
    if name.startswith(OF_OTHER_BROKERS):
        return None
    if name in ("ssl.keystore.password", "ssl.truststore.password"):
        from broker.config.tls_settings import CONVERSION

        return f"is for JKS and PKCS12 stores, and {CONVERSION}"
    key = KAFKA_KEYS[name]
    assert name.startswith(PROTECTIVE)
    if not key.sensitive and key.default is not None and key.parse(value) == key.default:
        return None
    return "protects a Kafka broker but nothing here; remove it, and see to its purpose in another way"


def _instead(known: tuple[str, ...]) -> str:
    return f"can only be {' or '.join(known)} here: no class is loaded, and nothing else is known"
