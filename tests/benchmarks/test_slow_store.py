"""The conditions of the object store of benchmarks: exactly one of several writers may win."""

from __future__ import annotations

from benchmarks.slow_store import Conditions


def test_an_object_is_created_once() -> None:
    store = Conditions()
    first = store.put("k", b"one", absent=True, etag=None)
    assert first is not None
    assert store.put("k", b"two", absent=True, etag=None) is None
    assert store.objects["k"].data == b"one"


def test_an_object_is_replaced_by_its_etag_alone() -> None:
    store = Conditions()
    first = store.put("k", b"one", absent=True, etag=None)
    assert first is not None
    second = store.put("k", b"two", absent=False, etag=first.etag)
    assert second is not None
    assert second.etag != first.etag
    assert store.put("k", b"three", absent=False, etag=first.etag) is None
    assert store.put("other", b"x", absent=False, etag=first.etag) is None
    assert store.objects["k"].data == b"two"
