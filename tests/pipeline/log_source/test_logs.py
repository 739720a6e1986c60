"""The bounds of partitions, and errors of logs and stores in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import SourceError
from pipeline.log_source.files import CopiedFiles, LocalFiles, LogPlace
from pipeline.log_source.logs import Logs, look_at, told
from tests.broker.kit import batch, create, send
from tests.console.test_wal_orphans import DiskGateway
from tests.pipeline.log_source.copies import copy_of
from wal.disk import OsDisk
from wal.errors import OffsetOutOfRange, WalError
from wal.memory_objects import ObjectFault
from wal.objects import StoreAway


@pytest.fixture
def data(tmp_path: Path) -> Path:
    gateway = DiskGateway(tmp_path / "data")
    create(gateway.client(), "t", 2)
    send(gateway.client(), "t", batch(b"a", b"b"), 1)
    gateway.stop()
    return tmp_path / "data"


def test_bounds_are_those_of_the_directory_and_of_its_copy(data: Path) -> None:
    for logs in (Logs(LocalFiles(OsDisk(), str(data)), ["t"]), Logs(CopiedFiles(copy_of(data)), ["t"])):
        assert [logs.bounds("t", partition) for partition in (0, 1)] == [(0, 0), (0, 2)]
        assert logs.of(logs.homes["t"][1]).bounds(logs.homes["t"][1].stream_id) == (0, 2)


def test_a_place_without_logs_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no kawal\.json"):
        look_at(LogPlace(str(tmp_path), None), ["t"])


def test_a_store_that_is_away_is_one_sentence_with_the_place(data: Path) -> None:
    objects = copy_of(data)
    files = CopiedFiles(objects)
    objects.hook = lambda _: ObjectFault.AWAY
    with pytest.raises(SourceError, match=r"memory/[^ ]+: "):
        Logs(files, ["t"])


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OffsetOutOfRange(1, 2, 3, 4), r"t-0: records were removed while .* begin later, or read again"),
        (WalError("broken"), "t-0: broken"),
        (StoreAway("away"), "t-0: away"),
    ],
)
def test_errors_become_sentences(error: Exception, sentence: str) -> None:
    with pytest.raises(SourceError, match=sentence), told("t-0"):
        raise error
