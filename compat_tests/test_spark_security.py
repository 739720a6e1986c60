"""Spark over SASL_SSL: batch, streaming and sink, by SCRAM and with delegation tokens; the same on Kafka.

Spark's driver asks for a token by its own provider (spark-token-provider), and its tasks log in with it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests.broker import HOST, Broker, Kind
from compat_tests.certificates import Certificates, make_certificates
from compat_tests.conftest import running_broker
from compat_tests.logins import USERS, add_scram_users, login_settings
from compat_tests.spark import run_available, spark_session
from compat_tests.tokens import TOKEN_SETTINGS, create, describe, logged_in, shown
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually

LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required"
CLUSTER = "spark.kafka.clusters.tested"
COUNT = 1_000

Options = dict[str, str]


@pytest.fixture(scope="module")
def spark() -> Any:
    return spark_session()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Make the certificates of all tests here."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def broker(
    tmp_path_factory: pytest.TempPathFactory, broker_kind: Kind, certificates: Certificates
) -> Iterator[Broker]:
    """Start a broker with logins over TLS, and without, and with delegation tokens."""
    settings = login_settings(SASL="SASL_PLAINTEXT", SECURE="SASL_SSL") | TOKEN_SETTINGS
    settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(certificates.server)}
    with running_broker(broker_kind, tmp_path_factory.mktemp("spark"), settings) as started:
        add_scram_users(started)
        yield started


def secured(broker: Broker, certificates: Certificates, jaas: str) -> Options:
    """Return the options of Kafka's client for SASL_SSL and SCRAM-SHA-512.

    The address is another than that for which Spark has a token of its own, which would be used instead.
    """
    return over_tls(broker, certificates) | {
        "kafka.bootstrap.servers": broker.bootstrap_of("SECURE").replace("localhost", HOST),
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": f"{LOGIN} {jaas};",
    }


def over_tls(broker: Broker, certificates: Certificates) -> Options:
    return {
        "kafka.bootstrap.servers": broker.bootstrap_of("SECURE"),
        "kafka.security.protocol": "SASL_SSL",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": str(certificates.authority),
    }


def quoted(text: str) -> str:
    return '"{}"'.format(text.replace('"', '\\"'))


def by_password(broker: Broker, certificates: Certificates, _spark: Any) -> Options:
    return secured(broker, certificates, f'username="alice" password={quoted(USERS["alice"])}')


def by_token(broker: Broker, certificates: Certificates, _spark: Any) -> Options:
    owner = logged_in(broker, "alice")
    token = create(owner)
    eventually(lambda: token.token_id in shown(owner, "alice"), waiting_for="the token")
    login = f'username="{token.token_id}" password="{b64encode(token.hmac).decode()}" tokenauth="true"'
    return secured(broker, certificates, login)


def by_sparks_own_token(broker: Broker, certificates: Certificates, spark: Any) -> Options:
    """Let Spark's provider have a token made, as a cluster's driver does, and name no login after that.

    The settings stay, as the token does; they are for this broker's address alone.
    """
    jvm, context = spark.sparkContext._jvm, spark.sparkContext
    address = broker.bootstrap_of("SECURE")
    configuration = jvm.org.apache.spark.SparkEnv.get().conf()
    for key, value in {
        f"{CLUSTER}.auth.bootstrap.servers": address,
        f"{CLUSTER}.target.bootstrap.servers.regex": address,
        f"{CLUSTER}.security.protocol": "SASL_SSL",
        f"{CLUSTER}.ssl.truststore.type": "PEM",
        f"{CLUSTER}.ssl.truststore.location": str(certificates.authority),
        f"{CLUSTER}.kafka.sasl.mechanism": "SCRAM-SHA-256",
        f"{CLUSTER}.kafka.sasl.jaas.config": f'{LOGIN} username="bob" password={quoted(USERS["bob"])};',
    }.items():
        configuration.set(key, value)
    owner = logged_in(broker, "bob")
    before = shown(owner, "bob")
    tokens = jvm.org.apache.hadoop.security.Credentials()
    provider = jvm.org.apache.spark.kafka010.KafkaDelegationTokenProvider()
    provider.obtainDelegationTokens(context._jsc.hadoopConfiguration(), configuration, tokens)
    assert tokens.numberOfTokens() == 1, "Spark's provider got no token"
    eventually(lambda: len(shown(owner, "bob") - before) == 1, waiting_for="the token of Spark's provider")
    jvm.org.apache.hadoop.security.UserGroupInformation.getCurrentUser().addCredentials(tokens)
    return over_tls(broker, certificates)


def numbers(frame: Any) -> list[int]:
    return sorted(int(row.value) for row in frame.select("value").collect())


@pytest.mark.parametrize("login", [by_password, by_token, by_sparks_own_token])
def test_spark_writes_and_reads_in_batches_and_streams(
    spark: Any,
    broker: Broker,
    certificates: Certificates,
    topic: str,
    tmp_path: Path,
    login: Callable[[Broker, Certificates, Any], Options],
) -> None:
    create_topic(broker, topic, 2, {})
    options = login(broker, certificates, spark)
    written = spark.range(COUNT).selectExpr("cast(id AS string) AS value")
    written.write.format("kafka").options(topic=topic, **options).save()

    batch = spark.read.format("kafka").options(subscribe=topic, **options).load()
    assert numbers(batch) == list(range(COUNT))

    stream = spark.readStream.format("kafka").options(
        subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="300", **options
    )
    assert sum(run_available(stream.load(), tmp_path)) == COUNT
    assert numbers(spark.read.parquet(str(tmp_path / "rows"))) == list(range(COUNT))


def test_a_streaming_sink_writes_with_sparks_own_token(
    spark: Any, broker: Broker, certificates: Certificates, topic: str, tmp_path: Path
) -> None:
    source = f"{topic}-source"
    for name in (source, topic):
        create_topic(broker, name, 2, {})
    options = by_sparks_own_token(broker, certificates, spark)
    written = spark.range(COUNT).selectExpr("cast(id AS string) AS value")
    written.write.format("kafka").options(topic=source, **options).save()
    query = (
        spark.readStream.format("kafka")
        .options(subscribe=source, startingOffsets="earliest", **options)
        .load()
        .selectExpr("value")
        .writeStream.format("kafka")
        .options(topic=topic, checkpointLocation=str(tmp_path), **options)
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    assert numbers(spark.read.format("kafka").options(subscribe=topic, **options).load()) == list(
        range(COUNT)
    )


def test_a_wrong_token_fails_the_job_with_a_sentence(
    spark: Any, broker: Broker, certificates: Certificates, topic: str
) -> None:
    create_topic(broker, topic, 1, {})
    known = describe(logged_in(broker, "alice"), "alice").tokens
    name = known[0].token_id if known else "unknown"
    options = secured(broker, certificates, f'username="{name}" password="wrong" tokenauth="true"')
    with pytest.raises(Exception, match=r"SaslAuthenticationException|Authentication failed"):
        spark.read.format("kafka").options(subscribe=topic, **options).load().collect()
