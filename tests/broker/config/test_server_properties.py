"""Kafka's server.properties as settings of this server."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker.config.config_keys import ConfigProblem
from broker.config.config_sources import LoadedConfig, flag_setting, load
from broker.config.kafka_keys import KAFKA_KEYS
from broker.config.sasl_settings import sasl_settings
from broker.config.server_keys import KEYS

OF_KAFKA = """\
# The keys of config/server.properties of Apache Kafka 4.3.1.
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=2
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""

BROKER = OF_KAFKA.replace("=broker,controller", "=broker").replace(",CONTROLLER://:9093", "")
BROKER = BROKER.replace(",CONTROLLER://localhost:9093", "").replace("node.id=1", "node.id=2")

SECURE = r"""
listeners = OUTSIDE://0.0.0.0:9093, CONTROLLER://:9094
advertised.listeners: OUTSIDE://kafka.example:9093
listener.security.protocol.map OUTSIDE:SASL_SSL,CONTROLLER:SASL_SSL
controller.listener.names=CONTROLLER
process.roles=broker,controller
listener.name.controller.ssl.client.auth=required
inter.broker.listener.name=OUTSIDE
sasl.mechanism.inter.broker.protocol=PLAIN
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
listener.name.outside.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule \
    required \
    username="broker" \
    password="bro ker" \
    user_alice="al\\"ice" \
    user_b\u00f6b="b\u00f6b;=";
listener.name.outside.scram-sha-512.sasl.jaas.config=\
  org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.outside.plain.sasl.server.callback.handler.class=\
  org.apache.kafka.common.security.plain.internals.PlainServerCallbackHandler
listener.name.outside.ssl.keystore.type=PEM
listener.name.outside.ssl.keystore.key=-----BEGIN PRIVATE KEY-----\n\
  AAAA\n\
  -----END PRIVATE KEY-----
listener.name.outside.ssl.keystore.certificate.chain=-----BEGIN CERTIFICATE----- \
  AAAA -----END CERTIFICATE-----
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:CN=ops,O=acme;User:alice
allow.everyone.if.no.acl.found=true
principal.builder.class=org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder
log.dir=/d
default.replication.factor=3
group.consumer.assignors=org.apache.kafka.coordinator.group.assignor.UniformAssignor, range
confluent.telemetry.enabled=true
"""

LOCAL = "listeners=PLAINTEXT://127.0.0.1:9092\n"


def loaded(text: str, folder: Path, *flags: str, **environment: str) -> LoadedConfig:
    path = folder / "server.properties"
    path.write_text(text)
    return load(file=str(path), environment=environment, flags=[flag_setting(flag) for flag in flags])


def refusal(text: str, folder: Path) -> str:
    with pytest.raises(ConfigProblem) as caught:
        loaded(text, folder)
    return str(caught.value).replace(f"{folder}/", "")


@pytest.mark.parametrize("text", [OF_KAFKA, BROKER])
def test_kafkas_own_files_are_read(text: str, tmp_path: Path) -> None:
    result = loaded(text, tmp_path, "kawal.insecure=true")
    config = result.config
    assert config.listeners == ("PLAINTEXT://:9092",)
    assert config.advertised_listeners == ("PLAINTEXT://localhost:9092",)
    assert (config.log_dirs, config.num_partitions) == ("/tmp/kraft-combined-logs", 1)
    assert result.source("num.partitions") == f"{tmp_path}/server.properties, line 16"
    (warning,) = result.warnings
    for name in ("process.roles", "controller.quorum.bootstrap.servers", "num.io.threads"):
        assert name in warning


def test_a_file_that_lets_everyone_in_from_everywhere_needs_a_word(tmp_path: Path) -> None:
    said = refusal(OF_KAFKA, tmp_path)
    assert said.startswith("server.properties, line 5: ")
    assert "--insecure" in said


