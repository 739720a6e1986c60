"""Ready-made faults hit the intended calls."""

from __future__ import annotations

import errno

from wal.memory_faults import Call, failing


def test_the_nth_call_of_the_kind_fails_once() -> None:
    hook = failing("sync", errno.EIO, nth=3)
    calls = [Call("sync", "a"), Call("write", "a"), Call("sync", "b"), Call("sync", "a"), Call("sync", "a")]
    assert [fault.errno if (fault := hook(call)) else 0 for call in calls] == [0, 0, 0, errno.EIO, 0]


def test_it_fails_as_often_as_asked() -> None:
    hook = failing("write", errno.ENOSPC, nth=2, times=2, stored_bytes=5)
    faults = [hook(Call("write", "a")) for _ in range(4)]
    assert [fault is not None for fault in faults] == [False, True, True, False]
    assert faults[1] is not None
    assert faults[1].stored_bytes == 5


def test_only_paths_with_the_part_count() -> None:
    hook = failing("open", errno.EMFILE, path="vnode-1/")
    assert hook(Call("open", "vnode-0/x")) is None
    assert hook(Call("open", "vnode-1/x")) is not None
