"""The jobs `replicate` and `derive`: topics, or a view's result over one, to topics of a broker.

    range fixed in the checkpoint ─▶ in the ledger already? done ─▶ begins where the copy ends? else refused
      ─▶ one transaction for each partition on the target ─▶ ledger entry

Key, value, headers, timestamp, partition and order of each record are kept; offsets are not, as a broker
gives its own, and the offset map tells which became which. What makes it exactly once is said in
`pipeline.sinks.topics`; a batch that Spark runs again finds in each partition what is committed already.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from pipeline import rows
from pipeline.config import Job
from pipeline.errors import LedgerError, TargetError
from pipeline.jobs.land import Land
from pipeline.ledger import Entry, File, Totals
from pipeline.offset_map import MapRecord, Origin, Piece, foreign_pieces
from pipeline.positions import Positions, Range
from pipeline.report import Report
from pipeline.sinks.topic_writer import RESULT, Place, WritePlan, commit_without_records, topic_writer
from pipeline.sinks.topics import (
    Target,
    by_place,
    cluster_id,
    read_map,
    source_client,
    source_configs,
    target_client,
)
from pipeline.sources.topics import Topics

KEPT_ENTRIES = 100
"""The entries of the ledger that stay: as many batches as Spark's checkpoint keeps."""

REFUSED = re.compile(r"pipeline\.errors\.TargetError: (.+)")
"""The sentence of a worker, in the report that comes back through the JVM."""