def test_a_secure_file_means_what_it_means_to_kafka(tmp_path: Path) -> None:
    result = loaded(SECURE, tmp_path)
    config = result.config
    (spec,) = config.specs
    assert (spec.text, spec.protocol.name) == ("OUTSIDE://0.0.0.0:9093", "SASL_SSL")
    assert sasl_settings(config, "OUTSIDE").plain_users == {"alice": 'al"ice', "böb": "böb;="}
    key = config.of_listener("OUTSIDE", "ssl.keystore.key")
    assert key == "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"
    assert config.super_users == "User:CN=ops,O=acme;User:alice"
    assert config.allow_everyone_if_no_acl_found
    assert (config.log_dirs, config.default_replication_factor) == ("/d", 1)
    assert config.group_consumer_assignors == ("uniform", "range")
    (warning,) = result.warnings
    assert "listener.name.controller.ssl.client.auth" in warning
    assert "confluent.telemetry.enabled" in warning


def test_no_secret_is_shown(tmp_path: Path) -> None:
    result = loaded(SECURE, tmp_path)
    shown = repr(result) + "".join(result.warnings) + "".join(map(str, result.rows()))
    assert "bro ker" not in shown
    assert "PRIVATE" not in shown


def test_the_last_of_two_lines_counts_and_the_first_is_named(tmp_path: Path) -> None:
    result = loaded(LOCAL + "num.partitions=1\nnum.partitions=2\n", tmp_path)
    assert result.config.num_partitions == 2
    assert result.warnings == (
        f"{tmp_path}/server.properties, line 3: 'num.partitions' is set again; "
        f"{tmp_path}/server.properties, line 2 has no effect",
    )


def test_keys_about_connections_that_a_broker_opens_are_only_named(tmp_path: Path) -> None:
    names = ["sasl.oauthbearer.header.urlencode", "listener.name.plaintext.sasl.login.class"]
    (warning,) = loaded(LOCAL + "".join(f"{name}=x\n" for name in names), tmp_path).warnings
    assert all(name in warning for name in names)


def test_environment_and_flags_win_over_the_file(tmp_path: Path) -> None:
    text = f"{LOCAL}num.partitions=1\nnode.id=1\n"
    config = loaded(text, tmp_path, "node.id=3", KAWAL_NUM_PARTITIONS="2").config
    assert (config.num_partitions, config.node_id) == (2, 3)


def test_older_names_count_unless_the_newer_are_there(tmp_path: Path) -> None:
    config = loaded(f"{LOCAL}broker.id=7\nlog.dir=/a\nlog.dirs=/b\n", tmp_path).config
    assert (config.node_id, config.log_dirs) == (7, "/b")


def test_secrets_may_be_kept_in_the_environment(tmp_path: Path) -> None:
    text = f"""{LOCAL}config.providers=env
config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider
ssl.key.password=${{env:KEY_PASSWORD}}
"""
    assert loaded(text, tmp_path, KEY_PASSWORD="hush").config.ssl_key_password == "hush"


def test_client_certificates_are_asked_for_on_sasl_only_by_its_own_key(tmp_path: Path) -> None:
    text = """listeners=SSL://127.0.0.1:1,SASL_SSL://127.0.0.1:2,OTHER://127.0.0.1:3
listener.security.protocol.map=SSL:SSL,SASL_SSL:SASL_SSL,OTHER:SASL_SSL
ssl.keystore.location=/k
ssl.truststore.location=/t
ssl.client.auth=required
listener.name.other.ssl.client.auth=required
sasl.enabled.mechanisms=SCRAM-SHA-256
"""
    config = loaded(text, tmp_path).config
    found = [config.of_listener(name, "ssl.client.auth") for name in ("SSL", "SASL_SSL", "OTHER")]
    assert found == ["required", "none", "required"]


def test_login_modules_that_kafka_ignores_are_ignored(tmp_path: Path) -> None:
    text = """listeners=SASL_PLAINTEXT://127.0.0.1:1
sasl.enabled.mechanisms=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_a="b";
"""
    assert "plain.sasl.jaas.config' is not set" in refusal(text, tmp_path)


