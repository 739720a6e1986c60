"""The options of Spark and of its Kafka source that a job file may have, and those that it may not."""

from __future__ import annotations

import pytest

from pipeline.errors import JobFileError
from pipeline.option_checks import check_source_options, check_spark_options
from pipeline.option_forms import Value


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("fetch.max.bytes", 5, "which Spark would ignore; did you mean 'kafka.fetch.max.bytes'"),
        ("maxTrigerDelay", "5m", "which Spark would ignore; did you mean 'maxTriggerDelay'?"),
        ("startingOffsets", "latest", "which has a key of its own; set source.start instead"),
        ("Kafka.auto.offset.reset", "latest", "which Spark sets itself; leave it out"),
        ("kafka.max.pol.records", 5, "consumer would ignore; did you mean 'kafka.max.poll.records'?"),
        ("kafka.compression.type", "lz4", "which Kafka's consumer would ignore; leave it out"),
        ("kafka.max.poll.records", "many", "= 'many': expected a whole number from 1 on"),
        ("kafka.max.poll.records", 0, "= 0: expected a whole number from 1 on"),
        ("kafka.fetch.max.wait.ms", True, "= True: expected a whole number from 0 on"),
        ("kafka.check.crcs", "no", "= 'no': expected true or false"),
        (
            "kafka.client.dns.lookup",
            "all",
            "expected one of 'resolve_canonical_bootstrap_servers_only', 'use",
        ),
        ("kafkaConsumer.pollTimeoutMs", "120s", "= '120s': expected a whole number from 1 on"),
        ("maxTriggerDelay", "5 minutes", "= '5 minutes': expected a time, as '30s' or '5m'"),
        ("startingOffsetsByTimestampStrategy", "earliest", "expected one of 'error', 'latest'"),
        # The check, which has clients of its own, said that such a job could run.
        ("kafka.security.protocol", "SSL", "key of its own; set source.security.protocol instead"),
        ("kafka.sasl.jaas.config", "x", "set source.security.username_env and password_env instead"),
        ("kafka.ssl.truststore.location", "/a.jks", "set source.security.ca, a PEM file, instead"),
    ],
)
def test_an_option_of_the_source_that_would_be_refused_or_ignored_is_refused_by_name(
    option: str, value: Value, sentence: str
) -> None:
    with pytest.raises(JobFileError) as refused:
        check_source_options({option: value})
    assert str(refused.value).startswith(f"source.options has {option!r}")
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("spark.master", "yarn", "which has a key of its own; set spark.master in its place"),
        ("executor.memory", "1g", "did you mean 'spark.executor.memory'?"),
        ("spark.sql.shufle.partitions", 5, "ignore; did you mean 'spark.sql.shuffle.partitions'?"),
        ("spark.sql.shuffle.partitions", "all", "= 'all': expected a whole number from 1 on"),
        ("spark.executor.memory", "1 gb", "= '1 gb': expected a size, as '64m' or '1g'"),
        ("spark.network.timeout", "2 min", "= '2 min': expected a time, as '30s' or '5m'"),
        ("spark.ui.enabled", "yes", "= 'yes': expected true or false"),
        ("spark.memory.fraction", "half", "= 'half': expected a number"),
        ("spark.scheduler.mode", "fastest", "= 'fastest': expected one of 'FAIR', 'FIFO', 'NONE'"),
        ("spark.memory.fraction", 5, "= 5: expected a number between 0 and 1"),
        ("spark.sql.session.timeZone", "Mars", "= 'Mars': expected a time zone, as 'UTC'"),
        ("spark.io.compression.codec", "zst", "= 'zst': expected one of 'lz4', 'lzf', 'snappy', 'zstd'"),
        ("spark.jars.packages", "a:b:1,a:b", "'a:b' is not GROUP:ARTIFACT:VERSION"),
    ],
)
def test_an_option_of_spark_that_would_be_refused_or_ignored_is_refused_by_name(
    option: str, value: Value, sentence: str
) -> None:
    with pytest.raises(JobFileError) as refused:
        check_spark_options({option: value})
    assert str(refused.value).startswith(f"spark.options has {option!r}")
    assert sentence in str(refused.value)


def test_options_of_spark_of_its_source_and_of_the_consumer_are_taken() -> None:
    check_source_options(
        {
            "fetchOffset.numRetries": 5,
            "MAXTRIGGERDELAY": "15m",
            "groupIdPrefix": "mine",
            "kafka.fetch.min.bytes": "1",
            "kafka.client.rack": "east",
            "kafka.sasl.login.refresh.window.factor": 0.8,
        }
    )
    check_spark_options(
        {
            "spark.executor.memory": "1g",
            "spark.memory.fraction": 0.5,
            "spark.ui.enabled": True,
            "spark.scheduler.mode": "fair",
            "spark.executorEnv.SPARK_USERS": "ann",
            "spark.hadoop.fs.s3a.endpoint": "http://store",
            "spark.my.listener.level": "7",
        }
    )


def test_a_class_of_the_users_may_have_options_of_its_own() -> None:
    reporter = {"kafka.metric.reporters": "org.example.Reporter"}
    check_source_options({**reporter, "kafka.example.interval": 5})
    with pytest.raises(JobFileError, match=r"did you mean 'kafka\.max\.poll\.records'"):
        check_source_options({**reporter, "kafka.max.pol.records": 5})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("spark.sql.session.timeZone", "Europe/Berlin"),
        ("spark.sql.session.timeZone", "+01:00"),
        ("spark.io.compression.codec", "org.example.Codec"),
        ("spark.memory.fraction", 0.5),
        ("spark.jars.packages", "a:b:1, c:d:2"),
    ],
)
def test_values_that_only_spark_knows_are_taken(option: str, value: Value) -> None:
    check_spark_options({option: value})
