"""The state of a copy as both brokers know it: the job's part of the offset map, and what others copied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from pipeline.config import Job
from pipeline.offset_map import MapRecord, Origin
from pipeline.positions import Positions
from pipeline.sinks.topics import Target, cluster_id, read_map, source_client, target_client
from pipeline.sources.topics import open_topics


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyState:
    """The state of the copy of one job."""

    copied: list[MapRecord]
    """The job's records of the target's map, of the target topics that are there now."""
    came: list[MapRecord]
    """What other jobs have copied to the source's topics."""
    home: Mapping[str, Origin]
    """By source topic, the origin of the records that the job leaves out."""
    earliest: Positions
    """The first offset of every target partition."""


def opened_copy(job: Job) -> CopyState:
    """Ask both brokers of `job` for the state of its copy.  Raises: SourceError, TargetError."""
    source_settings = source_client(job)
    target = Target(job, target_client(job))
    ids = target.ids()
    records, _ = read_map(target.settings)
    cluster = cluster_id(target.settings)
    came: list[MapRecord] = []
    if job.job.kind == "replicate" and cluster != cluster_id(source_settings):
        came = [record for record in read_map(source_settings)[0] if record.target_topic in target.topics]
    there = msgspec.structs.replace(
        job.source,
        bootstrap=job.target_bootstrap,
        security=job.target_security,
        topics=sorted(ids),
        start="earliest",
    )
    earliest: Positions = {}
    if ids:
        with open_topics(there) as topics:
            earliest = topics.earliest()
    return CopyState(
        copied=[
            record
            for record in records
            if record.job == job.name and ids.get(record.target_topic) == record.target_id
        ],
        came=came,
        home={topic: Origin(cluster, name) for topic, name in target.topics.items()},
        earliest=earliest,
    )
