"""Signs of life: who gives them, and when a server counts as silent."""

from __future__ import annotations

from contextlib import suppress

import pytest

from wal.memory_objects import MemoryObjects, ObjectCall, ObjectFault
from wal.objects import Fenced, StoreAway
from wal.remote.formats import Cut, RemoteDamaged, seal
from wal.remote.heartbeat import Heart, Places, Sign, Silence, heartbeat_key, read_sign, refuse_while_alive


def heart(objects: MemoryObjects, incarnation: str = "a") -> Heart:
    return Heart(objects, prefix="c", incarnation=incarnation, interval_ms=500, places=Places("h:1"))


def sign(count: int = 1) -> Sign:
    return Sign(epoch=1, incarnation="a", count=count, interval_ms=500, address="h:1")


def test_signs_are_told_apart_by_their_count() -> None:
    objects = MemoryObjects()
    assert read_sign(objects, "c") is None

    one = heart(objects)
    one.beat(3)
    first = read_sign(objects, "c")
    one.beat(3)

    assert first == Sign(epoch=3, incarnation="a", count=1, interval_ms=500, address="h:1")
    assert read_sign(objects, "c") == Sign(epoch=3, incarnation="a", count=2, interval_ms=500, address="h:1")


def test_a_server_learns_from_the_other_ones_sign_that_it_was_replaced() -> None:
    objects = MemoryObjects()
    old, new = heart(objects, "a"), heart(objects, "b")
    old.beat(1)
    new.beat(2)

    with pytest.raises(Fenced, match="another server, h:1, has taken over"):
        old.beat(1)
    last = read_sign(objects, "c")
    assert last is not None
    assert last.incarnation == "b"


def test_a_sign_whose_answer_was_lost_is_followed_by_the_next_one() -> None:
    faults = [ObjectFault.LOST]
    objects = MemoryObjects(lambda call: faults.pop() if faults and call.kind == "create" else None)
    one = heart(objects)

    with pytest.raises(StoreAway):
        one.beat(1)
    one.beat(1)

    last = read_sign(objects, "c")
    assert last is not None
    assert last.count == 2


def test_a_late_sign_of_the_old_server_does_not_hide_the_new_one() -> None:
    objects = MemoryObjects()
    late: list[ObjectFault | None] = [ObjectFault.LATE]

    def hook(call: ObjectCall) -> ObjectFault | None:
        return late.pop() if late and call.kind == "replace" else None

    objects.hook = hook
    old, new = heart(objects, "a"), heart(objects, "b")
    old.beat(1)
    with pytest.raises(StoreAway):
        old.beat(1)
    new.beat(2)
    objects.land_late()

    last = read_sign(objects, "c")
    assert last is not None
    assert (last.incarnation, last.epoch) == ("b", 2)


def test_a_late_sign_of_its_own_does_not_end_a_server() -> None:
    objects = MemoryObjects()
    late: list[ObjectFault | None] = [ObjectFault.LATE]
    one = heart(objects)
    one.beat(1)
    objects.hook = lambda call: late.pop() if late and call.kind == "replace" else None
    with pytest.raises(StoreAway):
        one.beat(1)

    def land(call: ObjectCall) -> ObjectFault | None:
        if call.kind == "replace" and objects.late_count:
            objects.land_late()
        return None

    objects.hook = land
    one.beat(1)
    one.beat(1)

    last = read_sign(objects, "c")
    assert last is not None
    assert last.count == 4


def test_what_is_no_sign_is_named() -> None:
    objects = MemoryObjects()
    objects.create(heartbeat_key("c"), b"{}")
    with pytest.raises(RemoteDamaged, match="c/heartbeat: not a sign of life"):
        read_sign(objects, "c")


def test_a_server_is_silent_when_its_sign_stays_the_same_for_long() -> None:
    silence = Silence(1_000)
    for now_ms in (0, 400, 800):
        silence.saw(sign(), now_ms)
        assert not silence.is_long(now_ms)
    silence.saw(sign(), 1_000)
    assert silence.is_long(1_000)
    assert silence.lasted_ms(1_000) == 1_000


def test_a_new_sign_begins_the_silence_anew() -> None:
    silence = Silence(1_000)
    silence.saw(sign(1), 0)
    silence.saw(sign(2), 900)
    silence.saw(sign(2), 1_200)
    silence.saw(sign(2), 1_899)
    assert not silence.is_long(1_899)
    assert silence.is_long(1_900)


