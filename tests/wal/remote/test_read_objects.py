"""Cut and manifests as they are read: what is there, what is not, and what has other bytes."""

from __future__ import annotations

import pytest

from tests.wal.remote.copies import Node
from wal.memory_objects import MemoryObjects
from wal.remote.formats import RemoteDamaged
from wal.remote.read_objects import read_cut, read_manifest

LOG = "default/vnode-0"


def copied() -> Node:
    node = Node(MemoryObjects())
    node.append(*[b"x" * 30_000] * 6)
    node.round()
    return node


def test_a_cut_comes_with_its_etag_and_a_missing_one_is_none() -> None:
    node = copied()
    assert read_cut(node.objects, "cluster") == (node.uploader.cut, node.objects.read("cluster/cut").etag)
    assert read_cut(node.objects, "another") == (None, None)


def test_a_manifest_that_is_missing_or_has_other_bytes_is_named() -> None:
    node = copied()
    assert node.uploader.cut is not None
    log = node.uploader.cut.logs[LOG]
    assert log.manifest is not None
    assert len(read_manifest(node.objects, f"cluster/{LOG}", log).segments) > 1
    key = f"cluster/{LOG}/{log.manifest.name}"
    found = node.objects.objects[key]
    node.objects.objects[key] = found._replace(data=found.data + b" ")
    with pytest.raises(RemoteDamaged, match=f"memory/{key}: the object is damaged"):
        read_manifest(node.objects, f"cluster/{LOG}", log)
    node.objects.remove(key)
    with pytest.raises(RemoteDamaged, match=f"memory/{key}: the object is missing"):
        read_manifest(node.objects, f"cluster/{LOG}", log)
