"""The differences from Apache Kafka that stay, each with its reason; docs/compatibility.md prints them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from compat_tests.differential.compare import ABSENT, Difference
from protocol.api_keys import ApiKey
from protocol.schema import parse_versions

ANYTHING: Any = object()


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """A difference that stays: `what` and `reason` for people, `when` for what the rest leaves open."""

    apis: tuple[ApiKey, ...]
    path: str
    what: str
    reason: str
    versions: str = "0+"
    kafka: Any = ANYTHING
    kawal: Any = ANYTHING
    when: Callable[[Difference], bool] = field(default=lambda _: True)

    def covers(self, found: Difference) -> bool:
        """Say whether this entry explains a difference."""
        return (
            (not self.apis or found.step.api in self.apis)
            and found.step.version in parse_versions(self.versions)
            and re.fullmatch(self.path, found.path) is not None
            and self.kafka in (ANYTHING, found.kafka)
            and self.kawal in (ANYTHING, found.kawal)
            and self.when(found)
        )


CORRUPT, UNKNOWN_PARTITION, INVALID_RECORD, BAD_ACKS = 2, 3, 87, 21

TOO_MANY = 44

ALLOWED = (
    Allowed(
        apis=(ApiKey.CREATE_TOPICS, ApiKey.CREATE_PARTITIONS),
        path=r"(topics|results)\[\]\.error_code",
        what="more than 10,000 partitions in one request: Kafka refuses them (44), Kawal makes them",
        kafka=TOO_MANY,
        kawal=ABSENT,
        reason="Kawal's limit is kawal.max.partitions, for the node",
    ),
    Allowed(
        apis=(ApiKey.API_VERSIONS,),
        path=r"api_keys\[\]",
        what="APIs of Kafka that are not listed",
        kawal=ABSENT,
        reason="what is not served is not advertised",
    ),
    Allowed(
        apis=(ApiKey.API_VERSIONS,),
        path=r"supported_features|finalized_features|finalized_features_epoch",
        what="features of Kafka that are not told",
        versions="3+",
        reason="only features that exist are told",
    ),
    Allowed(
        apis=(ApiKey.CREATE_TOPICS, ApiKey.DESCRIBE_CONFIGS),
        path=r".*configs\[\]\.(config_source|synonyms\[\].*)",
        what="min.insync.replicas: a default of the cluster in Kafka (3), which its format tool sets, and the"
        " server's default (5) in Kawal",
        when=lambda found: "configs[min.insync.replicas]" in found.where,
        reason="there is one replica, and nobody has set anything",
    ),
    Allowed(
        apis=(ApiKey.FETCH,),
        path=r"responses\[\]\.partitions\[\]\.records\[\]",
        what="where the limits end a partition's records: Kafka cuts the last batch, Kawal sends whole ones",
        kafka={"cut": True},
        kawal=ABSENT,
        reason="a part of a batch is of no use to a client",
    ),
    Allowed(
        apis=(ApiKey.METADATA,),
        path=r"topics\[\]\.(error_code|partitions\[\]|topic_id)",
        what="a topic that the request creates: Kafka answers UNKNOWN_TOPIC_OR_PARTITION and has it a moment"
        " later, Kawal answers when it is there, with its partitions",
        when=lambda found: (
            found.kafka_item.get("error_code") == UNKNOWN_PARTITION and not found.kawal_item.get("error_code")
        ),
        reason="no client has to ask twice",
    ),
    Allowed(
        apis=(ApiKey.PRODUCE,),
        path=r"responses\[\]\.partition_responses\[\]\.error_code",
        what="a batch that cannot be read: Kafka refuses the whole request with CORRUPT_MESSAGE before"
        " it looks at topics and acks, Kawal judges each partition on its own",
        kafka=CORRUPT,
        reason="a good batch is not refused for its neighbour's sake",
    ),
    Allowed(
        apis=(ApiKey.PRODUCE,),
        path=r"responses\[\]\.partition_responses\[\]\.error_message",
        what="the text of that refusal is also told for partitions that do not exist",
        kafka="<text>",
        kawal=ABSENT,
        when=lambda found: found.kafka_item.get("error_code") == CORRUPT,
        reason="see above",
    ),
    Allowed(
        apis=(ApiKey.PRODUCE,),
        path=r"responses\[\]\.partition_responses\[\]\.error_code",
        what="acks other than -1, 0 and 1: Kafka looks at the records first (87), Kawal at acks (21)",
        kafka=INVALID_RECORD,
        kawal=BAD_ACKS,
        reason="either is true of such a request",
    ),
    Allowed(
        apis=(ApiKey.PRODUCE,),
        path=r"responses\[\]\.partition_responses\[\]\.log_start_offset",
        what="where the log starts: Kafka tells it with an INVALID_RECORD found by the log, Kawal with each",
        kafka=ABSENT,
        when=lambda found: found.kafka_item.get("error_code") in (INVALID_RECORD, CORRUPT),
        reason="more is told",
    ),
    Allowed(
        apis=(),
        path=r".*error_message",
        what="Kafka has no text for an error, Kawal has one",
        kafka=ABSENT,
        kawal="<text>",
        reason="an error that says what to do is worth more than the same silence",
    ),
)


def reason_for(found: Difference) -> Allowed | None:
    """Return the entry that explains a difference, None for one that must not be."""
    return next((entry for entry in ALLOWED if entry.covers(found)), None)
