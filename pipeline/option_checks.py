"""The options of Spark and of its Kafka source in a job file: known ones, with values of the right form."""

from __future__ import annotations

import difflib
import re
import zoneinfo
from collections.abc import Callable, Mapping

from pipeline.errors import JobFileError
from pipeline.option_forms import Value, known_forms, nearest, problem_of, text_of

OWN_KEYS = {
    "subscribe": "source.topics",
    "subscribepattern": "source.topics",
    "assign": "source.topics",
    "startingoffsets": "source.start",
    "startingtimestamp": "source.start",
    "startingoffsetsbytimestamp": "source.start",
    "maxoffsetspertrigger": "source.max_offsets_per_trigger",
    "minpartitions": "source.min_partitions",
    "failondataloss": "source.fail_on_data_loss",
    "includeheaders": "schema.headers",
    "kafka.bootstrap.servers": "source.bootstrap",
    "kafka.isolation.level": "source.isolation",
    "kafka.security.protocol": "source.security.protocol",
    "kafka.sasl.mechanism": "source.security.mechanism",
    "kafka.sasl.jaas.config": "source.security.username_env and password_env",
    "kafka.ssl.truststore.certificates": "source.security.ca",
    "kafka.ssl.truststore.location": "source.security.ca, a PEM file,",
    "kafka.ssl.keystore.certificate.chain": "source.security.certificate",
    "kafka.ssl.keystore.location": "source.security.certificate and key, PEM files,",
    "kafka.ssl.keystore.key": "source.security.key",
}
"""Options of Spark's Kafka source (it ignores case) that have a key of their own in the job file."""

REFUSED_OPTIONS = frozenset(
    {
        "kafka.auto.offset.reset",
        "kafka.enable.auto.commit",
        "kafka.interceptor.classes",
        "kafka.key.deserializer",
        "kafka.value.deserializer",
    }
)
"""Options of the consumer that Spark sets itself (4.2, KafkaSourceProvider.validateGeneralOptions)."""

SOURCE_FORMS = {
    "fetchOffset.numRetries": "int[0,]",
    "fetchOffset.retryIntervalMs": "long[0,]",
    "groupIdPrefix": "text",
    "kafkaConsumer.pollTimeoutMs": "long[1,]",
    "maxRecordsPerPartition": "long[1,]",
    "maxTriggerDelay": "time[0,]",
    "minOffsetsPerTrigger": "long[0,]",
    "startingOffsetsByTimestampStrategy": "~error|latest",
}
"""Further options of Spark's Kafka source that a stream may have, with the forms of their values; it ignores
all others.  Source: Spark 4.2, KafkaSourceProvider."""

PLUGIN_OPTIONS = frozenset(
    f"kafka.{name}"
    for name in (
        "metric.reporters",
        "sasl.client.callback.handler.class",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "security.providers",
        "ssl.engine.factory.class",
    )
)
"""Options of the client that name classes, which may have options of their own."""

CODECS = ("lz4", "lzf", "snappy", "zstd")
"""The names of codecs that Spark has itself; others are classes."""

SPARK_OWN_KEYS = {"spark.master": "spark.master", "spark.driver.memory": "spark.driver_memory"}

OPEN_PREFIXES = (
    "spark.executorEnv.",
    "spark.hadoop.",
    "spark.kafka.",
    "spark.kubernetes.",
    "spark.metrics.conf.",
    "spark.sql.catalog.",
    "spark.yarn.",
)
"""Beginnings of keys of Spark that go on as a user likes."""


def check_source_options(options: Mapping[str, Value]) -> None:
    """Refuse options of the source that are wrong, ignored or set elsewhere.  Raises: JobFileError."""
    has_plugins = any(option.lower() in PLUGIN_OPTIONS for option in options)
    for option, value in options.items():
        name = option.lower()
        if own := OWN_KEYS.get(name):
            raise JobFileError(
                f"source.options has {option!r}, which has a key of its own; set {own} instead"
            )
        if name in REFUSED_OPTIONS:
            raise JobFileError(f"source.options has {option!r}, which Spark sets itself; leave it out")
        if name.startswith("kafka."):
            _check_client_key(option, has_plugins=has_plugins)
            form = known_forms().get(name, "text")
        else:
            form = _source_form(option)
        _check_value("source.options", option, value, form)


