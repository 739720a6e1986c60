"""The simulated object store does what its faults say."""

from __future__ import annotations

import pytest

from wal.memory_objects import MemoryObjects, ObjectCall, ObjectFault
from wal.objects import NoSuchObject, ObjectChanged, ObjectExists, StoreAway


def store_with(*faults: ObjectFault | None, is_atomic: bool = True) -> MemoryObjects:
    """Return a store that has these faults in turn, and then none."""
    left = list(faults)

    def hook(_call: ObjectCall) -> ObjectFault | None:
        return left.pop(0) if left else None

    return MemoryObjects(hook, is_atomic=is_atomic)


def test_only_the_first_of_two_creations_succeeds() -> None:
    store = MemoryObjects()
    store.create("a", b"1")
    with pytest.raises(ObjectExists):
        store.create("a", b"2")
    assert store.read("a").data == b"1"


def test_an_object_is_replaced_by_its_etag_alone() -> None:
    store = MemoryObjects()
    first = store.create("a", b"1")
    second = store.replace("a", b"2", first)
    with pytest.raises(ObjectChanged):
        store.replace("a", b"3", first)
    assert store.read("a") == (b"2", second)


def test_an_object_that_is_not_there_cannot_be_replaced() -> None:
    with pytest.raises(ObjectChanged):
        MemoryObjects().replace("a", b"1", '"1"')


def test_a_store_that_is_not_atomic_looks_at_no_condition() -> None:
    store = store_with(is_atomic=False)
    store.create("a", b"1")
    store.create("a", b"2")
    assert store.read("a").data == b"2"


def test_a_store_that_is_away_does_nothing() -> None:
    store = store_with(ObjectFault.AWAY)
    with pytest.raises(StoreAway):
        store.create("a", b"1")
    with pytest.raises(NoSuchObject):
        store.read("a")


def test_a_lost_answer_leaves_the_object_behind() -> None:
    store = store_with(ObjectFault.LOST)
    with pytest.raises(StoreAway):
        store.create("a", b"1")
    assert store.read("a").data == b"1"


def test_a_late_creation_lands_where_nothing_is_by_then() -> None:
    store = store_with(ObjectFault.LATE, ObjectFault.LATE)
    for key in ("a", "b"):
        with pytest.raises(StoreAway):
            store.create(key, b"late")
    store.create("b", b"meanwhile")
    assert store.late_count == 2
    store.land_late()
    assert (store.read("a").data, store.read("b").data) == (b"late", b"meanwhile")


def test_a_late_removal_can_be_landed_by_its_number() -> None:
    store = store_with(None, ObjectFault.LATE)
    store.create("a", b"1")
    with pytest.raises(StoreAway):
        store.remove("a")
    store.land_late(0)
    with pytest.raises(NoSuchObject):
        store.read("a")


def test_a_conflict_tells_that_another_was_quicker() -> None:
    store = store_with(ObjectFault.CONFLICT)
    with pytest.raises(ObjectExists):
        store.create("a", b"1")
    assert not store.objects


@pytest.mark.parametrize(
    ("fault", "found"), [(ObjectFault.DAMAGED, b"\x00\x03"), (ObjectFault.SHORT, b"\x00")]
)
def test_a_read_can_return_other_bytes(fault: ObjectFault, found: bytes) -> None:
    store = store_with(None, fault, fault)
    store.create("a", b"\x00\x02")
    assert store.read("a").data == found
    assert store.read_range("a", 0, 2) == found


def test_a_read_without_an_answer_fails() -> None:
    store = store_with(None, ObjectFault.LOST)
    store.create("a", b"1")
    with pytest.raises(StoreAway):
        store.read("a")


def test_a_list_has_the_keys_with_the_prefix_and_their_sizes() -> None:
    store = MemoryObjects()
    store.create("log/a", b"12")
    store.create("log/b", b"3")
    store.create("other", b"")
    assert sorted(store.list("log/")) == [("log/a", 2), ("log/b", 1)]
