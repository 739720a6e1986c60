"""The cut that a restore begins with: the newest one, or one of a past moment; others are refused."""

from __future__ import annotations

import msgspec
import pytest

from tests.wal.remote.copies import Node
from wal.backup_manifest import BackupError
from wal.memory_objects import MemoryObjects
from wal.objects import swap
from wal.remote.chosen_cut import choose_cut
from wal.remote.formats import RemoteDamaged, past_cut_name, seal
from wal.remote.read_objects import read_cut
from wal.store_marker import STORE_FORMAT


def copied() -> MemoryObjects:
    """Return a store with a cut of the time 5,000, and two that were kept of earlier ones."""
    node = Node(MemoryObjects())
    node.append(b"one")
    node.now_ms = 5_000
    node.round()
    cut = node.uploader.cut
    assert cut is not None
    for time_ms in (1_000, 3_000):
        past = msgspec.structs.replace(cut, time_ms=time_ms)
        node.objects.create(f"cluster/{past_cut_name(time_ms, 1, 1)}", seal(past))
    return node.objects


@pytest.mark.parametrize(
    ("at_ms", "time_ms", "is_newest"),
    [
        (None, 5_000, True),
        (9_000, 5_000, True),
        (5_000, 5_000, True),
        (4_999, 3_000, False),
        (1_000, 1_000, False),
    ],
)
def test_the_newest_cut_up_to_a_moment_is_taken(at_ms: int | None, time_ms: int, is_newest: bool) -> None:
    chosen = choose_cut(copied(), "cluster", at_ms)
    assert (chosen.cut.time_ms, chosen.is_newest) == (time_ms, is_newest)


def test_a_moment_before_the_oldest_one_names_that() -> None:
    with pytest.raises(BackupError, match=r"no cut of .*0\.999.* the oldest one is of 1970-01-01T00:00:01"):
        choose_cut(copied(), "cluster", 999)


def test_a_cut_of_a_later_data_format_is_refused() -> None:
    objects = copied()
    cut, etag = read_cut(objects, "cluster")
    assert cut is not None
    swap(objects, "cluster/cut", seal(msgspec.structs.replace(cut, store_format=STORE_FORMAT + 1)), etag)
    with pytest.raises(BackupError, match=f"data format {STORE_FORMAT + 1}"):
        choose_cut(objects, "cluster", None)


def test_a_copy_without_its_cut_is_told_from_a_place_without_a_copy() -> None:
    objects = copied()
    objects.remove("cluster/cut")
    with pytest.raises(RemoteDamaged, match="the object is missing"):
        choose_cut(objects, "cluster", None)
    with pytest.raises(BackupError, match="no copy of a cluster 'another'"):
        choose_cut(objects, "another", None)
