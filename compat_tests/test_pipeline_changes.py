"""`kawal pipe` when topics, job files and brokers change under it: nothing is lost without a word."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic, StartBroker
from compat_tests.kawal_broker import KAWAL
from compat_tests.pipeline_jobs import (
    DEADLINE_SECONDS,
    JSON_SCHEMA,
    PipelineJob,
    produce_numbers,
    produce_values,
    run,
)
from compat_tests.topics import create_topic, delete_topic, grow_topic
from compat_tests.waiting import eventually
from pipeline.errors import LedgerError, SourceError

pytestmark = pytest.mark.timeout(600, method="signal")


def numbers_of(job: PipelineJob) -> list[int]:
    return sorted(number for (number,) in job.rows("n"))


def test_a_topic_made_again_is_refused_until_it_is_reset_and_then_lands_from_its_first_record(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2)
    produce_numbers(broker, topic, range(10))
    job = PipelineJob(tmp_path, broker, topic)
    job.run_here()
    delete_topic(broker, topic)
    create_topic(broker, topic, 2)
    produce_numbers(broker, topic, range(100, 130))
    before = job.files()
    with pytest.raises(SourceError, match=f"'{topic}' was deleted and made again"):
        job.run_here()
    assert job.files() == before
    checked = job.pipe("check")
    assert checked.code == 1
    assert f"kawal pipe reset {job.file} --topic {topic} --from-new" in checked.out

    reset = job.pipe("reset", "--topic", topic, "--from-new")
    assert reset.code == 0, reset.err
    assert "30 offsets" in reset.out
    assert job.run_here()["rows"] == 30
    assert numbers_of(job) == [*range(10), *range(100, 130)]
    assert job.run_here()["rows"] == 0


def test_an_edited_job_file_is_refused_or_widens_the_table(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2)
    produce_numbers(broker, topic, range(10))
    job = PipelineJob(tmp_path, broker, topic)
    job.run_here()
    original = job.file.read_text()
    job.file.write_text(original.replace("n int not null", "n string"))
    with pytest.raises(LedgerError, match="column 'n' is int in the table, but string in the job"):
        job.run_here()
    checked = job.pipe("check")
    assert (checked.code, "column 'n' is int in the table" in checked.out) == (1, True)

    job.file.write_text(original.replace("n int not null", "n bigint not null, extra string"))
    produce_values(broker, topic, [(0, b'{"n":5000000000,"extra":"x"}')])
    assert job.run_here()["rows"] == 1
    assert (5_000_000_000, "x") in job.rows("n", "extra")


def test_topics_that_leave_and_join_a_job_and_new_partitions_lose_nothing(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2)
    other = create_topic(broker, f"{topic}-other", 2)
    produce_numbers(broker, topic, range(10))
    produce_numbers(broker, other, range(100, 110))
    job = PipelineJob(tmp_path, broker, topic)
    alone = job.file.read_text()
    both = alone.replace(f'["{topic}"]', f'["{topic}", "{other}"]')
    job.file.write_text(both)
    assert job.run_here()["rows"] == 20
    produce_numbers(broker, topic, range(10, 20))
    produce_numbers(broker, other, range(110, 120))
    job.file.write_text(alone)
    assert job.run_here()["rows"] == 10
    said = job.run()
    assert (
        f"the topic '{other}' is no longer in source.topics; its rows, up to {other}-0 offset 5" in said.out
    )
    grow_topic(broker, topic, 3)
    produce_values(broker, topic, [(2, b'{"n":20}')])
    job.file.write_text(both)
    assert job.run_here()["rows"] == 11
    assert numbers_of(job) == [*range(21), *range(100, 120)]


def test_what_has_landed_is_committed_to_a_group(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2)
    produce_numbers(broker, topic, range(10))
    job = PipelineJob(tmp_path, broker, topic, JSON_SCHEMA)
    job.file.write_text(job.file.read_text().replace("[sink]", f'group = "lag-of-{topic}"\n[sink]'))
    job.run_here()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    [asked] = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(f"lag-of-{topic}")]).values()
    committed = {place.partition: place.offset for place in asked.result(60).topic_partitions}
    assert committed == {0: 5, 1: 5}


def test_a_signal_to_the_whole_process_group_ends_a_run_without_tracebacks(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2)
    produce_numbers(broker, topic, range(10))
    job = PipelineJob(
        tmp_path, broker, topic, JSON_SCHEMA + '[trigger]\nmode = "interval"\ninterval = "200ms"\n'
    )
    with subprocess.Popen(
        [KAWAL, "pipe", "run", str(job.file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        try:
            job.wait_for_first_batch()
            os.killpg(running.pid, signal.SIGTERM)
            out, err = running.communicate(timeout=90)
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
    assert (running.returncode, "Traceback" in out + err) == (0, False), out + err
    assert "stopped by SIGTERM" in out
    job.file.write_text(job.file.read_text().replace('mode = "interval"', 'mode = "available_now"'))
    job.run_here()
    assert numbers_of(job) == list(range(10))


def test_a_batch_waits_until_enough_records_are_there(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2)
    produce_numbers(broker, topic, range(10))
    job = PipelineJob(
        tmp_path, broker, topic, JSON_SCHEMA + '[trigger]\nmode = "interval"\ninterval = "200ms"\n'
    )
    job.file.write_text(
        job.file.read_text().replace("[sink]", "[sink]\nrotate_rows = 20\nrotate_interval = '30s'")
    )
    with subprocess.Popen([KAWAL, "pipe", "run", str(job.file)], start_new_session=True) as running:
        try:
            job.wait_for_first_batch()
            for first in range(10, 50, 5):
                produce_numbers(broker, topic, range(first, first + 5))
            eventually(
                lambda: len(numbers_of(job)) == 50, waiting_for="all batches", within_seconds=DEADLINE_SECONDS
            )
            running.terminate()
            running.wait(timeout=90)
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
    assert numbers_of(job) == list(range(50))
    # The second batch may be larger than 20 rows; then the rest comes with the interval.
    assert len(list((tmp_path / "lake" / "t").glob("batch=*"))) <= 4


def test_a_broker_that_is_away_is_said_and_the_job_goes_on_when_it_is_back(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    own = start_broker()
    topic = create_topic(own, "away", 2)
    produce_numbers(own, topic, range(10))
    job = PipelineJob(
        tmp_path, own, topic, JSON_SCHEMA + '[trigger]\nmode = "interval"\ninterval = "200ms"\n'
    )
    command = [KAWAL, "pipe", "run", str(job.file), "--log", "json"]
    with (
        (tmp_path / "out").open("w") as out,
        subprocess.Popen(command, stdout=out, start_new_session=True) as running,
    ):

        def events() -> list[dict[str, object]]:
            return [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]

        try:
            job.wait_for_first_batch()
            own.kill()
            eventually(
                lambda: [event for event in events() if event.get("away_since_ms")],
                waiting_for="a progress line that says so",
                within_seconds=DEADLINE_SECONDS,
            )
            own.restart()
            produce_numbers(own, topic, range(10, 20))
            eventually(
                lambda: len([event for event in events() if event["event"] == "batch"]) > 1,
                waiting_for="the second batch",
                within_seconds=DEADLINE_SECONDS,
            )
            running.terminate()
            running.wait(timeout=90)
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
    assert running.returncode == 0
    assert numbers_of(job) == list(range(20))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            'path = "lake/t"',
            'paht = "lake/t"',
            "land.toml:9: 'sink.paht' is not a key of a job file; did you mean",
        ),
        ("n int not null", "n itn", "unknown type 'itn'; did you mean 'int'?"),
        (
            "max_offsets_per_trigger = 40",
            'max_offsets_per_trigger = "x"',
            "land.toml:7: source.max_offsets_per_t",
        ),
        ('path = "lake/t"', 'path = "s3a://bucket/t"', "land.toml:9: sink.path is 's3a://bucket/t'"),
    ],
)
def test_what_a_job_file_gets_wrong_is_named_with_its_line(
    broker: Broker, tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    job = PipelineJob(tmp_path, broker, "t")
    job.file.write_text(job.file.read_text().replace(old, new))
    checked = job.pipe("check")
    assert (checked.code, sentence in checked.err) == (2, True), checked.err


def test_a_check_starts_no_spark(broker: Broker, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic(2)
    job = PipelineJob(tmp_path, broker, topic)
    program = (
        "import sys; from pathlib import Path; from pipeline.job_file import load; from pipeline.check "
        "import "
        "check_job; code = check_job(load(Path(sys.argv[1])), sys.stdout); "
        "print(code, 'pyspark' in sys.modules, 'py4j' in sys.modules)"
    )
    ended = run(sys.executable, "-c", program, str(job.file))
    assert ended.out.splitlines()[-1] == "0 False False", ended.out + ended.err
