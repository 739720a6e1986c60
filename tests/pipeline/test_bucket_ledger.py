"""A ledger of objects that are created once: whatever dies, each batch lands once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from pipeline.bucket import Bucket
from pipeline.bucket_ledger import BucketLedger
from pipeline.errors import LedgerError, StoreError
from pipeline.ledger import CommitLog, Entry, File
from tests.pipeline.made import QUERY, entry


class Crash(BaseException):
    """The end of a process at a chosen request."""


class CrashingBucket(Bucket):
    """A bucket whose process dies before its n-th change; 0: never."""

    left = 0

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Crash

    def create(self, key: str, content: bytes) -> bool:
        self._count()
        return super().create(key, content)

    def upload(self, files: Mapping[str, Path]) -> None:
        for key, path in files.items():
            self._count()
            super().upload({key: path})

    def probe(self) -> None:
        """Ask nothing: the store is known."""


class MemoryLog(CommitLog):
    """The log of a table format, shared by processes."""

    def __init__(self) -> None:
        self.added: dict[int, list[str]] = {}
        self.dies: Callable[[], None] = lambda: None

    def committed(self) -> int:
        return max(self.added, default=-1)

    def commit(self, entry: Entry, folder: str, removed: Mapping[str, Entry]) -> None:
        self.dies()
        for name in removed:
            self.added = {
                batch: [path for path in paths if not path.startswith(name)]
                for batch, paths in self.added.items()
            }
        assert entry.batch not in self.added
        self.added[entry.batch] = [f"{folder}/{file.path}" for file in entry.files]

    def files(self) -> list[str]:
        return [path for paths in self.added.values() for path in paths]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


_serial = count()


def opened(store: MemoryStore, log: CommitLog | None = None, dies_before: int = 0) -> BucketLedger:
    """Return the ledger as a new process sees it."""
    bucket = CrashingBucket(store, "s3://lake/t")
    bucket.left = dies_before
    return BucketLedger(
        bucket, job="land-t", batch_column="batch", log=log, writer=f"process-{next(_serial)}"
    )


def publish(ledger: BucketLedger, folder: Path, begin: int, *, files: int = 2) -> Entry:
    """Land one batch of offsets from `begin`; nothing if it has landed."""
    known = ledger.find(QUERY, begin)
    if known is not None:
        return ledger.read(known.batch)
    ledger.claim()
    staged = folder / f"staged-{next(_serial)}"
    staged.mkdir()
    made = []
    for number in range(files):
        (staged / f"{number}.parquet").write_bytes(b"%d" % begin)
        made.append(File(path=f"{number}.parquet", rows=1, size_bytes=1, crc32c=0))
    landed = entry(ledger.next_batch, begin, begin + 1, files=made, checkpoint_batch=begin)
    ledger.publish(staged, landed)
    return landed


def publish_all(ledger: BucketLedger, folder: Path, batches: int) -> None:
    for begin in range(batches):
        publish(ledger, folder, begin)


def landed_files(store: MemoryStore) -> list[str]:
    return [key for key in Bucket(store, "").all_keys() if key.startswith("batch=")]


def named_files(ledger: BucketLedger) -> list[str]:
    return [
        f"{ledger.folder_name(batch)}/{file.path}"
        for batch in ledger.batches()
        for file in ledger.read(batch).files
    ]


def test_a_run_claims_once_and_its_batches_follow(store: MemoryStore, tmp_path: Path) -> None:
    ledger = opened(store)
    for begin in range(3):
        publish(ledger, tmp_path, begin)
    again = opened(store)
    assert [again.read(batch).kind for batch in again.batches()] == ["claimed", "landed", "landed", "landed"]
    assert again.positions == {"t": {"0": 3}}
    assert landed_files(store) == named_files(again)
    assert len(landed_files(store)) == 6


def test_a_run_that_finds_everything_landed_changes_nothing(store: MemoryStore, tmp_path: Path) -> None:
    publish(opened(store), tmp_path, 0)
    before = Bucket(store, "").all_keys()
    publish(opened(store), tmp_path, 0)
    assert Bucket(store, "").all_keys() == before


@pytest.mark.parametrize("with_log", [False, True])
@pytest.mark.parametrize("dies_before", range(1, 11))
def test_whatever_change_a_run_dies_before_each_batch_lands_once(
    store: MemoryStore, tmp_path: Path, dies_before: int, with_log: bool
) -> None:
    log = MemoryLog() if with_log else None
    dying = opened(store, log, dies_before)
    with pytest.raises(Crash):
        publish_all(dying, tmp_path, 3)
    survivor = opened(store, log)
    publish_all(survivor, tmp_path, 4)
    found = opened(store, log)
    landed = [found.read(batch) for batch in found.batches()]
    assert [held.ranges[0].begin for held in landed if held.kind == "landed"] == [0, 1, 2, 3]
    assert landed_files(store) == named_files(found)
    if log is not None:
        assert sorted(log.files()) == named_files(found)


def test_a_run_that_dies_before_the_log_has_its_batch_is_made_good_by_the_next(
    store: MemoryStore, tmp_path: Path
) -> None:
    log = MemoryLog()
    dying = opened(store, log)
    publish(dying, tmp_path, 0)

    def die() -> None:
        raise Crash

    log.dies = die
    with pytest.raises(Crash):
        publish(dying, tmp_path, 1)
    log.dies = lambda: None
    after = opened(store, log)
    assert (after.positions, after.is_settled()) == ({"t": {"0": 2}}, False)
    after.claim()
    assert after.is_settled()
    assert sorted(log.files()) == named_files(after)


def test_a_run_that_was_thought_dead_lands_nothing_after_another_has_claimed(
    store: MemoryStore, tmp_path: Path
) -> None:
    slow = opened(store)
    publish(slow, tmp_path, 0)
    fast = opened(store)
    publish(fast, tmp_path, 1)
    with pytest.raises(LedgerError, match="another run of the job has claimed the table"):
        publish(slow, tmp_path, 7)
    publish(fast, tmp_path, 2)
    assert landed_files(store) == named_files(opened(store))
    assert opened(store).positions == {"t": {"0": 3}}


def test_a_claim_tells_the_numbers_that_nothing_can_land_under_any_more(
    store: MemoryStore, tmp_path: Path
) -> None:
    publish(opened(store), tmp_path, 0)
    assert opened(store).claim() == [2]
    third = opened(store)
    assert third.claim() == [3, 2]
    assert third.claim() == []


def test_of_two_runs_that_claim_at_once_one_wins(store: MemoryStore) -> None:
    one, other = opened(store), opened(store)
    one.claim()
    with pytest.raises(LedgerError, match="claimed the table"):
        other.claim()


def test_a_compacted_batch_takes_the_place_of_others_in_the_log(store: MemoryStore, tmp_path: Path) -> None:
    log = MemoryLog()
    ledger = opened(store, log)
    old = [publish(ledger, tmp_path, begin) for begin in range(2)]
    staged = tmp_path / "compacted"
    staged.mkdir()
    (staged / "all.parquet").write_bytes(b"01")
    files = [File(path="all.parquet", rows=4, size_bytes=2, crc32c=0)]
    new = entry(ledger.next_batch, 0, 2, files=files, kind="compacted")
    ledger.publish(staged, new, {ledger.folder_name(each.batch): each for each in old})
    assert log.files() == [f"{ledger.folder_name(new.batch)}/all.parquet"]
    assert ledger.last is not None
    assert ledger.last.replaces == [each.batch for each in old]


def test_a_prefix_with_a_strangers_object_is_refused(store: MemoryStore) -> None:
    Bucket(store, "").replace("other/data.parquet", b"x")
    with pytest.raises(LedgerError, match=r"holds other/data\.parquet, which no land job put there"):
        opened(store)


def test_an_entry_that_cannot_be_read_is_named(store: MemoryStore, tmp_path: Path) -> None:
    publish(opened(store), tmp_path, 0)
    Bucket(store, "").replace("_landed/0000000001.json", b"{")
    with pytest.raises(LedgerError, match=r"_landed/0000000001\.json cannot be read"):
        opened(store)


def test_the_tables_columns_are_an_object(store: MemoryStore, tmp_path: Path) -> None:
    ledger = opened(store)
    assert ledger.columns() is None
    ledger.write_columns(b"PAR1", tmp_path / "scratch")
    assert opened(store).columns() == b"PAR1"


def test_a_store_that_fails_is_not_taken_for_an_empty_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> list[str]:
        raise StoreError("away")

    monkeypatch.setattr(Bucket, "keys_below", away)
    with pytest.raises(StoreError, match="away"):
        opened(MemoryStore())


def test_a_log_whose_store_is_away_is_told_in_a_sentence(store: MemoryStore, tmp_path: Path) -> None:
    log = MemoryLog()
    ledger = opened(store, log)
    publish(ledger, tmp_path, 0)

    def away() -> None:
        raise OSError("Generic S3 error: HTTP error: error sending request")

    log.dies = away
    with pytest.raises(StoreError, match=r"s3://lake/t, the table's log: the store does not answer"):
        publish(ledger, tmp_path, 1)