def check_spark_options(options: Mapping[str, Value]) -> None:
    """Refuse keys of Spark that are set elsewhere or misspelt, and values that it cannot read.

    A key that resembles none of Spark's is taken: it may be a plugin's.  Raises: JobFileError.
    """
    forms = known_forms()
    for option, value in options.items():
        if own := SPARK_OWN_KEYS.get(option):
            raise JobFileError(
                f"spark.options has {option!r}, which has a key of its own; set {own} in its place"
            )
        if not option.startswith("spark."):
            raise JobFileError(
                f"spark.options has {option!r}, which Spark would ignore; did you mean 'spark.{option}'?"
            )
        if option not in forms and not option.startswith(OPEN_PREFIXES):
            meant = nearest(option, [key for key in forms if key.startswith("spark.")])
            if meant:
                raise JobFileError(
                    f"spark.options has {option!r}, which Spark would ignore; did you mean {meant!r}?"
                )
        _check_value("spark.options", option, value, forms.get(option, "text"))
        if (judge := SPARK_JUDGES.get(option)) and (problem := judge(text_of(value))):
            raise JobFileError(f"spark.options has {option!r} = {value!r}: {problem}")


def _zone_problem(text: str) -> str:
    is_offset = re.fullmatch(r"(UTC|GMT|UT)?[+-]\d{1,2}(:\d{2}){0,2}|Z", text)
    if is_offset or not zoneinfo.available_timezones() or text in zoneinfo.available_timezones():
        return ""
    return "expected a time zone, as 'UTC', 'Europe/Berlin' or '+01:00'"


def _codec_problem(text: str) -> str:
    return "" if text.lower() in CODECS or "." in text else f"expected one of {', '.join(map(repr, CODECS))}"


def _fraction_problem(text: str) -> str:
    return "" if 0 < float(text) < 1 else "expected a number between 0 and 1"


def _packages_problem(text: str) -> str:
    wrong = [part for part in text.split(",") if len(part.strip().split(":")) != 3 or ".." in part]
    return f"{wrong[0].strip()!r} is not GROUP:ARTIFACT:VERSION" if wrong else ""


SPARK_JUDGES: Mapping[str, Callable[[str], str]] = {
    "spark.sql.session.timeZone": _zone_problem,
    "spark.io.compression.codec": _codec_problem,
    "spark.memory.fraction": _fraction_problem,
    "spark.memory.storageFraction": _fraction_problem,
    "spark.jars.packages": _packages_problem,
}
"""By key, what is wrong with a value that has the right form ("": nothing)."""


def _check_client_key(option: str, *, has_plugins: bool) -> None:
    forms = known_forms()
    if option.lower() in forms:
        return
    meant = nearest(option, [key for key in forms if key.startswith("kafka.")])
    if meant or not has_plugins:
        hint = f"did you mean {meant!r}?" if meant else "leave it out"
        raise JobFileError(f"source.options has {option!r}, which Kafka's consumer would ignore; {hint}")


def _source_form(option: str) -> str:
    """Return the form of an option of the source itself.  Raises: JobFileError."""
    known = {ours.lower(): ours for ours in SOURCE_FORMS}
    name = option.lower()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = repr(known[close[0]]) if close else f"'kafka.{option}', if it is an option of Kafka's consumer"
        raise JobFileError(f"source.options has {option!r}, which Spark would ignore; did you mean {hint}?")
    return SOURCE_FORMS[known[name]]


def _check_value(table: str, option: str, value: Value, form: str) -> None:
    if problem := problem_of(form, value):
        raise JobFileError(f"{table} has {option!r} = {value!r}: {problem}")
