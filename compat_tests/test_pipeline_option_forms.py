"""The table of the forms of options is what Spark and the Kafka client say, and is read as they read it."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from compat_tests.option_forms import made
from compat_tests.spark import spark_session
from pipeline.option_forms import TABLE, known_forms, problem_of

pytestmark = pytest.mark.only_kawal(reason="it asks Spark and the client, and no broker")

PROBES = {
    "spark.network.timeout": "5|10s|5min|1H|2d|10us|300ms|10x|-1|1.5s|s|5_0|10 s| 10s ",
    "spark.driver.maxResultSize": "5|64m|1G|1gb|2t|1kib|1mib|-1|-1g|0.5g|g|1pb|1pib|1eb|10b|1kk|1 g|1bib|1ki",
    "spark.sql.shuffle.partitions": "1|+5|0|-1|x|5.0|2147483647|2147483648|5g|",
    "spark.ui.enabled": "true|FALSE|yes|1| true",
    "spark.memory.fraction": "0.5|.5|5.|1e-3|half|0x1",
    "spark.scheduler.mode": "FAIR|fair|none|quick",
    "spark.log.level": "info|WARN|loud",
}


def test_the_table_is_what_spark_and_the_client_say() -> None:
    assert TABLE.read_text(encoding="utf-8") == made(), "make it anew: python -m compat_tests.option_forms"


def test_values_are_taken_and_refused_as_spark_takes_and_refuses_them() -> None:
    jvm = spark_session()._jvm
    entries = jvm.java.util.ArrayList(jvm.org.apache.spark.internal.config.ConfigEntry.listAllEntries())
    by_key = {str(entry.key()): entry for entry in entries}
    for key, values in PROBES.items():
        for value in values.split("|"):
            ours = problem_of(known_forms()[key], value)
            assert (ours == "") == _takes(by_key[key], value), f"{key} = {value!r}: {ours!r}"


def _takes(entry: Any, value: str) -> bool:
    try:
        entry.valueConverter().apply(value)
    except (Py4JJavaError, PySparkException):
        return False
    return True
