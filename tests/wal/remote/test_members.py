"""Signs of other nodes: what is read of them, how often, and which sign counts."""

from __future__ import annotations

from wal.memory_objects import MemoryObjects, ObjectFault
from wal.objects import StoreAway
from wal.remote.heartbeat import Heart, Places, Sign, heartbeat_key
from wal.remote.members import RARELY, Members, look


def sign(number: int = 1, *, epoch: int = 1, inner: str = "h:1", incarnation: str = "a") -> Sign:
    return Sign(
        epoch=epoch,
        incarnation=incarnation,
        count=1,
        interval_ms=1_000,
        address="h:9",
        number=number,
        inner=inner,
    )


def beating(number: int) -> MemoryObjects:
    """Return the place of a node that has given a sign."""
    objects = MemoryObjects()
    places = Places("h:9", number, f"inner-{number}:1", {"PLAINTEXT": f"outer-{number}:9"})
    Heart(objects, prefix="c", incarnation="a", interval_ms=1_000, places=places).beat(1)
    return objects


def test_a_look_finds_the_addresses_that_a_node_tells_of_itself() -> None:
    found = look({1: beating(1), 2: beating(2)}, "c", [1, 2])
    assert found.problems == []
    assert {number: (each.inner, each.listeners) for number, each in found.signs.items()} == {
        1: ("inner-1:1", {"PLAINTEXT": "outer-1:9"}),
        2: ("inner-2:1", {"PLAINTEXT": "outer-2:9"}),
    }


def test_a_place_that_gives_no_answer_or_no_sign_takes_nothing_from_the_others() -> None:
    damaged = MemoryObjects()
    damaged.create(heartbeat_key("c"), b"{")
    stores = {1: MemoryObjects(lambda _: ObjectFault.AWAY), 2: damaged, 3: MemoryObjects(), 4: beating(4)}
    found = look(stores, "c", stores)
    assert list(found.signs) == [4]
    assert isinstance(found.problems[0], StoreAway)
    assert len(found.problems) == 2


def test_a_node_whose_sign_was_not_found_is_read_at_each_look_and_another_rarely() -> None:
    members = Members([1, 2])
    assert members.due() == [1, 2]
    members.saw({1: sign(1)})
    looks = [members.due() for _ in range(RARELY)]
    assert all(2 in due for due in looks)
    assert sum(1 in due for due in looks) == 1


def test_the_rare_looks_at_several_nodes_are_not_all_at_once() -> None:
    members = Members([1, 2, 3])
    members.due()
    members.saw({number: sign(number) for number in (1, 2, 3)})
    looks = [members.due() for _ in range(RARELY)]
    assert sorted(filter(None, looks)) == [[1], [2], [3]]


def test_a_node_that_is_looked_for_is_read_at_the_next_look_once() -> None:
    members = Members([1, 6])
    members.due()
    members.saw({1: sign(1), 6: sign(6)})
    members.look_for(6)
    members.look_for(7)
    assert [members.due(), members.due()] == [[6], []]


def test_a_sign_of_an_older_epoch_replaces_none_of_a_newer_one() -> None:
    learned: list[tuple[int, str]] = []
    members = Members([1], lambda number, found: learned.append((number, found.inner)))
    members.saw({1: sign(epoch=3, inner="new:1", incarnation="b")})
    members.saw({1: sign(epoch=2, inner="old:1")})
    known = members.sign_of(1)
    assert known is not None
    assert known.inner == "new:1"
    members.saw({1: sign(epoch=4, inner="newer:1", incarnation="c")})
    members.saw({1: sign(epoch=4, inner="newer:1", incarnation="c")})
    assert learned == [(1, "new:1"), (1, "newer:1")]


def test_the_sign_of_another_node_in_its_place_is_none_of_it() -> None:
    members = Members([1])
    members.saw({1: sign(2)})
    assert members.sign_of(1) is None
    assert members.sign_of(9) is None