@pytest.mark.parametrize("name", sorted(KAFKA_KEYS))
def test_every_key_of_kafka_is_either_named_or_refused_with_its_line(name: str, tmp_path: Path) -> None:
    value = str(KAFKA_KEYS[name].default or "1")
    if KAFKA_KEYS[name].type.name == "BOOLEAN":
        value = "true"
    try:
        said = "".join(loaded(f"{LOCAL}{name}={value}\n", tmp_path).warnings)
    except ConfigProblem as problem:
        said = str(problem)
        place = "server.properties, line 2: "
    else:
        place = ""
    assert name in ("broker.id", "log.dir") or (place in said and name in said)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("authorizer.class.name=kafka.security.authorizer.AclAuthorizer", "must be one of org.apache.kafka"),
        ("authorizer.clas.name=x", "'authorizer.clas.name' is not a key of Kafka 4.3 or of kawal"),
        ("super.user=User:a", "did you mean 'super.users'?"),
        ("allow.everyone.if.no.acls.found=false", "did you mean 'allow.everyone.if.no.acl.found'?"),
        ("principal.builder.class=org.acme.B", "can only be org.apache.kafka.common.security.auth"),
        ("ssl.keystore.type=JKS", "openssl pkcs12 -in STORE.p12"),
        ("ssl.truststore.type=PKCS12", "openssl pkcs12 -in STORE.p12"),
        ("ssl.truststore.password=x", "openssl pkcs12 -in STORE.p12"),
        ("ssl.provider=BC", "protects a Kafka broker but nothing here"),
        ("sasl.enabled.mechanisms=GSSAPI,PLAIN", "must be a list of"),
        ("listener.name.plaintext.max.connections.per.ip=3", "is not a key that a listener can have"),
        ("listener.name.plaintext.principal.builder.class=org.acme.B", "can only be"),
        ("listener.name.plaintext.gssapi.sasl.server.callback.handler.class=x", "is not served"),
        ("listener.name.other.ssl.client.auth=required", "listener OTHER that does not exist"),
        ("listener.name.plaintext.ssl.clientauth=required", "is not a key"),
        ("log.dirs=/a,/b", "exactly one data directory"),
        ("process.roles=controller", "a file of a broker is needed"),
        ("num.io.threads=many", "must be of type int"),
        ("num.partitions=0", "must be at least 1"),
        ("kawal.vnods=2", "is not a key of Kafka 4.3 or of kawal"),
        ("create.topic.policy.class.name=org.acme.P", "protects"),
    ],
)
def test_what_would_be_missed_ends_the_start_with_its_line(line: str, sentence: str, tmp_path: Path) -> None:
    said = refusal(f"{LOCAL}{line}\n", tmp_path)
    assert said.startswith("server.properties, line 2: ")
    assert sentence in said


def test_controllers_alone_serve_no_clients(tmp_path: Path) -> None:
    text = "listeners=CONTROLLER://:9093\ncontroller.listener.names=CONTROLLER\n"
    assert "line 1: 'listeners' has listeners of controllers only" in refusal(text, tmp_path)


def test_logins_without_a_mechanism_are_kerberos_and_refused(tmp_path: Path) -> None:
    said = refusal("listeners=SASL_PLAINTEXT://127.0.0.1:1\n", tmp_path)
    assert said.startswith("server.properties: 'sasl.enabled.mechanisms' is not set")
    assert "GSSAPI" in said


NAMES = st.sampled_from(
    [
        *KEYS,
        *KAFKA_KEYS,
        "listener.name.plaintext.ssl.client.auth",
        "listener.name.sasl.plain.sasl.jaas.config",
        "listener.name..x",
        "listener.name.x",
        "config.providers",
        "config.providers.env.class",
        "config.providers.env.param.allowlist.pattern",
        "controller.listener.names",
    ]
)
VALUES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            "SASL_SSL://:1,PLAINTEXT://127.0.0.1:2",
            "${env:A}",
            "${",
            "env",
            "true",
            "-1",
            "PLAIN",
            "A:B,:",
            "RULE:(",
        ]
    ),
)


def outcome(content: bytes, folder: Path) -> str:
    """Return what becomes of a file."""
    path = folder / "server.properties"
    path.write_bytes(content)
    try:
        load(file=str(path), environment={"A": "x"})
    except ConfigProblem as problem:
        return str(problem)
    return "read"


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.tuples(NAMES, VALUES), max_size=8))
def test_any_values_are_settings_or_one_sentence(lines: list[tuple[str, str]], tmp_path: Path) -> None:
    text = "".join(f"{name}={value}\n" for name, value in lines)
    assert outcome(text.encode("utf-8", "replace"), tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300))
def test_any_bytes_are_settings_or_one_sentence(content: bytes, tmp_path: Path) -> None:
    assert outcome(content, tmp_path)
