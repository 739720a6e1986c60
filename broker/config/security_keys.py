"""The keys of listeners' security; a part of the table in server_keys.py, with Kafka's names and meanings."""

from __future__ import annotations

from broker.config.config_keys import ConfigType, Key
from broker.config.listener_specs import protocol_map_problem
from broker.config.principal_rules import rules_problem
from broker.config.sasl_names import MECHANISMS
from broker.config.tls_settings import store_problem

STRING, LIST, PASSWORD, INT = ConfigType.STRING, ConfigType.LIST, ConfigType.PASSWORD, ConfigType.INT
LONG, BOOLEAN = ConfigType.LONG, ConfigType.BOOLEAN


def jaas_problem(text: object) -> str | None:
    """Return what is wrong with a login module, or None."""
    from broker.config.jaas import module_problem  # most servers have none

    return module_problem(text)


def url_problem(url: object) -> str | None:
    """Return what is wrong with a place of keys, or None."""
    text = str(url)
    if text.startswith(("https://", "file:///", "http://127.0.0.1:", "http://localhost:")):
        return None
    return "it is neither file:///PATH nor https://HOST/PATH (http:// on this machine alone)"


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
    Key("ssl.allow.dn.changes", BOOLEAN, False,
        "Whether a certificate that a client sets may have another subject than the one in use."),
    Key("ssl.allow.san.changes", BOOLEAN, False,
        "Whether a certificate that a client sets may lack alternative names of the one in use."),
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
    Key("sasl.oauthbearer.jwks.endpoint.url", STRING, None,
        "Where the keys are that sign tokens: file:///… or https://….", check=url_problem),
    Key("sasl.oauthbearer.jwks.endpoint.refresh.ms", LONG, 3_600_000,
        "How often these keys are read again.", minimum=1_000, unit="ms"),
    Key("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", LONG, 100,
        "Pause after the first attempt that has failed.", minimum=1, unit="ms"),
    Key("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", LONG, 10_000,
        "Longest pause between attempts.", minimum=1, unit="ms"),
    Key("sasl.oauthbearer.expected.issuer", STRING, None, "Issuer whose tokens are accepted; none: any."),
    Key("sasl.oauthbearer.expected.audience", LIST, (),
        "Audiences of which a token must name one; empty: any."),
    Key("sasl.oauthbearer.clock.skew.seconds", INT, 30,
        "Difference of clocks that is tolerated.", minimum=0, maximum=60, unit="s"),
    Key("sasl.oauthbearer.sub.claim.name", STRING, "sub", "Claim that is the client's name."),
    Key("connection.failed.authentication.delay.ms", INT, 100,
        "Time until the answer to a failed login.", minimum=0, unit="ms"),
)
# fmt: on
