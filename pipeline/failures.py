"""Spark's and Java's reports of a failure, turned into one sentence with what to do.

They are many screens of text: a Python traceback around a Java trace around its causes. All a user needs of
it is the innermost cause, or the reason that the Kafka source gives for lost records.
"""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.errors import PipelineError, SinkError, SourceError

CAUSE = re.compile(r"^Caused by: (?:[\w.$]+\.)?([\w$]+): (.+)$", re.MULTILINE)
THROWN = re.compile(r"^(?:: )?(?:[a-z]\w*\.)+([\w$]+(?:Exception|Error)): (.+)$", re.MULTILINE)
LOST = "Some data may have been lost"
LOST_REASON = re.compile(r"^Reason: (.+?)\.?(?: SQLSTATE: \w+)?$", re.MULTILINE)


WORKER_ENDED = re.compile(
    r"Python worker exited unexpectedly"
    r"|java\.(?:io\.EOFException|net\.SocketException)[^\n]*\n(?:\s+at java\.[^\n]*\n)*"
    r"\s+at org\.apache\.spark\.api\.python\."
)
"""A worker that ends while it computes gives the first; one that ends before it has said its number, or while
rows are written to it, an error of its connection with Spark."""

SOURCE = re.compile(r"pipeline\.errors\.SourceError: (.+)$", re.MULTILINE)
"""What a task, or the plan, of a read of a gateway's files could not do."""

FILES = re.compile(r"pipeline\.errors\.SinkError: (.+)$", re.MULTILINE)
"""The reason why a task could not write the files of its rows."""

REGISTRY = re.compile(r"registry\.errors\.Unreachable: (.+)$", re.MULTILINE)
TIMEOUT = re.compile(
    r"TimeoutException|DisconnectException|Timed out waiting|timed out|Cannot fetch offset|disconnected"
)
"""The words of Kafka's client when no broker answers; it names none of its addresses."""


def is_timeout(report: str) -> bool:
    """Return whether Spark gave up because a broker did not answer."""
    return TIMEOUT.search(report) is not None


def explain(job: str, report: str, log_path: Path, bootstrap: str) -> PipelineError:
    """Return the error to show for Spark's `report` on a query, or a batch of it, that failed."""
    if LOST in report:
        reason = LOST_REASON.search(report)
        what = reason.group(1).strip() if reason else LOST
        return SourceError(
            f"{job}: records were deleted before they were read. {what}. To go on with what is left, set "
            "source.fail_on_data_loss = false; if the topic was made again, 'kawal pipe check' says so and "
            "what to do"
        )
    registry = REGISTRY.search(report)
    if registry is not None:
        return SourceError(
            f"{job}: {registry.group(1).strip()}; what has landed stays, and the next run continues there"
        )
    written = FILES.search(report)
    if written is not None:
        return SinkError(
            f"{job}: {written.group(1).strip()}; what has landed stays, and the next run continues there"
        )
    files = SOURCE.search(report)
    if files is not None:
        return SourceError(
            f"{job}: {files.group(1).strip()}; what has landed stays, and the next run continues there"
        )
    if WORKER_ENDED.search(report):
        return PipelineError(
            f"{job}: a Python worker of Spark exited unexpectedly: the system may have killed it for its "
            "memory (dmesg says so). What has landed stays, and the next run continues there. The full "
            f"report is in {log_path}"
        )
    if is_timeout(report):
        return SourceError(
            f"{job}: Spark had no answer from {bootstrap} in time: {_cause(report)}; what has landed stays, "
            "and the "
            f"next run continues there. The full report is in {log_path}"
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
