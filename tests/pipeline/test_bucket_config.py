"""The keys of [sink.bucket], and where they lead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.bucket_config import (
    BucketPlace,
    BucketSection,
    delta_options,
    iceberg_options,
    obstore_options,
    place_in_bucket,
    place_of_copy,
)
from pipeline.errors import JobFileError, SetupError
from pipeline.places import places_of
from tests.pipeline.made import job

KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
ENDPOINT = "http://127.0.0.1:9000"


def test_a_place_is_a_bucket_and_a_prefix_without_slashes_at_its_ends() -> None:
    place = place_in_bucket("s3://lake/raw/flights/")
    assert (place.bucket, place.prefix, place.name) == ("lake", "raw/flights", "flights")
    assert place.url == "s3://lake/raw/flights"


@pytest.mark.parametrize(
    "path",
    [
        "s3://",
        "s3://lake",
        "s3://lake/",
        "s3://lake//x",
        "s3://La_ke/x",
        "s3://lake/a/../b",
        "s3://lake/a//b",
    ],
)
def test_a_place_that_no_store_has_is_refused(path: str) -> None:
    with pytest.raises(JobFileError, match="a table in a bucket is s3://BUCKET/PREFIX"):
        place_in_bucket(path)


def test_every_client_gets_keys_region_and_address() -> None:
    section = BucketSection(endpoint=ENDPOINT, region="eu-1")
    environment = {**KEYS, "AWS_SESSION_TOKEN": "token"}
    assert obstore_options(section, environment) == {
        "region": "eu-1",
        "access_key_id": "key",
        "secret_access_key": "secret",
        "session_token": "token",
        "endpoint": ENDPOINT,
    }
    delta = delta_options(section, environment)
    assert (delta["AWS_ENDPOINT_URL"], delta["AWS_ALLOW_HTTP"], delta["aws_conditional_put"]) == (
        ENDPOINT,
        "true",
        "etag",
    )
    assert iceberg_options(section, environment)["s3.session-token"] == "token"


def test_without_names_of_variables_the_machines_own_keys_are_used() -> None:
    assert obstore_options(BucketSection(access_key_env="", secret_key_env=""), {}) == {"region": "us-east-1"}


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(SetupError, match="AWS_SECRET_ACCESS_KEY is not set"):
        delta_options(BucketSection(), {"AWS_ACCESS_KEY_ID": "key"})


@pytest.mark.parametrize(
    ("sink", "sentence"),
    [
        ({"path": "t", "bucket": {"region": "eu-1"}}, "is not s3://"),
        ({"path": "s3://lake/t", "bucket": {"access_key_env": ""}}, "belong together"),
        ({"path": "s3://lake/t", "bucket": {"endpoint": "lake:9000"}}, r"sink\.bucket\.endpoint"),
        ({"path": "s3://lake"}, "a prefix of its own"),
        ({"path": "s3://lake/t", "kind": "iceberg"}, "a catalog that outlives this machine"),
        ({"path": "t", "work": "w"}, "sink.work is given"),
    ],
)
def test_keys_that_contradict_each_other_are_refused(
    tmp_path: Path, sink: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(JobFileError, match=sentence):
        job(tmp_path, sink=sink)


def test_only_the_jobs_own_folder_and_the_quarantine_are_on_this_machine(tmp_path: Path) -> None:
    made = job(tmp_path, sink={"path": "s3://lake/raw/flights"})
    places = places_of(made)
    assert made.in_bucket
    assert made.sink.path == "s3://lake/raw/flights"
    assert places.own == tmp_path / ".flights.landing"
    assert places.checkpoint == places.own / "checkpoint"
    assert places.quarantine == tmp_path / "flights_bad"
    places.check()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("s3://lake/kawal", BucketPlace("lake", "kawal")),
        ("s3://lake/a/b/", BucketPlace("lake", "a/b")),
        ("s3://lake", BucketPlace("lake", "")),
        ("s3://", None),
        ("/var/lib/kawal", None),
    ],
)
def test_an_address_is_that_of_the_setting_of_the_server(url: str, place: BucketPlace | None) -> None:
    found = place_of_copy(url)
    assert found == place
    assert found is None or found.url == url.rstrip("/")
