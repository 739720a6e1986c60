"""The past of a job's topics: read from a gateway's files, before the stream goes on from the broker.

    the table's end, or source.start ─▶ batches from the files, to their end ─▶ the stream begins there

Both halves land in one ledger, which refuses a batch that does not begin where the table ends: so nothing is
left out between them, and nothing lands twice. A run that dies goes on with the files where the table ends.
Once Spark has a checkpoint the stream goes on from that, and the files are not looked at again.

What the files lack comes from the broker: partitions that are newer, offsets that retention has removed
there, and all that was written since. What the broker does not have is not read, should the files have more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.bucket_config import BucketSection, in_bucket, place_of_copy
from pipeline.config import Job, SourceSection
from pipeline.errors import PipelineError, SourceError
from pipeline.log_source.files import LogPlace
from pipeline.log_source.logs import Logs, look_at
from pipeline.log_source.objects import PATIENCE_SECONDS, address_of
from pipeline.positions import Positions, count, lags

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

QUERY = "backfill"
"""What the ledger's entries have in the place of the id of a query of Spark's."""


class Past(NamedTuple):
    """The part that is read from the files: offsets of every partition of the job's topics."""

    begins: Positions
    ends: Positions
    files_end: Positions
    """The ends of the partitions that the files know."""
    notes: tuple[str, ...]

    @property
    def offsets(self) -> int:
        """The number of offsets."""
        return count(lags(self.begins, self.ends))


def place_of_past(source: SourceSection, *, patience_seconds: float = PATIENCE_SECONDS) -> LogPlace:
    """Return the place that `source.backfill` names.  Raises: SourceError."""
    section = source.bucket
    path = "" if in_bucket(source.backfill) else source.backfill
    url = section.store if path else source.backfill
    if not url:
        return LogPlace(path, None)
    place = place_of_copy(url)
    assert place is not None, "the job file was checked"
    keys = {name: getattr(section, name) for name in BucketSection.__struct_fields__}
    address = address_of(
        place, BucketSection(**keys), keys="source.bucket.", patience_seconds=patience_seconds
    )
    return LogPlace(path, address, section.cluster)


def past_of(logs: Logs, begins: Positions, latest: Positions, ids: Mapping[str, str]) -> Past:
    """Return what of these topics is to be read from the files.  Raises: SourceError for other topics."""
    ends, files_end, notes = dict(begins), Positions(), list[str]()
    for topic, partitions in begins.items():
        homes = logs.homes[topic]
        _check_same(logs.files.name, topic, homes[0].topic_id if homes else "", ids.get(topic, ""))
        ends[topic] = dict(partitions)
        for partition, begin in partitions.items():
            if int(partition) >= len(homes):
                continue
            first, end = logs.bounds(topic, int(partition))
            files_end.setdefault(topic, {})[partition] = end
            if first > begin:
                notes.append(
                    f"the files of {topic}-{partition} begin at {first}: the broker is asked for all"
                )
            else:
                ends[topic][partition] = max(begin, min(end, latest[topic][partition]))
    return Past(begins, ends, files_end, tuple(notes))


def _check_same(name: str, topic: str, found: str, wanted: str) -> None:
    if found and wanted and found != wanted:
        raise SourceError(
            f"source.backfill: the topic {topic!r} in {name} has the id {found}, and on the broker "
            f"{wanted}: it is another one; name the files of the broker's own gateway"
        )


def parts_of(past: Past, most: int) -> Iterator[Positions]:
    """Yield the ends of batches of at most about `most` offsets each (0: no limit), the last one the past's.

    Each has the same share of every partition: what was written at one time lies together in the files.
    """
    batches = -(-past.offsets // most) if most else 1
    for number in range(1, batches + 1):
        yield {
            topic: {
                partition: begin + (past.ends[topic][partition] - begin) * number // batches
                for partition, begin in partitions.items()
            }
            for topic, partitions in past.begins.items()
        }


def options_of(source: SourceSection, past: Past, begins: Positions, ends: Positions) -> dict[str, Any]:
    """Return the options of Spark's format `kawal.wal` for one batch."""
    topics = sorted(past.files_end)
    shown = [
        json.dumps(
            {
                topic: {
                    # Of a partition that is not read a place is named that stays where it is.
                    key: at[topic][key] if past.ends[topic][key] > past.begins[topic][key] else end
                    for key, end in past.files_end[topic].items()
                }
                for topic in topics
            }
        )
        for at in (begins, ends)
    ]
    section = source.bucket
    keys = {
        "store": "" if in_bucket(source.backfill) else section.store,
        "cluster": section.cluster,
        "endpoint": section.endpoint,
        "region": section.region,
        "accessKeyEnv": section.access_key_env,
        "secretKeyEnv": section.secret_key_env,
        "sessionTokenEnv": section.session_token_env,
    }
    has_store = in_bucket(source.backfill) or section.store
    return {
        "subscribe": ",".join(topics),
        "startingOffsets": shown[0],
        "endingOffsets": shown[1],
        **({name: value for name, value in keys.items() if value or "Env" in name} if has_store else {}),
    }


@dataclass(slots=True)
class Backfill:
    """The landing of the past in a thread; it is followed, and stopped, as a query of Spark's is."""

    past: Past
    most: int
    land: Callable[[Positions, Positions, int], None]
    """Land the offsets from one position to another, as batch NUMBER of this run."""
    _stopped: bool = False
    _thread: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="backfill")
    )
    _running: Future[None] | None = None

    def start(self) -> Backfill:
        """Begin."""
        self._running = self._thread.submit(self._run)
        return self

    def _run(self) -> None:
        begins = self.past.begins
        for number, ends in enumerate(parts_of(self.past, self.most)):
            if self._stopped:
                return
            try:
                self.land(begins, ends, number)
            except ConnectionError:
                raise  # the JVM has ended
            except OSError as error:
                raise PipelineError(f"the next batch could not be made: {error}") from error
            begins = ends

    def awaitTermination(self, timeout: float) -> bool:
        """Wait a moment for the end; return whether it has come.  Raises: what ended it."""
        assert self._running is not None, "it was started"
        try:
            self._running.result(timeout)
        except StillRunning:
            if not self._running.done():
                return False
            raise
        return True

    def ask_to_stop(self) -> None:
        """Begin no other batch."""
        self._stopped = True

    def stop(self) -> None:
        """Begin no other batch, and wait until the running one has landed, or was given up."""
        self.ask_to_stop()
        self._thread.shutdown(wait=True)


def look_at_past(
    job: Job,
    begins: Positions,
    latest: Positions,
    ids: Mapping[str, str],
    *,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Past:
    """Look at the files, and return what of them is to be read.  Raises: SourceError."""
    place = place_of_past(job.source, patience_seconds=patience_seconds)
    return past_of(look_at(place, job.source.topics), begins, latest, ids)


def read_past(spark: Any, job: Job, past: Past, begins: Positions, ends: Positions) -> DataFrame:
    """Return the records between two positions."""
    options = options_of(job.source, past, begins, ends)
    reader = spark.read.format("kawal.wal").options(includeHeaders=str(job.schema.headers).lower(), **options)
    frame: DataFrame = reader.load(job.source.backfill)
    return frame
