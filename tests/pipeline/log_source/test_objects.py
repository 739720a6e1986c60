"""The store of a copy as tasks reach it: addresses, credentials, and sentences for what it refuses."""

from __future__ import annotations

import pickle

import pytest
from obstore.store import MemoryStore

from pipeline.bucket import Bucket
from pipeline.bucket_config import BucketPlace, BucketSection
from pipeline.errors import SourceError
from pipeline.log_source.objects import CopyObjects, address_of
from wal.objects import NoSuchObject


def test_objects_are_read_whole_and_in_part_and_missing_ones_are_told_by_their_key() -> None:
    bucket = Bucket(MemoryStore(), "s3://lake/kawal")
    bucket.create("one/cut", b"0123456789")
    bucket.create("probe/left", b"")
    objects = CopyObjects(bucket, "s3://lake/kawal", "option ")
    assert (objects.clusters(), objects.read("one/cut").data) == (["one"], b"0123456789")
    assert objects.read_range("one/cut", 8, 5) == b"89"
    with pytest.raises(NoSuchObject, match="s3://lake/kawal/one/none"):
        objects.read("one/none")
    with pytest.raises(NoSuchObject, match="s3://lake/kawal/one/none"):
        objects.read_range("one/none", 0, 1)


def test_credentials_go_with_the_address_and_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "the-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "the-secret")
    address = address_of(BucketPlace("lake", "kawal"), BucketSection(), keys="option ")
    assert "the-" not in repr(address)
    sent = pickle.loads(pickle.dumps(address))
    assert (sent == address, dict(sent.options)["secret_access_key"]) == (True, "the-secret")


def test_a_missing_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    section = BucketSection(access_key_env="NO_SUCH_KEY")
    with pytest.raises(SourceError, match="NO_SUCH_KEY is not set; the settings of the copy"):
        address_of(BucketPlace("lake", "kawal"), section, keys="option ")


def test_a_store_that_is_away_is_told_with_the_name_of_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    section = BucketSection(endpoint="http://127.0.0.1:1")
    address = address_of(BucketPlace("lake", "kawal"), section, keys="source.bucket.", patience_seconds=1)
    with pytest.raises(SourceError, match=r"s3://lake/kawal.*does not answer.*see source\.bucket\.endpoint"):
        address.opened().read("one/cut")
    assert address.opened() is address.opened()
