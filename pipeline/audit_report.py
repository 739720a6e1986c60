"""The report of an audit: a line for each partition, or one JSON object, and the exit code."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, TextIO

import msgspec

from pipeline.config import Job
from pipeline.copy_state import opened_copy
from pipeline.errors import DIFFERENT, DONE
from pipeline.generations import check_generations
from pipeline.jars import find_jars
from pipeline.places import cache_folder
from pipeline.session import require_pyspark, spark_session
from pipeline.sinks.tables import ledger_of
from pipeline.sources.topics import open_topics

if TYPE_CHECKING:
    from pipeline.compare import Finding


def audit_job(job: Job, out: TextIO, *, as_json: bool) -> int:
    """Compare the table of `job` with its topics and print what was found; DIFFERENT when they are not equal.

    Raises: PipelineError when they cannot be compared.
    """
    require_pyspark()
    jars = find_jars(os.environ)
    ledger = ledger_of(job)
    with open_topics(job.source) as topics:
        check_generations(ledger, topics.ids(), job.file)
        earliest = topics.earliest()
    copy = opened_copy(job) if job.writes_topics else None
    log_path = cache_folder(os.environ) / f"pipe-{job.name}.log"
    with spark_session(job.name, job.spark, jars, log_path=log_path) as spark:
        if copy is not None:
            from pipeline.topic_audit import audit_topics  # needs pyspark

            findings = audit_topics(spark, job, copy, earliest)
        else:
            from pipeline.audit import audit  # needs pyspark

            findings = audit(spark, job, ledger, earliest)
    print(as_json_text(job, findings) if as_json else "\n".join(lines_of(job, findings)), file=out)
    return DONE if all(finding.equal for finding in findings) else DIFFERENT


def lines_of(job: Job, findings: list[Finding]) -> list[str]:
    """Return the findings as lines for people."""
    lines = []
    for found in findings:
        counts = f"{found.table.rows:,} rows, {found.source.bad:,} bad, {found.empty:,} without a record"
        unseen = f"; {found.unseen:,} older ones are no longer on the broker" if found.unseen else ""
        removed = f"; compaction has removed {found.removed:,} since" if found.removed else ""
        verdict = "equal    " if found.equal else "DIFFERENT"
        lines.append(
            f"  {verdict} {found.topic}-{found.partition} offsets {found.begin:,} to {found.until:,}: "
            f"{counts}{unseen}{removed}"
        )
        lines += [f"            {difference}" for difference in found.differences]
    different = sum(not found.equal for found in findings)
    rows = sum(found.table.rows for found in findings)
    verdict = "equal" if not different else f"DIFFERENT in {different} of {len(findings)} partitions"
    what = f"{rows:,} rows of {job.sink.path}"
    if job.writes_topics:
        what = f"{rows:,} records on {job.target_bootstrap}"
    return [f"{job.name}: {what} compared with their topics", *lines, verdict]


def as_json_text(job: Job, findings: list[Finding]) -> str:
    """Return the findings as one JSON object; sums are texts, as they exceed 64 bits."""
    tree = [asdict(finding) for finding in findings]
    for found in tree:
        for side in ("source", "table"):
            found[side]["total"] = str(found[side]["total"])
    equal = all(finding.equal for finding in findings)
    return msgspec.json.encode({"job": job.name, "equal": equal, "partitions": tree}).decode()