@dataclass(slots=True, kw_only=True)
class Replicate(Land):
    """The copying of one job's batches; `foreachBatch` calls it on a thread of its own."""

    target: Target
    source_settings: Mapping[str, str]
    """Of librdkafka's clients of the source."""
    source_cluster: str
    target_cluster: str
    partitions: Mapping[str, int]
    """The number of partitions of each source topic when the run began."""
    _target_ids: dict[str, str] = field(default_factory=dict)
    _map: list[MapRecord] = field(default_factory=list)
    """What other jobs have copied to the source, as far as it has been read."""
    _map_end: int = 0

    @property
    def begins(self) -> Positions:
        """The positions at which the job goes on: the target's when the ledger was lost."""
        if self.ledger.last is not None:
            return self.ledger.positions
        counts = {topic: self.partitions.get(topic, 0) for topic in self.target.topics}
        found: Positions = {}
        for (topic, partition), offset in self.target.positions(counts).items():
            found.setdefault(topic, {})[str(partition)] = offset
        return found

    def check_fits_target(self) -> None:
        """Refuse a target that is behind the ledger, and set positions again that have expired there.

        Raises: TargetError.
        """
        self._target_ids = self.target.ids()
        landed = by_place(self.ledger.positions)
        counts = dict.fromkeys(self.target.topics, 0)
        for topic, partition in landed:
            counts[topic] = max(counts.get(topic, 0), partition + 1)
        found = self.target.positions({topic: count for topic, count in counts.items() if count})
        lost = {place: until for place, until in landed.items() if place not in found and place[0] in counts}
        if lost:
            self._restore(lost)
        for place, until in landed.items():
            if place in found and found[place] < until:
                raise self._behind(place, found[place], until)

    def _restore(self, lost: Mapping[Place, int]) -> None:
        """Set positions again that the target does not know any more.  Raises: TargetError."""
        records, _ = read_map(self.target.settings)
        ends: dict[Place, int] = {}
        for record in records:
            if record.job == self.job.name and self._target_ids.get(record.target_topic) == record.target_id:
                place = (record.topic, record.partition)
                ends[place] = max(ends.get(place, 0), record.until)
        for place, until in lost.items():
            if until and ends.get(place, 0) < until:
                raise self._behind(place, ends.get(place, 0), until)
        self.target.commit({place: ends.get(place, until) for place, until in lost.items()})

    def _behind(self, place: Place, found: int, until: int) -> TargetError:
        topic, partition = place
        return TargetError(
            f"{self.target.topics[topic]}-{partition} on {self.job.target_bootstrap} ends at offset {found} "
            f"of {topic!r}, but {self.ledger.shown} says that it was copied up to {until}: the target was "
            "deleted, made again or restored from a backup. To copy everything anew, delete the target "
            f"topic and move {self.ledger.shown} away"
        )

    def _stage(
        self, records: DataFrame, ranges: list[Range], batch_id: int
    ) -> tuple[list[File], Totals, int]:
        """Write the batch to the target, a transaction for each partition; there are no files."""
        shutil.rmtree(self.places.staging, ignore_errors=True)
        (self.places.staging / "batch").mkdir(parents=True)
        plan = self._plan(ranges)
        results = self._written(records, plan)
        self.probe("written", batch_id)
        commit_without_records(plan, _without_record(plan, {(row.topic, row.partition) for row in results}))
        landed = Totals(
            batches=1,
            offsets=sum(held.until - held.begin for held in ranges),
            rows=sum(row.records - row.home for row in results),
            payload_bytes=sum(row.bytes for row in results),
        )
        if landed.rows > landed.offsets:
            raise LedgerError(
                f"the batch has {landed.offsets} offsets, but {landed.rows} records were copied"
            )
        return [], landed, max((row.newest_ms for row in results), default=0)

    def _plan(self, ranges: list[Range]) -> WritePlan:
        topics = {held.topic for held in ranges}
        counts = {topic: max(h.partition for h in ranges if h.topic == topic) + 1 for topic in topics}
        self._grow(counts)
        positions = self.target.positions(counts)
        own = {(held.topic, held.partition): held for held in ranges}
        landed = by_place(self.ledger.positions)
        for place, held in own.items():
            if place in landed and positions.get(place, -1) < held.begin:
                raise self._behind(place, positions.get(place, 0), held.begin)
        return WritePlan(
            job=self.job.name,
            settings=self.target.settings,
            transaction_timeout_ms=self.target.transaction_timeout_ms,
            group=self.target.group,
            source_cluster=self.source_cluster,
            target_topics=self.target.topics,
            target_ids=self._target_ids or self.target.ids(),
            ranges={place: (held.begin, held.until) for place, held in own.items()},
            positions={place: positions[place] for place in own if place in positions},
            foreign=self._foreign(own),
            home={topic: Origin(self.target_cluster, self.target.topics[topic]) for topic in topics},
        )

    def _grow(self, counts: Mapping[str, int]) -> None:
        """Give the target the partitions that the source has got while the job runs."""
        if any(count > self.partitions.get(topic, 0) for topic, count in counts.items()):
            self.partitions = {
                topic: max(count, counts.get(topic, 0)) for topic, count in self.partitions.items()
            }
            self.target.prepare(self.partitions, {topic: {} for topic in self.partitions})

    def _foreign(self, own: Mapping[Place, Range]) -> dict[Place, list[Piece]]:
        """Return what other jobs have copied into the batch's ranges; in one cluster nothing comes home."""
        if self.job.job.kind != "replicate" or self.source_cluster == self.target_cluster:
            return {}
        more, self._map_end = read_map(self.source_settings, begin=self._map_end)
        self._map += [record for record in more if record.target_topic in self.target.topics]
        found: dict[Place, list[Piece]] = {}
        for topic in {place[0] for place in own}:
            for partition, pieces in foreign_pieces(self._map, topic).items():
                held = own.get((topic, partition))
                if held is not None:
                    inside = [p for p in pieces if p.until > held.begin and p.begin < held.until]
                    found[topic, partition] = inside
        return found

    def _written(self, records: DataFrame, plan: WritePlan) -> list[Any]:
        functions = [*rows.readers(self.shape), topic_writer(plan)]
        try:
            written = rows.mapped(records.select(*rows.CARRIED), rows.chained(functions), RESULT)
            return list(written.collect())
        except PySparkException as error:
            refused = REFUSED.search(str(error))
            if refused is None:
                raise
            raise TargetError(refused[1]) from error

    def _publish(self, entry: Entry, batch_id: int) -> None:
        """Publish the entry of a batch that is on the target, and remove those that Spark cannot ask for."""
        self.ledger.on_placed = lambda: self.probe("placed", batch_id)
        self.ledger.publish(self.places.staging / "batch", entry)
        shutil.rmtree(self.places.staging)
        for batch in self.ledger.batches()[:-KEPT_ENTRIES]:
            shutil.rmtree(self.ledger.batch_folder(batch))
        self.run = self.run.plus(entry.landed)
        self.on_landed(entry)


def _without_record(plan: WritePlan, written: set[Place]) -> list[Place]:
    """Return the partitions of which no task has seen a record, and so has not committed their ranges."""
    return [
        place
        for place, (_, until) in plan.ranges.items()
        if place not in written and plan.positions.get(place, -1) < until
    ]


def prepared(parts: dict[str, Any], job: Job, topics: Topics, report: Report) -> Replicate:
    """Make the target ready for `job` and return the job; `parts` are the fields of `Land`.

    Raises: PipelineError when the target is not what it was.
    """
    source_settings = source_client(job)
    target = Target(job, target_client(job))
    for sentence in target.prepare(topics.partitions(), source_configs(source_settings, job.source.topics)):
        report.note(f"{job.name}: {sentence}")
    copy = Replicate(
        **parts,
        target=target,
        source_settings=source_settings,
        source_cluster=cluster_id(source_settings),
        target_cluster=cluster_id(target.settings),
        partitions=topics.partitions(),
    )
    copy.check_fits_table()
    copy.check_fits_target()
    return copy
