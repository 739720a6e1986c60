"""The write-ahead logs, by requests and by the heads in their files."""

from __future__ import annotations

import pytest

from console.web import log_facts as module
from console.web.errors import PageError
from console.web.log_facts import directory_of, frames_of, log_dirs_of, log_facts, vnodes_of
from console.wire import NotKawal
from tests.broker.kit import batch, create, send
from tests.console.web.kit import ADDRESS, Web

NAME = f"{0:020d}.wal"


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Web:
    """Return a console on the machine of its broker, which has 3 batches of 2 records in a log."""
    found = Web()
    monkeypatch.setattr(module, "DISK", found.broker.disk)
    create(found.broker.client(), "t")
    for _ in range(3):
        send(found.broker.client(), "t", batch(b"a", b"b"))
    return found


def vnode(web: Web) -> str:
    with web.at_work():
        rows = vnodes_of(ADDRESS, None)
    assert rows is not None
    (row,) = [row for row in rows if row.streams]
    return row.vnode


def test_a_segment_is_summed_up_without_reading_records(web: Web) -> None:
    with web.at_work():
        facts = log_facts(ADDRESS, "default", vnode(web))
    (row,) = facts.segments
    assert (row.segment, row.frames, row.entries, row.records, row.streams) == (NAME, 3, 3, 6, 1)
    assert (row.kept_by, row.keepers, row.unknown_keepers) == ("t 0", 1, 0)
    assert (facts.frames_a_sync, facts.checkpoint_sequence) == (1.0, None)
    assert facts.synced_sequence is not None


def test_segments_beyond_the_limit_have_a_name_alone(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SEGMENTS_MAX", 0)
    with web.at_work():
        (row,) = log_facts(ADDRESS, "default", vnode(web)).segments
    assert (row.frames, row.problem) == (None, "not looked at")
    assert row.size_bytes > 0


def test_a_file_that_is_no_segment_is_told_beside_the_others(web: Web) -> None:
    with web.at_work():
        directory = directory_of(ADDRESS, "default", vnode(web))
    file = web.broker.disk.open(f"{directory}/{NAME}")
    file.write_at(0, [b"\xff" * 4096])
    file.close()
    with web.at_work():
        (row,) = log_facts(ADDRESS, "default", vnode(web)).segments
    assert "not a segment" in row.problem


def test_frames_are_read_in_parts(web: Web) -> None:
    with web.at_work():
        first, more = frames_of(ADDRESS, "default", vnode(web), NAME, skip=0, count=2)
        assert ([frame["sequence"] for frame in first], more) == ([0, 1], True)
        rest, more = frames_of(ADDRESS, "default", vnode(web), NAME, skip=2, count=2)
        assert ([frame["records"] for frame in rest], more) == ([2], False)


@pytest.mark.parametrize("segment", ["../../meta/x.wal", "store.lock", f"{7:020d}.wal", ""])
def test_nothing_else_in_the_directories_is_opened(web: Web, segment: str) -> None:
    with web.at_work(), pytest.raises(PageError, match="has no segment"):
        frames_of(ADDRESS, "default", vnode(web), segment, skip=0, count=2)


@pytest.mark.parametrize("name", ["vnode-99", "..", "../meta", "meta"])
def test_a_vnode_that_the_broker_does_not_name_is_not_looked_for(web: Web, name: str) -> None:
    with web.at_work(), pytest.raises(PageError, match="has no vnode"):
        log_facts(ADDRESS, "default", name)


def test_files_that_are_not_here_are_a_sentence(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DISK", Web().broker.disk)
    monkeypatch.setattr(module, "log_dirs_of", lambda _: [module.LogDir("/elsewhere", None, None)])
    with web.at_work(), pytest.raises(PageError, match="cannot be read here"):
        log_facts(ADDRESS, "default", vnode(web))


def test_the_directory_has_the_size_of_its_disk(web: Web) -> None:
    with web.at_work():
        (found,) = log_dirs_of(ADDRESS)
    assert found.path == "/data"
    assert (found.usable_bytes or 0) <= (found.total_bytes or 0)


def test_another_broker_has_no_vnodes(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object) -> object:
        raise NotKawal("closed")

    monkeypatch.setattr(module, "do", closed)
    with web.at_work():
        assert vnodes_of(ADDRESS, None) is None
        with pytest.raises(PageError, match="no write-ahead log"):
            directory_of(ADDRESS, "default", "vnode-0")