def test_one_who_has_hardly_looked_knows_of_no_silence() -> None:
    silence = Silence(1_000)
    silence.saw(sign(), 0)
    silence.saw(sign(), 5_000)
    assert not silence.is_long(5_000)


def test_one_who_cannot_reach_the_store_begins_anew() -> None:
    silence = Silence(1_000)
    for now_ms in (0, 400, 900):
        silence.saw(sign(), now_ms)
    silence.could_not_look()
    assert silence.lasted_ms(2_000) == 0
    assert not silence.is_long(2_000)
    silence.saw(sign(), 2_100)
    assert not silence.is_long(2_900)


def test_a_server_does_not_take_the_place_of_one_that_is_alive() -> None:
    objects = MemoryObjects()
    other = heart(objects, "b")
    other.beat(1)
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            other.beat(1)

    with pytest.raises(Fenced, match="memory: another server, h:1, gives signs of life there"):
        refuse_while_alive(objects, "c", wait=wait)
    assert len(waits) == 3


def test_a_server_takes_the_place_of_one_that_is_silent_for_more_than_two_intervals() -> None:
    objects = MemoryObjects()
    waits: list[float] = []
    refuse_while_alive(objects, "c", wait=waits.append)
    assert waits == []

    heart(objects, "b").beat(1)
    refuse_while_alive(objects, "c", wait=waits.append)
    assert sum(waits) == 1.25


def ended(epoch: int = 1, *, cut_epoch: int = 1) -> MemoryObjects:
    """Return a store with the farewell of a server, and a cut."""
    objects = MemoryObjects()
    one = heart(objects)
    one.beat(epoch)
    one.farewell(epoch)
    cut = Cut(
        store_format=1,
        cluster_id="c",
        node_id=0,
        secret="s",
        epoch=cut_epoch,
        incarnation="a",
        number=1,
        time_ms=1,
        logs={},
    )
    objects.create("c/cut", seal(cut))
    return objects


def test_after_a_farewell_no_start_waits() -> None:
    waits: list[float] = []
    refuse_while_alive(ended(), "c", wait=waits.append)
    assert waits == []


def test_a_successor_without_a_sign_is_looked_for_in_spite_of_a_farewell() -> None:
    waits: list[float] = []
    objects = ended(cut_epoch=2)
    refuse_while_alive(objects, "c", wait=waits.append)
    assert len(waits) == 5

    def beats(_seconds: float) -> None:
        heart(objects, "b").beat(2)

    with pytest.raises(Fenced, match="another server, h:1, gives signs of life"):
        refuse_while_alive(objects, "c", wait=beats)


def test_a_server_that_goes_on_after_its_farewell_counts_as_alive_by_its_next_sign() -> None:
    objects = ended()
    one = heart(objects)
    one.beat(1)
    with pytest.raises(Fenced, match="gives signs of life"):
        refuse_while_alive(objects, "c", wait=lambda _seconds: one.beat(1))


@pytest.mark.parametrize(
    "fault", [ObjectFault.AWAY, ObjectFault.LOST, ObjectFault.LATE, ObjectFault.CONFLICT]
)
@pytest.mark.parametrize("step", range(3))
def test_a_farewell_that_breaks_off_anywhere_leaves_a_whole_sign(fault: ObjectFault, step: int) -> None:
    calls: list[ObjectCall] = []

    def hook(call: ObjectCall) -> ObjectFault | None:
        calls.append(call)
        return fault if len(calls) == begins + step + 1 else None

    begins = 1_000
    objects = MemoryObjects(hook)
    one = heart(objects)
    one.beat(1)
    begins = len(calls)
    with suppress(StoreAway, Fenced):
        one.farewell(1)
    objects.hook = None
    last = read_sign(objects, "c")
    assert last is not None
    assert (last.epoch, last.incarnation) == (1, "a")
    assert last.ended or last.count == 1


def test_a_farewell_after_a_take_over_is_refused() -> None:
    objects = MemoryObjects()
    one = heart(objects)
    one.beat(1)
    heart(objects, "b").beat(2)
    with pytest.raises(Fenced, match="has taken over"):
        one.farewell(1)
    last = read_sign(objects, "c")
    assert last is not None
    assert not last.ended
