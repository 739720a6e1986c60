"""The errors that stop a job, each with the exit code of `kawal pipe`.

PipelineError        1   anything else that stops a job
├── JobFileError     2   the job file cannot be used
├── SetupError       1   Spark, Java or the connector jars are missing
├── SourceError      1   the broker, a topic or its records cannot be reached
├── TargetError      1   the target of replicate or derive cannot be written, or is not what it was
├── SinkError        1   the files of a batch cannot be written
├── StoreError       1   the object store of a table does not answer, or refuses a request
├── LedgerError      1   the table and the checkpoint do not fit together; nothing was written
├── BadRowsError     3   bad records stopped the job, as its file asks
└── JobRunningError  4   another process runs this job

An audit that finds a difference ends with 5.
"""

from __future__ import annotations

DONE, FAILED, UNUSABLE, STOPPED_BY_BAD_ROWS, ALREADY_RUNNING, DIFFERENT = 0, 1, 2, 3, 4, 5
"""Exit codes of `kawal pipe`; a job stopped by a signal ends with 128 + its number, as shells count."""


class PipelineError(Exception):
    """A sentence for the user: what happened, to which thing, with which values, and what to do."""

    exit_code = FAILED


class JobFileError(PipelineError):
    """A job file that cannot be read, or a key of it that cannot be used."""

    exit_code = UNUSABLE


class SetupError(PipelineError):
    """A missing part of the installation; the sentence says how to get it."""


class SourceError(PipelineError):
    """A broker that does not answer, a topic that does not exist, or records that were deleted."""


class TargetError(PipelineError):
    """A target broker that does not answer, or target topics that do not fit what has been written."""


class SinkError(PipelineError):
    """A disk that does not take the files of a batch: it is full, or away."""


class StoreError(PipelineError):
    """An object store that does not answer, or refuses a request; a table in it is as it was."""


class LedgerError(PipelineError):
    """A ledger that contradicts the checkpoint, the job or the files; nothing was written."""


class BadRowsError(PipelineError):
    """Bad records that stopped the job before their batch was landed."""

    exit_code = STOPPED_BY_BAD_ROWS


class JobRunningError(PipelineError):
    """A job that another process is running; it holds the lock."""

    exit_code = ALREADY_RUNNING
