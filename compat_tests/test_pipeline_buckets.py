"""Tables in an S3-compatible store: each batch once in every format, and refusals in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.broker import Broker
from compat_tests.object_store import ObjectStore, object_store
from compat_tests.pipeline_jobs import produce_numbers, produce_values
from compat_tests.pipeline_kills.ground import BUCKET_KINDS, make_ground
from compat_tests.pipeline_kills.scenarios import bucket_goes_away, driver_dies

pytestmark = [pytest.mark.timeout(600, method="signal")]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with object_store(tmp_path_factory.mktemp("store") / "weed", is_seaweedfs=True) as started:
        yield started


@pytest.mark.parametrize("kind", BUCKET_KINDS)
def test_a_topic_lands_once_in_a_bucket_and_a_second_run_changes_nothing(
    broker: Broker, tmp_path: Path, store: ObjectStore, kind: str
) -> None:
    ground = make_ground(broker, tmp_path / "ground", kind, store=store)
    ground.edit("[sink]\n", '[sink]\npartition_by = ["date"]\n')
    produce_numbers(broker, ground.topic, range(60))
    produce_values(broker, ground.topic, [(0, b"junk")])
    assert ground.job.run_here()["rows"] == 60
    ground.must_be_equal(rows=60, bad=1)
    assert ground.job.run_here()["rows"] == 0
    produce_numbers(broker, ground.topic, range(60, 70))
    assert ground.job.run_here()["rows"] == 10
    ground.must_be_equal(rows=70, bad=1)


def test_a_delta_table_in_a_bucket_is_compacted(broker: Broker, tmp_path: Path, store: ObjectStore) -> None:
    ground = make_ground(broker, tmp_path / "ground", "delta-s3", store=store)
    produce_numbers(broker, ground.topic, range(100))
    ground.job.run_here()
    ended = ground.job.pipe("compact")
    assert (ended.code, "are now 1" in ended.out) == (0, True), ended.err
    ground.must_be_equal(rows=100)
    produce_numbers(broker, ground.topic, range(100, 110))
    assert ground.job.run_here()["rows"] == 10
    ground.must_be_equal(rows=110)


@pytest.mark.parametrize("kind", ["parquet-s3", "delta-s3"])
def test_a_driver_that_dies_after_the_entry_and_before_the_log_has_landed_its_batch_once(
    broker: Broker, tmp_path: Path, store: ObjectStore, kind: str
) -> None:
    driver_dies("placed", batches=1)(make_ground(broker, tmp_path / "ground", kind, store=store))


def test_a_store_that_goes_away_is_told_and_the_job_goes_on_when_it_is_back(
    broker: Broker, tmp_path: Path, store: ObjectStore
) -> None:
    bucket_goes_away(make_ground(broker, tmp_path / "ground", "delta-s3", store=store))


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (("s3://lake/", "s3://nowhere/"), "there is no such bucket"),
        (
            ("[sink.bucket]\n", '[sink.bucket]\naccess_key_env = "USER_OF_NOBODY"\n'),
            "USER_OF_NOBODY is not set",
        ),
        (("[sink.bucket]\n", '[sink.bucket]\nregin = "eu"\n'), "did you mean 'sink.bucket.region'"),
    ],
)
def test_what_is_wrong_with_a_bucket_ends_check_with_a_sentence(
    broker: Broker, tmp_path: Path, store: ObjectStore, edit: tuple[str, str], sentence: str
) -> None:
    ground = make_ground(broker, tmp_path / "ground", "delta-s3", store=store)
    ground.edit(*edit)
    ended = ground.job.pipe("check")
    assert ended.code in (1, 2)
    assert sentence in ended.out + ended.err


def test_a_wrong_secret_key_is_named(
    broker: Broker, tmp_path: Path, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground = make_ground(broker, tmp_path / "ground", "delta-s3", store=store)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    ended = ground.job.pipe("check")
    assert (ended.code, "the secret key is not that of the access key" in ended.out) == (1, True), ended.out
