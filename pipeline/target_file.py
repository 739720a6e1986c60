"""The keys of a job file that must agree when the job writes to topics."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final

from msgspec import Struct, structs

from pipeline.config import ErrorsSection, Job, SchemaSection, SinkSection
from pipeline.errors import JobFileError
from pipeline.job_checks import check_topic_name
from pipeline.offset_map import MAP_TOPIC

ROTATION = ("rotate_rows", "rotate_interval")
"""The keys of a table's that copies have, too."""

_SAFE = "which the job sets itself, so that nothing is written twice or lost; leave it out"
_LOGIN = "which has a key of its own; set it in [target.security] instead"

OWN_OPTIONS: Final[Mapping[str, str]] = {
    "bootstrap.servers": "which has a key of its own; set target.bootstrap instead",
    "metadata.broker.list": "which has a key of its own; set target.bootstrap instead",
    "transaction.timeout.ms": "which has a key of its own; set target.transaction_timeout instead",
    **dict.fromkeys(
        (
            *("transactional.id", "enable.idempotence", "enable.gapless.guarantee", "acks"),
            *("request.required.acks", "group.id", "enable.auto.commit", "auto.offset.reset"),
            *("enable.partition.eof", "isolation.level", "retries", "message.send.max.retries"),
            "max.in.flight.requests.per.connection",
            "max.in.flight",
        ),
        _SAFE,
    ),
    **dict.fromkeys(
        (
            *("security.protocol", "sasl.mechanism", "sasl.mechanisms", "sasl.username", "sasl.password"),
            *("ssl.ca.pem", "ssl.ca.location", "ssl.certificate.pem", "ssl.certificate.location"),
            *("ssl.key.pem", "ssl.key.location"),
        ),
        _LOGIN,
    ),
}
"""Settings of librdkafka that a job file cannot change, and why."""

INTERNAL_TOPICS: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata", MAP_TOPIC}
)
"""The topics in which brokers, and copies, keep what they know."""


def check_target(job: Job) -> None:
    """Refuse keys that mean nothing, or contradict each other, in a job of kind replicate or derive.

    Raises: JobFileError.
    """
    kind, source = job.job.kind, job.source
    if kind == "replicate" and not job.target.bootstrap:
        raise JobFileError("target.bootstrap is empty; job.kind 'replicate' needs the address to copy to")
    if kind == "replicate" and source.view:
        raise JobFileError("source.view is given, but job.kind is 'replicate'; set kind = 'derive'")
    if kind == "derive" and not source.view:
        raise JobFileError("source.view is empty; job.kind 'derive' needs the query whose result it writes")
    if source.isolation != "read_committed":
        raise JobFileError(
            f"source.isolation is {source.isolation!r}: what may be aborted later cannot be copied; leave it "
            "out"
        )
    if source.min_partitions:
        raise JobFileError(
            "source.min_partitions splits a partition over several writers, which cannot keep its order; "
            "leave it out"
        )
    for table, given, empty in (
        ("schema", job.schema, SchemaSection()),
        ("errors", job.errors, ErrorsSection()),
    ):
        if key := _changed(given, empty):
            raise JobFileError(
                f"{table}.{key} is given, but [schema] and [errors] are for tables; records of a job of kind "
                f"{kind!r} are copied as they are: leave it out"
            )
    if job.in_bucket:
        raise JobFileError(
            f"sink.path is {job.sink.path!r}: the ledger of job.kind {kind!r} is a local folder"
        )
    if key := _changed(job.sink, SinkSection(path=job.sink.path), but=ROTATION):
        raise JobFileError(
            f"sink.{key} is a table's key, but a job of kind {kind!r} writes none; leave only sink.path"
        )
    _check_options(job.target.options)
    _check_names(job)


def _changed(given: Struct, empty: Struct, but: Container[str] = ()) -> str:
    """Return the name of the first key that is not as in `empty`, "" when there is none."""
    names = (field.name for field in structs.fields(given) if field.name not in but)
    return next((name for name in names if getattr(given, name) != getattr(empty, name)), "")


def _check_options(options: Mapping[str, object]) -> None:
    for name in options:
        if own := OWN_OPTIONS.get(name):
            raise JobFileError(f"target.options has {name!r}, {own}")
        if name.endswith("_cb") or name in ("logger", "on_delivery"):
            raise JobFileError(f"target.options has {name!r}, which takes a function; leave it out")


def _check_names(job: Job) -> None:
    topics = job.source.topics
    names = [job.target_topic(topic) for topic in topics]
    for name in names:
        check_topic_name(name, f"target.topic gives {name!r}")
        if name in INTERNAL_TOPICS:
            raise JobFileError(
                f"target.topic gives {name!r}, a topic for the broker's own; give another name"
            )
    if len(set(names)) < len(names):
        raise JobFileError(
            f"target.topic {job.target.topic!r} gives one name to several of {topics}; put '{{topic}}' into "
            "it"
        )
    if job.target_bootstrap == job.source.bootstrap and (same := set(names) & set(topics)):
        raise JobFileError(
            f"target.topic gives {min(same)!r}, which the job reads from the same broker; give another name, "
            "such as '{topic}-copy'"
        )
