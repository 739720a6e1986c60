"""Compaction told from loss: of a compacted topic, a broker keeps the last record of each key.

What it has removed since it was read is in the copy and not in the source; and where the copy is a compacted
topic itself, it may lack records of the source, though never the last one of a key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipeline.security import SecuritySection, kafka_python_options

PLACE = ["topic", "partition", "offset"]
KEY, HAS_VALUE = "key_hash", "has_value"
DEADLINE_MS = 10_000


def compacted_topics(bootstrap: str, security: SecuritySection, topics: Iterable[str]) -> set[str]:
    """Return those of the topics that are compacted.

    Topics whose configs the broker does not show count as not compacted: their differences are all told.
    """
    resources = [ConfigResource(ConfigResourceType.TOPIC, topic) for topic in topics]
    if not resources:
        return set()
    try:
        admin = KafkaAdminClient(
            bootstrap_servers=bootstrap, request_timeout_ms=DEADLINE_MS, **kafka_python_options(security)
        )
    except KafkaError:
        return set()
    try:
        shown = admin.describe_configs(resources, config_filter="all")
    except KafkaError:
        return set()
    finally:
        admin.close()
    return {
        name
        for named in shown.values()
        for name, configs in named.items()
        if "compact" in str(configs.get("cleanup.policy", {}).get("value", ""))
    }


def still_there(copy: DataFrame, source: DataFrame, topics: Collection[str]) -> DataFrame:
    """Return the rows of `copy` without those of compacted `topics` whose record the source has no more."""
    if not topics:
        return copy
    known = source.where(F.col("topic").isin(*topics)).select(*PLACE).distinct()
    kept = copy.where(F.col("topic").isin(*topics)).join(known, PLACE, "left_semi")
    return copy.where(~F.col("topic").isin(*topics)).unionByName(kept)


def must_be_there(source: DataFrame, copy: DataFrame, topics: Collection[str]) -> DataFrame:
    """Return the rows of `source` without those that a copy in compacted `topics` may lack, and lacks.

    Both have KEY and HAS_VALUE. A record without a value is removed some time after it was written.
    """
    if not topics:
        return source
    ours = source.where(F.col("topic").isin(*topics))
    newest = ours.groupBy("topic", "partition", KEY).agg(F.max("offset").alias("offset"))
    last = ours.join(newest, [*PLACE, KEY], "left_semi").where(HAS_VALUE)
    there = copy.select(*PLACE).distinct()
    kept = last.unionByName(ours.join(there, PLACE, "left_semi")).distinct()
    return source.where(~F.col("topic").isin(*topics)).unionByName(kept)
