"""Spark's and Java's reports of a failure, turned into one sentence with what to do.

They are many screens of text: a Python traceback around a Java trace around its causes. All a user needs of
it is the innermost cause, or the reason that the Kafka source gives for lost records.
"""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.errors import PipelineError, SourceError

CAUSE = re.compile(r"^Caused by: (?:[\w.$]+\.)?([\w$]+): (.+)$", re.MULTILINE)
THROWN = re.compile(r"^(?:: )?(?:[a-z]\w*\.)+([\w$]+(?:Exception|Error)): (.+)$", re.MULTILINE)
LOST = "Some data may have been lost"
LOST_REASON = re.compile(r"^Reason: (.+?)\.?(?: SQLSTATE: \w+)?$", re.MULTILINE)


def explain(job: str, report: str, log_path: Path) -> PipelineError:
    """Return the error to show for Spark's `report` on a query, or a batch of it, that failed."""
    if LOST in report:
        reason = LOST_REASON.search(report)
        what = reason.group(1).strip() if reason else LOST
        return SourceError(
            f"{job}: records were deleted before they were read. {what}. To go on with what is left, set "
            "source.fail_on_data_loss = false; if the topic was created again, its offsets start over: give "
            "the job another table"
        )
    return PipelineError(f"{job}: {_cause(report)}; the full report is in {log_path}")


def _cause(report: str) -> str:
    causes = CAUSE.findall(report) or THROWN.findall(report)[:1]
    if causes:
        name, message = causes[-1]
        return f"{message.strip().rstrip('.')} ({name})"
    text = report.partition("terminated with exception: ")[2] or report
    lines = [
        line.strip() for line in text.partition("=== Streaming Query ===")[0].splitlines() if line.strip()
    ]
    return lines[0] if lines else "Spark gave no reason"
