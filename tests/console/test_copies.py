"""The copies of clusters in an object store."""

from __future__ import annotations

import pytest

from console.copies import only_cluster
from wal.backup_manifest import BackupError


def test_the_only_cluster_need_not_be_named() -> None:
    assert only_cluster(["c"], "s3://b/p") == "c"


def test_an_empty_prefix_is_named() -> None:
    with pytest.raises(BackupError, match="s3://b/p: no copy is there"):
        only_cluster([], "s3://b/p")


def test_one_of_several_clusters_must_be_named() -> None:
    with pytest.raises(BackupError, match="name one with --cluster: c, d"):
        only_cluster(["c", "d"], "s3://b/p")
