"""The keys of a job file that must agree when the job writes to topics."""

from __future__ import annotations

from pipeline.config import ErrorsSection, Job, SchemaSection
from pipeline.errors import JobFileError
from pipeline.job_checks import check_topic_name


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
    if job.schema != SchemaSection() or job.errors.mode != ErrorsSection().mode:
        raise JobFileError(
            f"[schema] and [errors] are for tables; records of job.kind {kind!r} are copied as they are"
        )
    if job.in_bucket:
        raise JobFileError(
            f"sink.path is {job.sink.path!r}: the ledger of job.kind {kind!r} is a local folder"
        )
    if job.sink.partition_by or job.sink.kind != "parquet":
        raise JobFileError(f"[sink] has a table's keys, but job.kind is {kind!r}; leave only sink.path")
    _check_names(job)


def _check_names(job: Job) -> None:
    topics = job.source.topics
    names = [job.target_topic(topic) for topic in topics]
    for name in names:
        check_topic_name(name, f"target.topic gives {name!r}")
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
