"""Of a data directory the offsets asked for are read, with a task for each segment, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import SourceError
from pipeline.log_source.files import LocalFiles
from pipeline.log_source.logs import Logs
from pipeline.log_source.plan import EARLIEST, LATEST, Snapshot, Split, Wanted
from pipeline.log_source.rows import arrow_batches
from tests.broker.gateway import START_MS
from tests.broker.kit import batch, create, send
from tests.console.test_wal_orphans import DiskGateway
from wal.disk import OsDisk
from wal.errors import WalError

COUNT = 40
ALL = Wanted()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a stopped gateway: 40 batches of 5 records in each of two partitions."""
    path = tmp_path_factory.mktemp("log") / "data"
    gateway = DiskGateway(path)
    client = gateway.client()
    create(client, "t", 2)
    create(client, "other", 1)
    for number in range(COUNT):
        for partition in (0, 1):
            values = [b"%d-%d " % (partition, 5 * number + at) + b"x" * 400 for at in range(5)]
            send(client, "t", batch(*values, timestamp_ms=START_MS + 1000 * number), partition)
    gateway.stop()
    return path


def snapshot(data: Path, *topics: str) -> Snapshot:
    return Snapshot(Logs(LocalFiles(OsDisk(), str(data)), list(topics) or ["t"]))


def planned(
    data: Path, starting: str | None = None, ending: str | None = None, wanted: Wanted = ALL
) -> list[Split]:
    found = snapshot(data)
    begins = found.resolve(starting, EARLIEST, "startingOffsets")
    return found.splits(begins, found.resolve(ending, LATEST, "endingOffsets"), wanted)


def offsets(splits: list[Split]) -> dict[int, list[int]]:
    """Return the offsets that the tasks read, by partition, in order."""
    found: dict[int, list[int]] = {0: [], 1: []}
    for split in splits:
        for rows in arrow_batches(OsDisk(), split, with_headers=False):
            for row in rows.to_pylist():
                found[row["partition"]].append(row["offset"])
    return found


def test_all_is_read_once_in_order_with_a_task_for_each_segment(data: Path) -> None:
    splits = planned(data)
    files = sorted(str(path) for path in data.glob("*/vnode-*/*.wal"))
    assert [split.path for split in splits] == [path for path in files if path in {s.path for s in splits}]
    assert len(splits) > 2
    every = list(range(5 * COUNT))
    assert offsets(splits) == {0: every, 1: every}


def test_offsets_between_two_positions_are_read(data: Path) -> None:
    splits = planned(data, '{"t":{"0":7,"1":-1}}', '{"t":{"0":23,"1":-1}}')
    assert offsets(splits) == {0: list(range(7, 23)), 1: []}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Wanted(partitions=frozenset({1})), {0: [], 1: list(range(200))}),
        (Wanted(offset_min=190), {0: list(range(190, 200)), 1: list(range(190, 200))}),
        (Wanted(offset_min=3, offset_end=4), {0: [3], 1: [3]}),
        (Wanted(time_min_ms=START_MS + 38_500), {0: list(range(195, 200)), 1: list(range(195, 200))}),
    ],
)
def test_what_a_query_does_not_want_is_not_read(
    data: Path, wanted: Wanted, expected: dict[int, list[int]]
) -> None:
    splits = planned(data, wanted=wanted)
    assert offsets(splits) == expected
    read_bytes = sum(piece.size_bytes for split in splits for piece in split.pieces)
    whole_bytes = sum(piece.size_bytes for split in planned(data) for piece in split.pieces)
    assert read_bytes <= whole_bytes * max(sum(map(len, expected.values())), 10) / 400 * 1.1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("first", "must be 'earliest', 'latest' or JSON"),
        ('{"t":[1]}', "must be 'earliest', 'latest' or JSON"),
        ('{"t":{"0":1}}', r"every partition .* differs in 't' \[1\]"),
        ('{"t":{"0":1,"1":1},"u":{"0":1}}', r"no others; .*\['u'\]"),
        ('{"t":{"0":201,"1":0}}', "offset 201 of t-0 is not there: the files have 0 to 200"),
    ],
)
def test_offsets_that_cannot_be_are_refused_with_their_option(data: Path, text: str, problem: str) -> None:
    with pytest.raises(SourceError, match=f"startingOffsets.*{problem}"):
        planned(data, text)


def test_a_topic_without_records_has_no_task(data: Path) -> None:
    found = snapshot(data, "other")
    bounds = found.resolve(None, LATEST, "")
    assert (bounds, found.splits(bounds, bounds, Wanted())) == ({"other": {0: 0}}, [])


def test_a_running_gateway_without_a_checkpoint_says_what_to_do(tmp_path: Path) -> None:
    gateway = DiskGateway(tmp_path)
    create(gateway.client(), "t")
    send(gateway.client(), "t", batch(b"a"))
    with pytest.raises(SourceError, match="has not written a checkpoint yet") as raised:
        snapshot(tmp_path)
    assert isinstance(raised.value.__cause__, WalError)
    gateway.stop()
    assert snapshot(tmp_path).bounds("t", 0) == (0, 1)


def test_looking_changes_nothing_in_the_directory(data: Path) -> None:
    (data / "LOCK").touch()
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in data.rglob("*")}
    assert offsets(planned(data))[0] == list(range(5 * COUNT))
    assert {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in data.rglob("*")} == before
