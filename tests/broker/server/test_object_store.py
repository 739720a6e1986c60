"""The library's store behind our door, with its store in memory."""

from __future__ import annotations

import sys

import pytest
from obstore.store import MemoryStore

from broker.config.config_keys import ConfigProblem
from broker.server.object_store import S3Objects, StorePlace, first_line, open_store
from wal.objects import NoSuchObject, ObjectChanged, ObjectExists, StoreAway, StoreRefuses


def in_memory() -> S3Objects:
    """Return a store without a network."""
    return S3Objects(MemoryStore(), "memory")  # type: ignore[arg-type]


def test_bytes_come_back_whole_and_in_part() -> None:
    store = in_memory()
    etag = store.create("log/a", memoryview(b"0123456789"))
    assert store.read("log/a") == (b"0123456789", etag)
    assert store.read_range("log/a", 2, 3) == b"234"


def test_a_range_at_the_end_is_shorter() -> None:
    store = in_memory()
    store.create("a", b"0123")
    assert store.read_range("a", 2, 10) == b"23"


def test_conditions_are_told_in_our_words() -> None:
    store = in_memory()
    first = store.create("a", b"1")
    with pytest.raises(ObjectExists, match="memory: 'a': "):
        store.create("a", b"2")
    store.replace("a", b"2", first)
    with pytest.raises(ObjectChanged):
        store.replace("a", b"3", first)
    with pytest.raises(NoSuchObject):
        store.read("b")


def test_removing_twice_is_harmless() -> None:
    store = in_memory()
    store.create("a", b"1")
    store.remove("a")
    store.remove("a")
    with pytest.raises(NoSuchObject):
        store.read("a")


def test_a_list_is_by_prefix_and_not_by_folder_alone() -> None:
    store = in_memory()
    for key in ("log/seg/1", "log/seg/2", "log/manifest", "other"):
        store.create(key, b"12")
    assert sorted(store.list("log/s")) == [("log/seg/1", 2), ("log/seg/2", 2)]
    assert len(list(store.list(""))) == 4


@pytest.mark.parametrize(
    ("kind", "text", "told"),
    [
        ("PermissionDeniedError", "denied", StoreRefuses),
        ("UnauthenticatedError", "who are you", StoreRefuses),
        ("GenericError", "error response: status code: 400 Bad Request", StoreRefuses),
        ("GenericError", "status code: 503 Slow Down", StoreAway),
        ("GenericError", "status code: 429 Too Many Requests", StoreAway),
        ("GenericError", "connection refused", StoreAway),
    ],
)
def test_errors_are_weather_unless_waiting_cannot_help(kind: str, text: str, told: type[Exception]) -> None:
    error = type(kind, (Exception,), {})(f"{text}\n\nDebug source:\nmuch")

    class Failing:
        """A store whose every call fails; obstore refuses it with a TypeError of its own."""

    store = S3Objects(Failing(), "s3://b")  # type: ignore[arg-type]
    with pytest.raises(told, match=f"^s3://b: 'k': {text}$"):
        raise store._told("k", error)


def test_the_first_line_of_an_error_is_its_sentence() -> None:
    assert first_line(ValueError("one\n\nDebug source:\ntwo")) == "one"


def test_an_address_that_cannot_be_one_is_refused_with_the_form() -> None:
    with pytest.raises(ConfigProblem, match="s3://BUCKET/PREFIX"):
        open_store(StorePlace(url="http://bucket"))


def test_a_place_is_opened_without_asking_it() -> None:
    place = StorePlace(
        url="s3://bucket/deep/er/",
        endpoint="http://127.0.0.1:1",
        credentials={"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"},
    )
    assert open_store(place, "cluster").name == "s3://bucket/deep/er/cluster"


def test_without_the_library_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(ConfigProblem, match=r"install kawal\[remote\]"):
        open_store(StorePlace(url="s3://bucket/x"))
