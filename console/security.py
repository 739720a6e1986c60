"""TLS and SASL towards brokers: Kafka's and librdkafka's names of client settings, checked.

    security.protocol            PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL
    ssl.truststore.location      or ssl.ca.location: PEM file of authorities (….certificates: as text)
    ssl.keystore.location        or ssl.certificate.location: PEM file of the client's certificate and its key
    ssl.key.location             PEM file of the key, where it is in one of its own; ssl.key.password
    ssl.endpoint.identification.algorithm    https; empty or none: any host name will do
    sasl.mechanism               or sasl.mechanisms: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512
    sasl.jaas.config             or sasl.username and sasl.password

Source: CommonClientConfigs, SslConfigs and SaslConfigs of Kafka 4.3; CONFIGURATION.md of librdkafka 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from console.errors import CommandError

if TYPE_CHECKING:
    from broker.config.properties import Property

PROTOCOL, MECHANISM, JAAS = "security.protocol", "sasl.mechanism", "sasl.jaas.config"
USER, PASSWORD = "sasl.username", "sasl.password"
CA, CERTIFICATE, KEY = "ssl.truststore.location", "ssl.keystore.location", "ssl.key.location"
CA_TEXT, CHAIN_TEXT, KEY_TEXT = (
    "ssl.truststore.certificates",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
)
KEY_PASSWORD, HOST_CHECK = "ssl.key.password", "ssl.endpoint.identification.algorithm"

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

ALIASES: Final = {
    "ssl.ca.location": CA,
    "ssl.ca.pem": CA_TEXT,
    "ssl.certificate.location": CERTIFICATE,
    "ssl.certificate.pem": CHAIN_TEXT,
    "ssl.key.pem": KEY_TEXT,
    "sasl.mechanisms": MECHANISM,
}
"""The names that librdkafka has for keys of Kafka."""

KEYS: Final = frozenset(
    (
        *(PROTOCOL, MECHANISM, JAAS, USER, PASSWORD, CA, CERTIFICATE, KEY),
        *(CA_TEXT, CHAIN_TEXT, KEY_TEXT, KEY_PASSWORD, HOST_CHECK),
    )
)
FILES: Final = (CA, CERTIFICATE, KEY)

_TYPES: Final = ("ssl.truststore.type", "ssl.keystore.type")
CONVERSION: Final = (
    "convert a store with 'openssl pkcs12 -in STORE.p12 -out client.pem -nodes' (a JKS store first with "
    "'keytool -importkeystore -srckeystore STORE.jks -destkeystore STORE.p12 -deststoretype pkcs12')"
)


class Security(NamedTuple):
    """The way to connections: encrypted or not, with a login or without.  Texts are PEM."""

    protocol: str = "PLAINTEXT"
    mechanism: str = ""
    user: str = ""
    password: str = ""
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    """None: in the file of the certificate."""
    ca_text: str | None = None
    chain_text: str | None = None
    key_text: str | None = None
    key_password: str | None = None
    checks_host: bool = True
    by_token: bool = False
    """Whether user and password are the id and the HMAC of a delegation token."""

    def __repr__(self) -> str:
        return f"Security({self.protocol}, {self.mechanism or 'no login'})"

    @property
    def encrypts(self) -> bool:
        """Whether connections are encrypted."""
        return self.protocol.endswith("SSL")

    @property
    def logs_in(self) -> bool:
        """Whether connections begin with a login."""
        return self.protocol.startswith("SASL")

    @property
    def has_certificate(self) -> bool:
        """Whether the client has a certificate of its own."""
        return bool(self.certificate or self.chain_text)


PLAIN: Final = Security()
"""Neither encryption nor login."""


def kept(properties: Iterable[Property]) -> tuple[dict[str, Property], list[str]]:
    """Return the settings that are known by Kafka's names, the last of each, and the names of the others.

    Raises: CommandError for a store that is not PEM.
    """
    known: dict[str, Property] = {}
    others: dict[str, None] = {}
    for each in properties:
        key = ALIASES.get(each.key, each.key)
        if key in KEYS:
            known[key] = each
        elif key in _TYPES:
            if each.value.strip().upper() != "PEM":
                raise CommandError(
                    f"{each.place}: {each.key} is {each.value!r}, and only PEM is read; {CONVERSION}"
                )
        else:
            others[each.key] = None
    return known, list(others)


def security_of(known: dict[str, Property], where: str) -> Security:
    """Return the security that settings say, which `where` has.  Raises: CommandError."""
    protocol = _choice(known, PROTOCOL, PROTOCOLS) or "PLAINTEXT"
    security = Security(protocol=protocol)
    tls, login = (
        [each for key, each in known.items() if key.startswith(prefix) and key != HOST_CHECK]
        for prefix in ("ssl.", "sasl.")
    )
    if PROTOCOL not in known and (tls or login):
        each = (tls + login)[0]
        raise CommandError(
            f"{each.place}: {each.key} is given without security.protocol; add security.protocol=SSL, "
            "SASL_SSL or SASL_PLAINTEXT"
        )
    mechanism, login_as = "", Credentials()
    if security.logs_in:
        mechanism = _mechanism(known, where)
        login_as = _login(known, mechanism, where)
    paths = _tls(known) if security.encrypts else {}
    return Security(
        protocol=protocol,
        mechanism=mechanism,
        user=login_as.user,
        password=login_as.password,
        ca=paths.get(CA),
        certificate=paths.get(CERTIFICATE),
        key=paths.get(KEY),
        ca_text=paths.get(CA_TEXT),
        chain_text=paths.get(CHAIN_TEXT),
        key_text=paths.get(KEY_TEXT),
        key_password=paths.get(KEY_PASSWORD),
        checks_host=_checks_host(known),
        by_token=login_as.by_token,
    )


def _choice(known: dict[str, Property], key: str, choices: tuple[str, ...]) -> str | None:
    """Return the value of a key, in capitals, or None.  Raises: CommandError for one that is no choice."""
    each = known.get(key)
    if each is None:
        return None
    value = each.value.strip().upper()
    if value not in choices:
        raise CommandError(f"{each.place}: {each.key} is {each.value!r}; it must be {_either(choices)}")
    return value


def _either(choices: tuple[str, ...]) -> str:
    return f"{', '.join(choices[:-1])} or {choices[-1]}"


def _mechanism(known: dict[str, Property], where: str) -> str:
    mechanism = _choice(known, MECHANISM, MECHANISMS)
    if mechanism is None:
        raise CommandError(
            f"{where}: security.protocol is {known[PROTOCOL].value.strip()}, which needs sasl.mechanism; add "
            f"sasl.mechanism={_either(MECHANISMS)}"
        )
    return mechanism


class Credentials(NamedTuple):
    """A user's name and password, or a token's id and HMAC; not shown."""

    user: str = ""
    password: str = ""
    by_token: bool = False

    def __repr__(self) -> str:
        return f"Credentials({self.user!r})"


def _login(known: dict[str, Property], mechanism: str, where: str) -> Credentials:
    """Return the credentials, for which sasl.jaas.config goes first, as in Kafka.  Raises: CommandError."""
    user, password = (known[key].value if key in known else "" for key in (USER, PASSWORD))
    found = Credentials(user, password)
    if jaas := known.get(JAAS):
        found = _from_module(jaas, mechanism)
    if found.user and found.password:
        return found
    missing = "no user and password" if not found.user else "no password"
    raise CommandError(
        f"{where} has {missing} for {mechanism}; add sasl.username and sasl.password, or sasl.jaas.config "
        'with username="…" and password="…"'
    )


def _from_module(jaas: Property, mechanism: str) -> Credentials:
    from broker.config.jaas import MODULES, read_module  # only a login by it needs it

    try:
        module = read_module(jaas.value)
    except ValueError as error:
        raise CommandError(f"{jaas.place}: sasl.jaas.config cannot be used: {error}") from error
    if mechanism not in MODULES[module.name]:
        raise CommandError(
            f"{jaas.place}: sasl.jaas.config names {module.name.rpartition('.')[2]}, which is for "
            f"{' and '.join(MODULES[module.name])}, but sasl.mechanism is {mechanism}; change one of them"
        )
    options = module.options
    by_token = options.get("tokenauth", "").lower() == "true" and mechanism.startswith("SCRAM")
    return Credentials(options.get("username", ""), options.get("password", ""), by_token)


def _tls(known: dict[str, Property]) -> dict[str, str]:
    """Return the settings of TLS.  Raises: CommandError for such that contradict each other."""
    values = {key: each.value for key, each in known.items() if key.startswith("ssl.")}
    for key, text in ((CA, CA_TEXT), (CERTIFICATE, CHAIN_TEXT), (KEY, KEY_TEXT)):
        if key in values and text in values:
            raise CommandError(
                f"{known[text].place}: {known[key].key} and {known[text].key} are both given; remove one"
            )
    certificate = CERTIFICATE in values or CHAIN_TEXT in values
    for key in (KEY, KEY_TEXT):
        if key in values and not certificate:
            raise CommandError(
                f"{known[key].place}: {known[key].key} is given without a certificate; add "
                "ssl.certificate.location, or ssl.keystore.location"
            )
    if CHAIN_TEXT in values and not {KEY, KEY_TEXT} & values.keys():
        raise CommandError(
            f"{known[CHAIN_TEXT].place}: {known[CHAIN_TEXT].key} is given without ssl.keystore.key; add it"
        )
    return values


def _checks_host(known: dict[str, Property]) -> bool:
    each = known.get(HOST_CHECK)
    if each is None:
        return True
    value = each.value.strip().lower()
    if value not in ("https", "", "none"):
        raise CommandError(
            f"{each.place}: {HOST_CHECK} is {each.value!r}; it must be https, or empty for any host name"
        )
    return value == "https"
