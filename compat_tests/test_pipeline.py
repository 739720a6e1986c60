"""`kawal pipe`: topics land in Parquet, each record exactly once, whatever happens to the driver."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic
from compat_tests.kawal_broker import KAWAL
from compat_tests.pipeline_jobs import (
    DEADLINE_SECONDS,
    JSON_SCHEMA,
    PipelineJob,
    produce_numbers,
    produce_values,
)
from compat_tests.waiting import eventually
from pipeline.audit_report import audit_job
from pipeline.errors import BadRowsError
from pipeline.job_file import load

pytestmark = pytest.mark.timeout(600, method="signal")

KILLED = -signal.SIGKILL
BAD = [(0, b"junk"), (1, b'{"n":"one"}'), (0, None)]


def numbers_of(job: PipelineJob) -> list[int]:
    return sorted(number for (number,) in job.rows("n"))


def audited(job: PipelineJob) -> list[dict[str, Any]]:
    out = io.StringIO()
    audit_job(load(job.file), out, as_json=True)
    found: list[dict[str, Any]] = json.loads(out.getvalue())["partitions"]
    return found


def test_a_topic_lands_once_and_later_runs_land_only_what_is_new(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2)
    produce_numbers(broker, topic, range(100))
    produce_values(broker, topic, [(0, b"junk"), (1, b'{"n":"one"}')])
    job = PipelineJob(tmp_path, broker, topic)

    first = job.run()
    assert first.code == 0, first.err
    assert numbers_of(job) == list(range(100))
    assert job.rows("topic", "partition", "offset")[:2] == [(topic, 0, 0), (topic, 0, 1)]
    assert job.bad() == [
        (50, b"junk", "not JSON: invalid character (byte 0)"),
        (50, b'{"n":"one"}', "n: expected int, got a string"),
    ]
    assert (first.summary["rows"], first.summary["bad"], first.summary["batches"]) == (100, 2, 3)

    before = job.files()
    again = job.run_here()
    assert (again["rows"], again["total"]["rows"]) == (0, 100)
    assert job.files() == before

    produce_numbers(broker, topic, range(100, 110))
    later = job.run_here()
    assert (later["rows"], later["total"]["rows"]) == (10, 110)
    assert numbers_of(job) == list(range(110))
    assert before.items() <= job.files().items()

    status = json.loads(job.pipe("status", "--json").out)
    assert (status["total"]["rows"], status["lag"]) == (110, {f"{topic}-0": 0, f"{topic}-1": 0})


@pytest.mark.timeout(400, method="signal")
def test_a_driver_killed_at_any_step_leaves_whole_batches_and_ends_exact(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2)
    produce_numbers(broker, topic, range(100))
    produce_values(broker, topic, [(0, b"junk"), (1, b"junk")])
    job = PipelineJob(tmp_path, broker, topic)

    for step in ("planned", "written", "staged", "quarantined"):
        assert job.run_and_die(step, 0).code == KILLED
        assert not [name for name in job.files() if name.startswith("lake/t/batch")]
    assert job.run_and_die("staged", 1).code == KILLED
    assert len(numbers_of(job)) == 40
    after_first_batch = job.files()
    assert job.run_and_die("landed", 1).code == KILLED
    assert len(numbers_of(job)) == 80
    assert after_first_batch.items() <= job.files().items()

    (
        job.checkpoint / "commits" / "0"
    ).unlink()  # as if Spark had died before it noted the end of batch 0, too
    (job.checkpoint / "commits" / ".0.crc").unlink(missing_ok=True)
    landed = job.files()
    last = job.run_here()
    assert (last["rows"], last["total"]["rows"]) == (20, 100)
    assert landed.items() <= job.files().items()
    assert numbers_of(job) == list(range(100))
    assert [offset for offset, _, _ in job.bad()] == [50, 50]


def test_a_job_without_its_checkpoint_in_a_folder_with_an_odd_name_goes_on_where_its_table_ends(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2)
    produce_numbers(broker, topic, range(30))
    (tmp_path / "a b=50%").mkdir()
    job = PipelineJob(tmp_path / "a b=50%", broker, topic)
    job.run_here()
    job.checkpoint.rename(tmp_path / "lost")
    produce_numbers(broker, topic, range(30, 50))
    assert job.run_here()["rows"] == 20
    assert numbers_of(job) == list(range(50))


def test_records_of_open_and_aborted_transactions_do_not_land(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1)
    # A run on a busy machine takes longer than the minute after which an open transaction is aborted.
    settings = {"transactional.id": f"t-{topic}", "transaction.timeout.ms": 600_000}
    producer = Producer({"bootstrap.servers": broker.bootstrap, **settings})
    producer.init_transactions(60)

    def write(numbers: range) -> None:
        producer.begin_transaction()
        for number in numbers:
            producer.produce(topic, b'{"n":%d}' % number, partition=0)
        assert producer.flush(60) == 0

    write(range(10))
    producer.commit_transaction(60)
    write(range(10, 20))
    producer.abort_transaction(60)
    write(range(20, 30))
    producer.commit_transaction(60)
    write(range(30, 40))
    job = PipelineJob(tmp_path, broker, topic)
    job.file.write_text(job.file.read_text().replace("[job]\n", '[job]\nmetrics_file = "land.prom"\n'))
    committed = [*range(10), *range(20, 30)]
    assert job.run_here()["rows"] == 20
    assert numbers_of(job) == committed
    measured = (tmp_path / "land.prom").read_text()
    assert 'kawal_pipe_rows{job="land-t"} 20.0' in measured
    assert 'kawal_pipe_lag_offsets{job="land-t"} 0.0' in measured
    producer.commit_transaction(60)
    assert job.run_here()["rows"] == 10
    assert numbers_of(job) == [*committed, *range(30, 40)]
    [partition] = audited(job)
    # Three commit markers, one abort marker, and ten records that were aborted.
    assert (partition["differences"], partition["empty"]) == ([], 14)


def test_bad_records_stop_a_job_that_asks_for_it(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2)
    produce_numbers(broker, topic, range(10))
    produce_values(broker, topic, BAD)
    job = PipelineJob(tmp_path, broker, topic, JSON_SCHEMA + '[errors]\nmode = "fail"\n')
    with pytest.raises(BadRowsError, match=r"(?s)3 bad records .* offset 5: not JSON") as stopped:
        job.run_here()
    assert stopped.value.exit_code == 3
    assert job.files() == {}


def test_check_and_preview_say_what_a_run_would_do_and_write_nothing(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2)
    produce_values(broker, topic, [(0, b'{"n":1}'), *BAD])
    job = PipelineJob(tmp_path, broker, topic)
    checked = job.pipe("check")
    assert checked.code == 0, checked.out
    assert "2 partitions, 4 offsets to land" in checked.out
    assert "columns n, key, topic, partition, offset, timestamp" in checked.out
    lines = [json.loads(line) for line in job.preview_here(10)]
    assert [(line.get("n"), line.get("_bad")) for line in lines] == [
        (1, None),
        (None, "not JSON: invalid character (byte 0)"),
        (None, "n: declared not null, but the record has no value"),
        (None, "n: expected int, got a string"),
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["land.toml"]


def test_a_job_with_an_interval_lands_as_records_come_until_it_is_stopped(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2)
    produce_numbers(broker, topic, range(10))
    more = '[schema]\nheaders = true\n[trigger]\nmode = "interval"\ninterval = "200ms"\n'
    job = PipelineJob(tmp_path, broker, topic, more)
    command = [KAWAL, "pipe", "run", str(job.file), "--log", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as running:
        try:
            job.wait_for_first_batch()
            produce_numbers(broker, topic, range(10, 20))
            eventually(
                lambda: len(list((tmp_path / "lake/t").glob("batch=*"))) > 1,
                waiting_for="the second batch",
                within_seconds=DEADLINE_SECONDS,
            )
            assert job.run().code == 4, "a job runs once at a time"
            running.terminate()
            out, _ = running.communicate(timeout=90)
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
    assert running.returncode == 0
    summary = json.loads(out.splitlines()[-1])
    assert (summary["outcome"], summary["rows"]) == ("stopped by SIGTERM", 20)
    rows = job.rows("value", "headers", "timestamp_type")
    assert sorted(json.loads(bytes(value))["n"] for value, _, _ in rows) == list(range(20))
    assert rows[0][1:] == ([("trace", bytearray(b"\x01"))], 0)


def test_an_unknown_topic_is_named_at_once_and_not_created(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1)
    ended = PipelineJob(tmp_path, broker, topic[:-1] + "_").run()
    assert ended.code == 1
    assert f"there is no topic '{topic[:-1]}_' on {broker.bootstrap}; did you mean '" in ended.err
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    assert topic[:-1] + "_" not in admin.list_topics(timeout=60).topics


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["pipe", "run", "land.toml", "--bootstrap", "127.0.0.1:1"], 1, "no broker answers at 127.0.0.1:1"),
        (["pipe", "run", "nothing.toml"], 2, "nothing.toml: cannot be read: No such file or directory"),
        (["pipe", "land", "land.toml"], 2, "invalid choice: 'land'"),
    ],
)
def test_what_cannot_start_says_so_in_one_sentence(
    tmp_path: Path, broker: Broker, arguments: list[str], code: int, sentence: str
) -> None:
    PipelineJob(tmp_path, broker, "t")
    ended = subprocess.run(
        [KAWAL, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60
    )
    assert (ended.returncode, len(ended.stderr.splitlines())) == (code, 1), ended.stderr
    assert sentence in ended.stderr
