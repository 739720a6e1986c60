"""The keys of listeners' security; a part of the table in server_keys.py, with Kafka's names and meanings."""

from __future__ import annotations

from broker.config.config_keys import ConfigType, Key
from broker.config.listener_specs import protocol_map_problem
from broker.config.principal_rules import rules_problem
from broker.config.sasl_names import MECHANISMS
from broker.config.tls_settings import store_problem

STRING, LIST, PASSWORD, INT = ConfigType.STRING, ConfigType.LIST, ConfigType.PASSWORD, ConfigType.INT
LONG = ConfigType.LONG


def jaas_problem(text: object) -> str | None:
    """Return what is wrong with a login module, or None."""
    from broker.config.jaas import module_problem  # most servers have none

    return module_problem(text)


# fmt: off
SECURITY_KEYS: tuple[Key, ...] = (
    Key("listener.security.protocol.map", STRING,
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "Security protocol of each listener, NAME:PROTOCOL: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.",
        check=protocol_map_problem),
    Key("ssl.keystore.type", STRING, "PEM",
        "Format of the certificate and key (Kafka's own default is JKS); others can be converted with "
        "`openssl pkcs12`.",
        check=store_problem),
    Key("ssl.keystore.location", STRING, None,
        "File with the server's private key and its certificate chain, in PEM."),
    Key("ssl.keystore.certificate.chain", PASSWORD, None,
        "The certificate chain itself, in PEM, in place of a file."),
    Key("ssl.keystore.key", PASSWORD, None, "The private key itself, in PEM, in place of a file."),
    Key("ssl.key.password", PASSWORD, None, "Password of an encrypted private key."),
    Key("ssl.truststore.type", STRING, "PEM",
        "Format of the authorities' certificates (Kafka's own default is JKS).", check=store_problem),
    Key("ssl.truststore.location", STRING, None,
        "File with the certificates of the authorities that sign clients' certificates, in PEM."),
    Key("ssl.truststore.certificates", PASSWORD, None, "These certificates themselves, in PEM."),
    Key("ssl.client.auth", STRING, "none", "Whether clients need a certificate of their own.",
        choices=("none", "requested", "required")),
    Key("ssl.principal.mapping.rules", STRING, "DEFAULT",
        "Rules that make a client's name out of its certificate's: RULE:pattern/replacement/[LU] and "
        "DEFAULT, with the patterns of RE2.  Without a rule that matches, the connection is refused.",
        check=rules_problem),
    Key("ssl.enabled.protocols", LIST, ("TLSv1.2", "TLSv1.3"), "Versions of TLS that are served.",
        choices=("TLSv1.2", "TLSv1.3")),
    Key("ssl.cipher.suites", LIST, (),
        "Cipher suites of TLS 1.2, by their IANA or OpenSSL names; empty: OpenSSL's choice.  Those of TLS "
        "1.3 are always served."),
    Key("kawal.connection.setup.timeout.ms", INT, 10_000,
        "A connection to a listener with security that is not ready for requests after this is closed.",
        minimum=100, unit="ms"),
    Key("sasl.enabled.mechanisms", LIST, ("SCRAM-SHA-256", "SCRAM-SHA-512"),
        "Mechanisms by which clients may log in (Kafka's own default is GSSAPI, which is not served).",
        choices=MECHANISMS),
    Key("sasl.jaas.config", PASSWORD, None,
        "Login module and users of a mechanism as Kafka writes them; for PLAIN: "
        "`org.apache.kafka.common.security.plain.PlainLoginModule required user_alice=\"…\";`.",
        check=jaas_problem),
    Key("kawal.sasl.plain.users", STRING, None,
        "File with the hashed passwords of PLAIN's users, written by `kawal users add --file`; read again "
        "when it has changed."),
    Key("sasl.server.max.receive.size", INT, 524_288,
        "Largest request before a client is logged in.", minimum=1, unit="bytes"),
    Key("connections.max.reauth.ms", LONG, 0,
        "Time after which clients have to log in once more on their connections; 0: never.",
        minimum=0, unit="ms"),
    Key("connection.failed.authentication.delay.ms", INT, 100,
        "Time until the answer to a failed login.", minimum=0, unit="ms"),
)
# fmt: on
