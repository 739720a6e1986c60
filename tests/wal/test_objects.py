"""Writes to an object store whose answers may be lost, late, or those of a repetition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wal.memory_objects import MemoryObjects, ObjectCall, ObjectFault
from wal.objects import Fenced, ObjectStoreError, StoreAway, put_once, swap


def test_an_object_of_our_own_that_is_there_already_is_accepted() -> None:
    store = MemoryObjects()
    store.create("a", b"ours")
    put_once(store, "a", b"ours")
    assert store.read("a").data == b"ours"


def test_an_object_of_a_stranger_fences() -> None:
    store = MemoryObjects()
    store.create("a", b"theirs")
    with pytest.raises(Fenced, match="another process writes there"):
        put_once(store, "a", b"ours")
    assert store.read("a").data == b"theirs"


def test_a_conflict_without_a_winner_is_tried_again() -> None:
    faults = [ObjectFault.CONFLICT]
    store = MemoryObjects(lambda _call: faults.pop() if faults else None)
    put_once(store, "a", b"ours")
    assert store.read("a").data == b"ours"


def test_conflicts_without_end_are_told_as_a_store_that_is_away() -> None:
    def hook(call: ObjectCall) -> ObjectFault | None:
        return ObjectFault.CONFLICT if call.kind == "create" else None

    with pytest.raises(StoreAway, match="in turn"):
        put_once(MemoryObjects(hook), "a", b"ours")


def test_a_swap_returns_the_etag_for_the_next_one() -> None:
    store = MemoryObjects()
    etag = swap(store, "a", b"1", None)
    etag = swap(store, "a", b"2", etag)
    assert store.read("a") == (b"2", etag)


def test_a_swap_that_meets_its_own_first_try_has_succeeded() -> None:
    store = MemoryObjects()
    before = swap(store, "a", b"1", None)
    done = store.replace("a", b"2", before)  # the library had sent it, and lost the answer
    assert swap(store, "a", b"2", before) == done


def test_a_swap_of_what_another_has_changed_fences() -> None:
    store = MemoryObjects()
    before = swap(store, "a", b"1", None)
    store.replace("a", b"theirs", before)
    with pytest.raises(Fenced, match="changed by another process"):
        swap(store, "a", b"ours", before)


def test_a_swap_of_what_another_has_removed_fences() -> None:
    store = MemoryObjects()
    before = swap(store, "a", b"1", None)
    store.remove("a")
    with pytest.raises(Fenced, match="removed by another process"):
        swap(store, "a", b"ours", before)


def test_a_creation_that_another_was_quicker_at_fences() -> None:
    store = MemoryObjects()
    store.create("a", b"theirs")
    with pytest.raises(Fenced):
        swap(store, "a", b"ours", None)


@pytest.mark.parametrize("before", [None, b"1"])
def test_a_conflict_that_changed_nothing_is_tried_again(before: bytes | None) -> None:
    store = MemoryObjects()
    etag = None if before is None else store.create("a", before)
    faults = [ObjectFault.CONFLICT]
    store.hook = lambda _call: faults.pop() if faults else None
    swap(store, "a", b"ours", etag)
    assert store.read("a").data == b"ours"


def test_conflicts_without_end_are_weather() -> None:
    def hook(call: ObjectCall) -> ObjectFault | None:
        return ObjectFault.CONFLICT if call.kind == "create" else None

    with pytest.raises(StoreAway, match="has changed and has not"):
        swap(MemoryObjects(hook), "a", b"ours", None)


@given(st.lists(st.sampled_from([None, *ObjectFault]), max_size=12), st.booleans())
def test_of_two_writers_of_one_key_at_most_one_believes_to_have_written_it(
    faults: list[ObjectFault | None], lands: bool
) -> None:
    store = MemoryObjects(lambda _call: faults.pop() if faults else None)
    won = []
    for writer in (b"one", b"other"):
        try:
            put_once(store, "a", writer)
        except ObjectStoreError:
            continue
        won.append(writer)
    if lands:
        store.land_late()
    assert len(won) <= 1
    if won:
        store.hook = None
        assert store.read("a").data == won[0]
