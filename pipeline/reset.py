"""`kawal pipe reset`: the table goes on with a topic that was deleted and made again, from its first record.

The old topic's rows stay. The reset is an entry of the ledger like a batch, only without files: it appears
by one rename, and says where the old topic ended and where the new one begins. The checkpoint is moved away
before, which is safe at any time: the next run begins a new one where the table ends.
"""

from __future__ import annotations

import shutil
import time
from typing import TextIO

from pipeline.checkpoint import Checkpoint, set_aside
from pipeline.config import Job
from pipeline.errors import DONE, JobFileError, LedgerError
from pipeline.generations import recreated
from pipeline.ledger import Entry, Ledger, Reset, Totals
from pipeline.lock import job_lock
from pipeline.places import places_of
from pipeline.positions import count, lags
from pipeline.quarantine import claim
from pipeline.sinks.tables import ledger_of
from pipeline.sources.topics import open_topics


def reset_topic(job: Job, topic: str, out: TextIO) -> int:
    """Let the table of `job` go on with the new `topic`, from its first record.

    Raises: PipelineError when the job does not read the topic, or the topic is the one that has landed.
    """
    if topic not in job.source.topics:
        raise JobFileError(f"the job reads {', '.join(job.source.topics)}, and not {topic!r}")
    places = places_of(job)
    places.prepare()
    with job_lock(places.lock, job.name), open_topics(job.source) as topics:
        ledger = ledger_of(job)
        ids = topics.ids()
        last = ledger.last
        if last is None or topic not in ledger.positions:
            raise LedgerError(f"nothing of {topic!r} has landed in {ledger.shown}; there is nothing to reset")
        if ledger.topics.get(topic) and not recreated({topic: ledger.topics[topic]}, ids):
            raise LedgerError(
                f"the topic {topic!r} is the one that has landed, by its id {ids[topic] or '(none)'}; to "
                "land it "
                "from its first record again, give the job another sink.path"
            )
        begin = {topic: topics.earliest()[topic]}
        claim(ledger, places.quarantine)
        assert ledger.last is not None
        last = ledger.last
        entry = _entry(job, ledger, last, topic, ids[topic], begin[topic])
        if Checkpoint(places.checkpoint).folder.exists():
            set_aside(places.checkpoint)
        shutil.rmtree(places.staging, ignore_errors=True)
        (places.staging / "batch").mkdir(parents=True)
        ledger.publish(places.staging / "batch", entry)
        waiting = count(lags(begin, {topic: topics.latest()[topic]}))
    print(
        f"{job.name}: the next run lands the new {topic!r} ({ids[topic]}) from its first record on, "
        f"{waiting:,} "
        f"offsets; the rows of the old one stay in {ledger.shown}",
        file=out,
    )
    return DONE


def _entry(job: Job, ledger: Ledger, last: Entry, topic: str, new_id: str, begin: dict[str, int]) -> Entry:
    return Entry(
        kind="reset",
        job=job.name,
        batch=ledger.next_batch,
        checkpoint="",
        checkpoint_batch=-1,
        ranges=[],
        files=[],
        landed=Totals(),
        total=ledger.total,
        positions={**ledger.positions, topic: begin},
        landed_at_ms=time.time_ns() // 1_000_000,
        topics={**ledger.topics, topic: new_id},
        table=last.table,
        newest_ms=last.newest_ms,
        reset=Reset(
            topic=topic,
            old_id=ledger.topics.get(topic, ""),
            new_id=new_id,
            ended=ledger.positions[topic],
        ),
    )
