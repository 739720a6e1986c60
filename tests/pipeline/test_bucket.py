"""Objects below a prefix: what is created once, what is told, and a store that lets several win."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from obstore.store import MemoryStore

from pipeline.bucket import HURRY_SECONDS, Bucket, open_bucket, sentence_of
from pipeline.bucket_config import BucketSection, place_in_bucket
from pipeline.errors import StoreError


def made() -> Bucket:
    return Bucket(MemoryStore(), "s3://lake/t")


def test_an_object_is_created_once_and_the_same_content_again_is_ours() -> None:
    bucket = made()
    assert bucket.create("_landed/0.json", b"mine")
    assert bucket.create("_landed/0.json", b"mine")
    assert not bucket.create("_landed/0.json", b"yours")
    assert bucket.read("_landed/0.json") == b"mine"


def test_files_are_uploaded_and_found_by_whole_levels(tmp_path: Path) -> None:
    bucket = made()
    keys = [f"batch=0/origin=A%20B/{number}.parquet" for number in range(9)]
    for number in range(9):
        (tmp_path / str(number)).write_bytes(b"%d" % number)
    bucket.upload({key: tmp_path / str(number) for number, key in enumerate(keys)})
    bucket.replace("batch=01", b"of another level")
    assert bucket.keys_below("batch=0") == keys
    assert bucket.read(keys[3]) == b"3"
    bucket.delete(bucket.keys_below("batch=0"))
    assert bucket.all_keys() == ["batch=01"]
    assert bucket.read(keys[3]) is None


def test_a_range_of_an_object_is_read_and_the_first_level_is_listed() -> None:
    bucket = made()
    for key in ("a/1", "a/2/3", "b/1", "c"):
        bucket.create(key, b"0123456789")
    assert bucket.levels() == ["a", "b"]
    assert [bucket.read_range("a/1", start, 4) for start in (0, 5, 8)] == [b"0123", b"5678", b"89"]
    assert bucket.read_range("a/none", 0, 4) is None


def test_a_store_that_lets_one_of_several_win_passes_the_probe_and_nothing_is_left() -> None:
    bucket = made()
    bucket.probe()
    assert bucket.all_keys() == []


def test_a_store_that_lets_several_win_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def always(*_: Any) -> bool:
        return True

    monkeypatch.setattr(Bucket, "create", always)
    with pytest.raises(StoreError, match=r"8 of 8 requests .* land one batch twice"):
        made().probe()


def test_a_store_that_is_away_is_told_with_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    section = BucketSection(endpoint="http://127.0.0.1:1")
    bucket = open_bucket(place_in_bucket("s3://lake/t"), section, patience_seconds=HURRY_SECONDS)
    with pytest.raises(StoreError, match=r"s3://lake/t at http://127\.0\.0\.1:1: the store does not answer"):
        bucket.all_keys()


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ("<Code>NoSuchBucket</Code>", "there is no such bucket"),
        ("<Code>InvalidAccessKeyId</Code>", "does not know the access key"),
        ("<Code>SignatureDoesNotMatch</Code>", "the secret key is not that of the access key"),
        ("403 <Code>AccessDenied</Code>", "may not do that"),
        ("Error performing PUT: HTTP error: error sending request", "does not answer"),
        ("SlowDown\n\nDebug source:\nGeneric", "the store refuses: SlowDown"),
        (
            "PUT in 60 s, retry_timeout: 60s - Server returned 500 Internal Server Error",
            "the store refuses: PUT",
        ),
        ("", "no reason given"),
    ],
)
def test_what_a_store_says_becomes_a_sentence(error: str, sentence: str) -> None:
    assert sentence in sentence_of(error)
