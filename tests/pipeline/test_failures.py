"""Reports of failures as Spark 4.2 gives them, and the sentence a user sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import PipelineError, SinkError, SourceError
from pipeline.failures import explain

LOG = Path("/lake/.t.landing/spark.log")

RECORDS_GONE = """An error occurred while calling o175.parquet.
: org.apache.spark.sql.kafka010.KafkaIllegalStateException: Some data may have been lost
topic was processed.
If you don't want your streaming query to fail on such cases, set the source option failOnDataLoss to false.
Reason: Could not read records in offset [10, 30) for topic partition t-0
with consumer group kawal-pipe-land-t-1d806836--1476424085-executor.
\tat org.apache.spark.sql.kafka010.KafkaExceptions$.couldNotReadOffsetRange(KafkaExceptions.scala:94)
Caused by: org.apache.kafka.clients.consumer.OffsetOutOfRangeException: Fetch position is out of range
"""

TOPIC_GONE = """[STREAM_FAILED] Query [id = 1] terminated with exception: Some data may have been lost
Reason: Partitions Set(t-2) have been deleted. SQLSTATE: XXKST
=== Streaming Query ===
"""

DISK_FULL = """An error occurred while calling o175.parquet.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:1)
Caused by: java.io.IOException: No space left on device
\tat java.base/sun.nio.ch.FileDispatcherImpl.write0(Native Method)
"""

FILES_NOT_WRITTEN = """An error occurred while calling o175.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
OSError: [Errno 28] Error writing bytes to file. Detail: [errno 28] No space left on device
The above exception was the direct cause of the following exception:
pipeline.errors.SinkError: rows cannot be written to /lake/.t.landing/staging/written: No space left on device
\tat org.apache.spark.api.python.BasePythonRunner(PythonRunner.scala:1)
"""

NO_CAUSE = """An error occurred while calling o175.parquet.
: java.lang.IllegalArgumentException: requirement failed: 3 is too many.
\tat org.apache.spark.X(X.scala:1)
"""

PLAIN = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Writing job aborted
SQLSTATE: 42K0E
=== Streaming Query ===
Identifier: land-t [id = 1]
"""


@pytest.mark.parametrize(
    ("report", "what"),
    [
        (RECORDS_GONE, "Could not read records in offset [10, 30) for topic partition t-0."),
        (TOPIC_GONE, "Partitions Set(t-2) have been deleted."),
    ],
)
def test_lost_records_are_told_with_the_reason_and_both_ways_out(report: str, what: str) -> None:
    error = explain("land-t", report, LOG, "kafka:9092")
    assert isinstance(error, SourceError)
    assert str(error).startswith(f"land-t: records were deleted before they were read. {what} To go on")
    assert "source.fail_on_data_loss = false" in str(error)
    assert "'kawal pipe check' says so and what to do" in str(error)


@pytest.mark.parametrize(
    ("report", "cause"),
    [
        (DISK_FULL, "No space left on device (IOException)"),
        (NO_CAUSE, "requirement failed: 3 is too many (IllegalArgumentException)"),
        (PLAIN, "Writing job aborted"),
        ("boom", "boom"),
        ("", "Spark gave no reason"),
    ],
)
def test_other_failures_are_their_innermost_cause_and_where_to_read_more(report: str, cause: str) -> None:
    error = explain("land-t", report, LOG, "kafka:9092")
    assert type(error) is PipelineError
    assert str(error) == f"land-t: {cause}; the full report is in {LOG}"


def test_a_broker_that_did_not_answer_in_time_is_named_by_its_address() -> None:
    report = "Caused by: org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node\n"
    error = explain("land-t", report, LOG, "kafka:9092")
    assert isinstance(error, SourceError)
    assert "Spark had no answer from kafka:9092 in time" in str(error)


def test_a_registry_that_was_away_is_told() -> None:
    report = (
        "An exception was thrown from the Python worker\n"
        "registry.errors.Unreachable: cannot reach the schema registry at http://r/x: refused\n"
        "\tat org.apache.spark.api.python.X(X.scala:1)\n"
    )
    error = explain("lake", report, LOG, "127.0.0.1:9092")
    assert isinstance(error, SourceError)
    assert str(error) == (
        "lake: cannot reach the schema registry at http://r/x: refused; what has landed stays, and"
        " the next run continues there"
    )


def test_files_that_a_worker_could_not_write_are_told_with_the_reason() -> None:
    error = explain("land-t", FILES_NOT_WRITTEN, LOG, "kafka:9092")
    assert isinstance(error, SinkError)
    assert str(error) == (
        "land-t: rows cannot be written to /lake/.t.landing/staging/written: No space left on device; what"
        " has landed stays, and the next run continues there"
    )


TASK_FAILED = """Job aborted due to stage failure: Task 1 in stage 0.0 failed 1 times, most recent failure:
Lost task 1.0 in stage 0.0 (TID 1) (localhost executor driver): java.io.EOFException
\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:386)
\tat {place}
"""


@pytest.mark.parametrize(
    "report",
    [
        "Caused by: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)\n",
        TASK_FAILED.format(
            place="org.apache.spark.api.python.PythonWorkerFactory.createWorker$1(PythonWorkerFactory.scala:188)"
        ),
        "Caused by: java.net.SocketException: Connection reset\n"
        "\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.read(PythonRunner.scala:1)\n",
    ],
)
def test_a_python_worker_that_was_killed_is_told_whenever_it_dies(report: str) -> None:
    told = str(explain("land-t", report, LOG, "kafka:9092"))
    assert told.startswith("land-t: a Python worker of Spark exited unexpectedly: the system may have killed")
    assert "What has landed stays, and the next run continues there." in told


def test_an_end_of_file_elsewhere_is_not_put_down_to_a_python_worker() -> None:
    report = TASK_FAILED.format(place="org.apache.parquet.Reader.read(Reader.java:5)")
    assert "Python worker" not in str(explain("land-t", report, LOG, "kafka:9092"))


def test_what_a_read_of_files_could_not_do_is_told_as_it_was_said() -> None:
    report = (
        "[PYTHON_DATA_SOURCE_ERROR] Failed to generate Python data source read partitions: Traceback:\n"
        '  File "plan.py", line 1, in splits\n'
        "pipeline.errors.SourceError: t-0: records were removed while they were looked for: read again\n"
        " SQLSTATE: 38000"
    )
    error = explain("land-t", report, Path("spark.log"), "127.0.0.1:1")
    assert isinstance(error, SourceError)
    assert str(error).startswith("land-t: t-0: records were removed while they were looked for: read again; ")
