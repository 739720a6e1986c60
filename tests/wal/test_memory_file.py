"""A simulated file undoes and redoes its edits exactly, whatever they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wal.memory_file import DROP, KEEP, Edit, Fate, FileNode

POSITIONS = st.integers(0, 24)
EDITS = st.one_of(
    st.tuples(st.just("write"), POSITIONS, st.binary(min_size=1, max_size=12)),
    st.tuples(st.just("resize"), POSITIONS, st.just(b"")),
)
STEPS = st.lists(
    st.one_of(
        EDITS,
        st.tuples(st.sampled_from(["sync", "lose", "drop_cache"]), st.just(0), st.just(b"")),
    ),
    max_size=12,
)


class Scripted:
    """Fates from a list of booleans, then from its beginning again."""

    def __init__(self, kept: list[bool]) -> None:
        self.kept = kept
        self.asked: list[Edit] = []

    def of_edit(self, node: int, edit: Edit) -> Fate:
        self.asked.append(edit)
        return KEEP if self.kept[(len(self.asked) - 1) % len(self.kept)] else DROP


def apply(data: bytes, kind: str, position: int, payload: bytes) -> bytes:
    """Return the bytes after an edit, by its plain meaning."""
    if kind == "resize":
        return data[:position].ljust(position, b"\0")
    return data[:position].ljust(position, b"\0") + payload + data[position + len(payload) :]


def make(kind: str, position: int, payload: bytes) -> Edit:
    if kind == "resize":
        return Edit(0, b"", position, is_resize=True)
    return Edit(position, payload, 0, is_resize=False)


def contents(file: FileNode) -> bytes:
    return file.read(0, file.size)


@given(st.lists(EDITS, max_size=8), st.lists(EDITS, max_size=8), st.lists(st.booleans(), min_size=1))
def test_a_crash_leaves_the_synced_bytes_and_the_edits_it_is_told_to(
    synced: list[tuple[str, int, bytes]], unsynced: list[tuple[str, int, bytes]], kept: list[bool]
) -> None:
    file, cached, durable = FileNode(bytearray(), 0), b"", b""
    for step in synced:
        file.edit(make(*step))
        durable = cached = apply(durable, *step)
    file.synced()
    for number, step in enumerate(unsynced):
        file.edit(make(*step))
        cached = apply(cached, *step)
        if kept[number % len(kept)]:
            durable = apply(durable, *step)
    survivor = file.after_crash(1, Scripted(kept))
    assert contents(survivor) == durable
    assert contents(file) == cached
    assert not survivor.unsynced


@given(STEPS)
def test_lost_edits_are_seen_until_the_cache_is_dropped_and_never_survive(
    steps: list[tuple[str, int, bytes]],
) -> None:
    """The model keeps every edit and its state, and works each view out from the beginning."""
    file = FileNode(bytearray(), 0)
    edits: list[list[str | tuple[str, int, bytes]]] = []
    for kind, position, payload in steps:
        match kind:
            case "sync":
                file.synced()
                edits = [[step, "durable" if state == "dirty" else state] for step, state in edits]
            case "lose":
                file.sync_lost()
                edits = [[step, "lost" if state == "dirty" else state] for step, state in edits]
            case "drop_cache":
                file.drop_cache()
                edits = [[step, state] for step, state in edits if state != "lost"]
            case _:
                file.edit(make(kind, position, payload))
                edits.append([(kind, position, payload), "dirty"])
        assert contents(file) == view(edits, {"durable", "dirty", "lost"})
        assert contents(file.after_crash(1, Scripted([False]))) == view(edits, {"durable"})


def view(edits: list[list[str | tuple[str, int, bytes]]], states: set[str]) -> bytes:
    data = b""
    for step, state in edits:
        if state in states:
            assert isinstance(step, tuple)
            data = apply(data, *step)
    return data


def test_a_torn_edit_survives_in_the_ranges_given() -> None:
    file = FileNode(bytearray(), 0)
    file.edit(Edit(2, b"abcdefgh", 0, is_resize=False))

    class Torn:
        def __init__(self, fate: Fate) -> None:
            self.fate = fate

        def of_edit(self, node: int, edit: Edit) -> Fate:
            return self.fate

    assert contents(file.after_crash(1, Torn(Fate(((1, 3), (5, 6)), sized=False)))) == b"\0\0\0bc\0\0f"
    assert contents(file.after_crash(1, Torn(Fate(((1, 3),), sized=True)))) == b"\0\0\0bc\0\0\0\0\0"


def test_a_copy_shares_bytes_until_one_of_the_two_changes() -> None:
    file = FileNode(bytearray(), 0)
    file.edit(Edit(0, b"abc", 0, is_resize=False))
    twin = file.copy()
    assert twin.data is file.data
    file.edit(Edit(0, b"x", 0, is_resize=False))
    twin.edit(Edit(2, b"y", 0, is_resize=False))
    assert (contents(file), contents(twin)) == (b"xbc", b"aby")
    assert (len(file.unsynced), len(twin.unsynced)) == (2, 2)


def test_a_sync_of_a_copy_does_not_reach_the_original() -> None:
    file = FileNode(bytearray(), 0)
    file.edit(Edit(0, b"abc", 0, is_resize=False))
    twin = file.copy()
    twin.sync_lost()
    assert (file.unsynced[0].is_lost, twin.unsynced[0].is_lost) == (False, True)


def test_preallocated_room_costs_no_memory() -> None:
    file = FileNode(bytearray(), 0)
    file.edit(Edit(0, b"", 1 << 40, is_resize=True))
    assert (file.size, len(file.data), file.read((1 << 40) - 2, 10)) == (1 << 40, 0, b"\0\0")
